"""The page of errors lists every code of the source with its exit code, and none that does not exist."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import mergestorm_mcp
from mergestorm_mcp import errors
from mergestorm_mcp.errors import RequestTimeout, rate_limited, usage
from mergestorm_mcp.publication.refusals import refused

PAGE = Path(__file__).parents[4] / "docs" / "mergestorm" / "errors.md"
SOURCE = Path(mergestorm_mcp.__file__).parent
ROW = re.compile(r"^\| `([a-z_]+)` \| ([\d, –]+) \| (.+?) \| (.+?) \|$", re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")


def rows() -> dict[str, set[str]]:
    """Code and exit codes of every row of the page."""
    found: dict[str, set[str]] = {}
    for code, exits, *_ in ROW.findall(PAGE.read_text(encoding="utf-8")):
        assert code not in found, code
        found[code] = set(exits.split(", "))
    return found


def written() -> list[tuple[str, str | None]]:
    """Every code written in the source as such, with the exit code written beside it; None where there is none."""
    found: list[tuple[str, str | None]] = []
    for place in sorted(SOURCE.rglob("*.py")):
        if "service" in place.relative_to(SOURCE).parts:  # the other end of the wire
            continue
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                exits = _exit(given.get("exit_code"), node)
                found += [(code, exits) for code in _texts(given.get("code"))]
            elif isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                found += [
                    (code, None) for key, value in pairs if _texts(key) == ["code"] for code in _texts(value)
                ]
    return found


def _texts(node: ast.expr | None) -> list[str]:
    if isinstance(node, ast.IfExp):
        return _texts(node.body) + _texts(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _exit(node: ast.expr | None, call: ast.Call) -> str | None:
    if isinstance(node, ast.Name) and node.id.startswith("EXIT_"):
        return str(getattr(errors, node.id))
    plain = node is None and isinstance(call.func, ast.Name) and call.func.id == "CommandError"
    return str(errors.EXIT_GENERIC) if plain else None


def registered() -> set[str]:
    """Every code in a set of codes."""
    found: set[str] = set()
    for module in pkgutil.walk_packages([str(SOURCE)], "mergestorm_mcp."):
        if ".service" in module.name or module.name.endswith("__main__"):
            continue
        members: dict[str, Any] = vars(importlib.import_module(module.name))
        for name, value in members.items():
            if name.endswith("_CODES") and isinstance(value, frozenset):
                found |= value
    return found


def test_the_page_lists_exactly_the_codes_of_the_source() -> None:
    known = registered() | {code for code, _ in written()}
    assert len(known) > 50
    assert set(rows()) == known


def test_the_page_says_with_which_exit_code_each_is_raised() -> None:
    page = rows()
    raised = {(code, exits) for code, exits in written() if exits is not None}
    assert len(raised) > 8
    assert sorted(pair for pair in raised if pair[1] not in page[pair[0]]) == []


@pytest.mark.parametrize("error", [usage(""), rate_limited(None), RequestTimeout(1), refused("no_commits")])
def test_exit_codes_of_the_common_errors_are_those_of_the_page(error: errors.CommandError) -> None:
    assert error.code is not None
    assert str(error.exit_code) in rows()[error.code]


def test_every_exit_code_is_explained() -> None:
    text = PAGE.read_text(encoding="utf-8").split("## Exit codes")[1].split("\n## ")[0]
    told = set(re.findall(r"^\| (\d+) \|", text, re.MULTILINE))
    assert told == {"0"} | {
        str(value)
        for name, value in vars(errors).items()
        if name.startswith("EXIT_") and isinstance(value, int)
    }

"""The pages about the server say what is so: requests are replayed, and every tool, argument and code has its line.

With RAGIT_UPDATE_DOCS=1 the replies of the tools' page are rewritten instead of compared.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface
from mcpkit.testing import connect_memory
from ragit_mcp.config import PROVIDERS, SETTINGS, load_config
from ragit_mcp.errors import ERRORS
from ragit_mcp.main import SURFACE
from ragit_mcp.server.tools import create

DOCS = Path(__file__).parents[4] / "docs" / "ragit"
TOOLS_PAGE = DOCS / "tools.md"
EXAMPLE = re.compile(r'```json title="request"\n(.*?)\n```\n\n```json title="reply"\n(.*?)\n```', re.DOTALL)
# Looked at now: the tests' environment has no variables of ragit.
UPDATE = bool(os.environ.get("RAGIT_UPDATE_DOCS"))
VOLATILE = [
    (re.compile(r"\b[0-9a-f]{40}\b|(?<=cite-)[0-9a-f]{24}\b"), "SHA"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)?"), "TIME"),
]
# Members that differ from one machine, version or second to the next.
OF_THE_MACHINE = {"python", "platform", "sqlite", "version", "bytes"}

pytestmark = pytest.mark.skipif(not TOOLS_PAGE.exists(), reason="the documentation is not part of this copy")


def steady(value: Any) -> Any:
    """A reply without what may differ; scores to two digits."""
    if isinstance(value, dict):
        return {name: "…" if name in OF_THE_MACHINE else steady(member) for name, member in value.items()}
    if isinstance(value, list):
        return [steady(member) for member in value]
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, str):
        for pattern, word in VOLATILE:
            value = pattern.sub(word, value)
    return value


def replies(root: Path, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the server answers to each request."""

    async def ask() -> list[dict[str, Any]]:
        async with connect_memory(create(str(root))) as client:
            await client.initialize()
            return [
                (await client.call(request["name"], request["arguments"])).structured for request in requests
            ]

    here = json.dumps(str(root))[1:-1]
    answered: list[dict[str, Any]] = json.loads(
        json.dumps(anyio.run(ask), ensure_ascii=False).replace(here, "/yard")
    )
    return answered


def test_the_replies_of_the_tools_page_are_what_the_server_answers(yard: Any) -> None:
    page = TOOLS_PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(page)
    actual = replies(yard.root, [json.loads(request) for request, _ in examples])
    if UPDATE:
        answers = iter(actual)
        TOOLS_PAGE.write_text(
            EXAMPLE.sub(
                lambda match: (
                    f'```json title="request"\n{match[1]}\n```\n\n```json title="reply"\n'
                    f"{json.dumps(next(answers), ensure_ascii=False, indent=2)}\n```"
                ),
                page,
            ),
            encoding="utf-8",
            newline="\n",
        )
    else:
        assert [steady(json.loads(reply)) for _, reply in examples] == steady(actual)


def test_the_tools_page_has_an_example_and_every_argument_of_each_tool() -> None:
    page = TOOLS_PAGE.read_text(encoding="utf-8")
    asked = {json.loads(request)["name"] for request, _ in EXAMPLE.findall(page)}
    tools = Surface.load(SURFACE).tools_list(LATEST_HANDSHAKE_VERSION)["tools"]
    assert asked == {tool["name"] for tool in tools}
    for tool in tools:
        section = page.split(f"\n## {tool['name']}\n")[1].split("\n## ")[0]
        missing = [name for name in tool["inputSchema"]["properties"] if f"| `{name}` |" not in section]
        assert missing == []


@pytest.mark.parametrize("page", ["quickstart.md", "tools.md", "security.md", "embedding.md", "ranking.md"])
def test_codes_and_links_of_a_page_exist(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    codes = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", text))
    assert {code for code in codes if not code.startswith(("RAGIT_", "OPENAI_", "OLLAMA_", "XDG_"))} <= set(
        ERRORS
    )
    links = re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", text)
    assert [link for link in links if not (DOCS / link).exists()] == []


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_is_on_the_page_of_errors_with_its_recovery(code: str) -> None:
    page = (DOCS / "errors.md").read_text(encoding="utf-8")
    (row,) = [line for line in page.splitlines() if line.startswith(f"| `{code}` |")]
    assert row.rstrip(" |").rpartition("| ")[2].strip("`") == ERRORS[code].recovery


def test_the_page_of_providers_names_each_and_shows_settings_that_are_read(tmp_path: Path) -> None:
    page = (DOCS / "embedding.md").read_text(encoding="utf-8")
    assert {name for name in PROVIDERS if f"| `{name}` |" in page} == set(PROVIDERS)
    shown = re.findall(r"```toml[^\n]*\n(.*?)```", page, re.DOTALL)
    assert len(shown) >= 3
    for number, text in enumerate(shown):
        own = tmp_path / f"{number}.toml"
        own.write_text(text, encoding="utf-8")
        config = load_config(None, environ={"RAGIT_USER_CONFIG": str(own)})
        assert not config.warnings, (text, config.warnings)
    named = re.findall(r"ragit config set (\S+)", page)
    assert [key for key in named if key not in SETTINGS] == []
    assert set(re.findall(r"`(embedding\.\w+)`", page)) <= set(SETTINGS)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

VECTORS = Path(__file__).parents[1] / "vectors"

Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    loaded: list[Case] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return loaded


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """`section_case` and `doctype_case` stand for every case of those recorded vectors."""
    for fixture, name in (("section_case", "sections"), ("doctype_case", "doctype")):
        if fixture in metafunc.fixturenames:
            found = cases(name)
            metafunc.parametrize(fixture, found, ids=[case["id"] for case in found])


@pytest.fixture
def assembled() -> Callable[[list[Any]], str]:
    """Puts the parts of a vector's text together."""

    def assemble(parts: list[Any]) -> str:
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
            elif "repeat" in part:
                piece, count = part["repeat"]
                text += piece * count
            else:
                first, last = part["words"]
                text += " ".join(f"word{number:04d}" for number in range(first, last + 1))
        # Surrogate pairs of the JSON file are one character here.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")

    return assemble

"""The recorded vectors of sections, chunks, types and front matter."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.corpus import Document, read_document

VECTORS = Path(__file__).parents[1] / "vectors"


def cases(name: str) -> list[Any]:
    loaded = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in loaded]


def assembled(parts: list[Any]) -> str:
    """The text that the parts of a vector make."""
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
    return text


@pytest.mark.parametrize("section_case", cases("sections"))
def test_sections_and_chunks_are_those_of_the_vector(section_case: dict[str, Any]) -> None:
    document = read_document("notes/x.md", assembled(section_case["text"]))

    if "sections" in section_case:
        for section, expected in zip(document.sections, section_case["sections"], strict=True):
            assert (section.title, section.level) == (expected["title"], expected["level"])
            assert len(section.content) == expected.get("length", len(section.content))
            assert section.content == expected.get("content", section.content)
        found = [
            {
                "section": chunk.section_index,
                "text": chunk.text,
                "words": chunk.word_count,
            }
            for chunk in document.chunks
        ]
        assert found == [
            {
                "section": expected["section"],
                "text": document.sections[expected["section"]].content[expected["start"] : expected["end"]],
                "words": expected["words"],
            }
            for expected in section_case["chunks"]
        ]
    if "lines" in section_case:
        assert_lines(document, section_case["lines"])
    if section_case.get("long"):
        spans = [(chunk.first_line, chunk.last_line) for chunk in document.chunks]
        assert len(spans) > 1
        assert spans == sorted(spans)
        assert {line for first, last in spans for line in range(first, last + 1)} == set(range(2, 102))


def assert_lines(document: Document, expected: list[dict[str, Any]]) -> None:
    for section, wanted in zip(document.sections, expected, strict=True):
        assert wanted["title"] in {"*", section.title}
        assert list(section.heading_path) == wanted["path"]
        assert section.heading_line == wanted["heading"]
        assert (section.first_line, section.last_line) == (wanted["first"], wanted["last"])
    for chunk in document.chunks:
        section = document.sections[chunk.section_index]
        assert (chunk.first_line, chunk.last_line) == (section.first_line, section.last_line)


@pytest.mark.parametrize("doctype_case", cases("doctype"))
def test_type_and_front_matter_are_those_of_the_vector(doctype_case: dict[str, Any]) -> None:
    document = read_document(doctype_case.get("path", "notes/x.md"), doctype_case["text"])

    if "type" in doctype_case:
        assert document.doc_type == doctype_case["type"]
    if "body" in doctype_case:
        assert document.front_matter.body == doctype_case["body"]
        assert document.front_matter.attributes == doctype_case["attributes"]

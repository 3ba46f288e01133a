"""Documents as a whole: encodings, titles, ids, contracts, paths."""

from __future__ import annotations

import codecs

import pytest

from ragit_mcp.corpus import (
    DOC_TYPES,
    DocumentRefused,
    chunk_id,
    content_id,
    decode_document,
    document_id,
    embedding_text,
    path_from_git,
    path_to_git,
    read_document,
    section_id,
    show_path,
    version_id,
)
from ragit_mcp.corpus.doctypes import detect_type
from ragit_mcp.corpus.front_matter import split_front_matter

TEXT = "# Überschrift\n\n한국어 🙂\n"


@pytest.mark.parametrize(
    ("data", "encoding", "marked"),
    [
        (TEXT.encode("utf-8"), "utf-8", False),
        (codecs.BOM_UTF8 + TEXT.encode("utf-8"), "utf-8", True),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le", True),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be", True),
        (TEXT.replace("\n", "\r\n").encode("utf-8"), "utf-8", False),
    ],
)
def test_utf8_and_marked_utf16_are_read(data: bytes, encoding: str, marked: bool) -> None:
    source = decode_document(data, max_bytes=1000)
    assert (source.text, source.encoding, source.marked) == (TEXT, encoding, marked)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 40,
        "é".encode("latin-1") * 3,
        TEXT.encode("utf-16-le"),
        "plain".encode("utf-16-be"),
        codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"),
        codecs.BOM_UTF16_LE + b"odd",
        codecs.BOM_UTF16_LE + b"\x00\xd8a\x00",
        b"\x89PNG\r\n\x1a\n\x00",
    ],
)
def test_other_encodings_are_refused_as_no_text(data: bytes) -> None:
    with pytest.raises(DocumentRefused) as caught:
        decode_document(data, max_bytes=1000)
    assert caught.value.reason == "not_text"


def test_a_file_over_the_limit_is_refused_and_one_at_the_limit_is_not() -> None:
    assert decode_document(b"12345", max_bytes=5).text == "12345"
    with pytest.raises(DocumentRefused) as caught:
        decode_document(b"123456", max_bytes=5)
    assert caught.value.reason == "too_large"


def test_every_kind_of_line_end_counts_once() -> None:
    document = read_document("x.md", "# A\r\n\rone\r\ntwo\rthree\n# B\x0c\nfour\u2028still four")
    assert [(chunk.first_line, chunk.last_line) for chunk in document.chunks] == [(3, 5), (7, 7)]
    assert document.line_count == 7


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("---\na: b\n---\n", 3)]
)
def test_lines_are_counted_as_editors_count_them(text: str, count: int) -> None:
    assert read_document("x.md", text).line_count == count


def test_a_heading_without_text_lives_on_in_the_heading_path() -> None:
    (chunk,) = read_document("x.md", "# Guide\n## Install\n### Linux\nuse the package\n").chunks
    assert chunk.heading_path == ("Guide", "Install", "Linux")
    assert chunk.embedding_text == "x.md\nGuide > Install > Linux\nuse the package"


def test_a_document_of_headings_only_is_found_by_them() -> None:
    (chunk,) = read_document("x.md", "\n# How do I install it?\n\n## On Linux?\n").chunks
    assert (chunk.section_title, chunk.first_line, chunk.last_line) == ("Body", 2, 4)


def test_the_declared_title_heads_the_path_where_no_heading_of_level_one_does() -> None:
    front = "---\ntitle:  Install\n---\n"
    intro, linux = read_document("x.md", f"{front}intro\n## Linux\ntext\n").chunks
    assert (intro.heading_path, linux.heading_path) == (("Install",), ("Install", "Linux"))
    document = read_document("x.md", f"{front}# Main\ntext\n")
    assert (document.title, document.chunks[0].heading_path) == ("Install", ("Main",))
    assert read_document("x.md", "## Part\n# Main\nx").title == "Main"
    assert read_document("x.md", "## Part\nx").title is None


def test_mdx_code_is_text_like_any_other() -> None:
    document = read_document("x.mdx", "import X from './x'\n\n# A\n\n<X prop={1}>\n  inner text\n</X>\n")
    assert [chunk.section_title for chunk in document.chunks] == ["Introduction", "A"]
    assert "inner text" in document.chunks[1].text


def test_a_counter_gives_the_chunks_their_tokens() -> None:
    assert read_document("x.md", "a b c").chunks[0].token_count is None
    assert read_document("x.md", "a b c", count_tokens=len).chunks[0].token_count == 5


def test_a_repeated_passage_shares_its_content_and_keeps_both_places() -> None:
    first, second = read_document("x.md", "# A\nsame\n# A\nsame\n").chunks
    assert first.content_id == second.content_id
    version = version_id("x.md", "0" * 40)
    places = {chunk_id(chunk.content_id, version, chunk.ordinal) for chunk in (first, second)}
    assert len(places) == 2


def test_an_edit_elsewhere_leaves_a_passage_its_content_id() -> None:
    before = read_document("x.md", "# A\none\n# B\ntwo\n").chunks
    after = read_document("x.md", "# A\nmore than\none\n# B\ntwo\n").chunks
    assert before[1].content_id == after[1].content_id
    assert before[1].first_line != after[1].first_line
    assert before[0].content_id != after[0].content_id


def test_no_two_ways_to_divide_the_same_characters_share_an_id() -> None:
    assert content_id("a", ("b", "c"), "d") != content_id("a", ("bc",), "d")
    assert content_id("a", ("b",), "c") != content_id("a", (), "bc")
    assert content_id("ab", (), "c") != content_id("a", (), "bc")
    assert content_id("p", ("h",), "t") != section_id("p", ("h",), "t")


def test_ids_are_stable() -> None:
    # A change here makes every store re-embed everything: raise CHUNKER_VERSION on purpose instead.
    assert document_id("docs/a.md") == "f00cbb922d5ef4beaf79b78e766bd9a8a6a6dd44"
    assert content_id("docs/a.md", ("A", "B"), "text") == "37015506b45791448c7218d1b352ca1a89fbc955"
    assert version_id("docs/a.md", "0" * 40) == "d24fd3b04b0afceafdbf43a2c9efd248db42f09d"


def test_ids_are_made_for_paths_that_are_not_utf8() -> None:
    assert document_id(path_from_git(b"\xff.md")) != document_id(path_from_git(b"\xfe.md"))


@pytest.mark.parametrize(
    "raw", [b"docs/a.md", b"\xff\xfe/x.md", "문서/é.md".encode(), b"a\nb.md", b"a\\xff.md"]
)
def test_paths_survive_the_way_there_and_back(raw: bytes) -> None:
    assert path_to_git(path_from_git(raw)) == raw


def test_paths_are_shown_in_printable_characters_and_never_alike() -> None:
    shown = {
        b"docs/a b.md": "docs/a b.md",
        "문서/é.md".encode(): "문서/é.md",
        b"\xff.md": "\\xff.md",
        b"\\xff.md": "\\\\xff.md",
        b"a\nb\x1b[0m.md": "a\\u{a}b\\u{1b}[0m.md",
        "a\u202eb\u200b.md".encode(): "a\\u{202e}b\\u{200b}.md",
    }
    assert {raw: show_path(path_from_git(raw)) for raw in shown} == shown
    assert all(text.isprintable() for text in shown.values())


def test_the_embedded_text_shows_a_path_that_is_not_utf8() -> None:
    assert embedding_text(path_from_git(b"\xff.md"), (), "t").encode("utf-8") == b"\\xff.md\nt"


def kinds(path: str, text: str) -> list[str]:
    return [violation.kind for violation in read_document(path, text).violations]


def test_a_plain_document_owes_nothing() -> None:
    assert kinds("x.md", "text") == []


def test_an_unknown_declared_type_is_said_without_repeating_it() -> None:
    document = read_document("x.md", "---\ntype: howto\n---\ntext")
    (violation,) = document.violations
    assert violation.kind == "type_unknown"
    assert "howto" not in violation.message


def test_a_complete_document_of_a_type_owes_nothing() -> None:
    assert kinds("adr/1.md", "# ADR\n## Context\n## decision\n## Consequences ##\n") == []


def test_missing_title_and_sections_are_said_each() -> None:
    assert kinds("adr/1.md", "## Context\nx\n") == ["title_missing", "section_missing", "section_missing"]


def test_a_phase_and_binding_document_needs_its_sections_and_topology() -> None:
    assert kinds("pbd/1.md", "# PBD\n") == ["section_missing", "topology_missing"]
    sections = "".join(f"## Part {number}\n" for number in range(6))
    assert kinds("pbd/1.md", f"# PBD\n{sections}### [B1] Edge\n") == []


@pytest.mark.parametrize("name", DOC_TYPES[:-1])
def test_every_type_is_recognised_declared_by_directory_and_by_heading(name: str) -> None:
    nothing = split_front_matter("")
    assert detect_type("x.md", split_front_matter(f"---\ntype: {name}\n---\n"), None) == name
    assert detect_type(f"docs/{name}/x.md", nothing, None) == name
    assert detect_type("x.md", nothing, f"The {name.upper()}: a start") == name

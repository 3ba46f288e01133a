"""What holds for every text, hostile or not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.corpus import Chunk, Document, DocumentRefused, chunks, decode_document, read_document
from ragit_mcp.corpus.chunks import CHUNK_CHARACTERS, CHUNK_OVERLAP, cut_positions

FRAGMENTS = (
    "# ", "## T", "#", "####### no", "\n", "\n\n", "\r\n", "\r", "```", "````", "~~~", "~~~~ x", "    ", "  ", "\t",
    "- item", "10. item", "> q", "---", "---\n", "...\n", "===", "type: adr\n", "title: A: b\n", "a: &x [*x]\n", "<!--",
    "-->", "<pre>", "</pre>", "<Style />", "word ", "x" * 700, "a b " * 400, "漢字", "é", "🙂", "\ufeff", "\x0c",
    "\u2028", "\x85", "import x from 'y'\n", "| a | b |\n|---|---|\n", "[", "{", "!!python/object:os.system ", "\ud800",
)  # fmt: skip

texts = st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join))


def file_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").split("\n")


def lines_of(document: Document, chunk: Chunk, lines: list[str]) -> str:
    return "\n".join(lines[chunk.first_line - 1 : chunk.last_line])


@settings(deadline=None)
@given(texts)
def test_any_text_is_read_and_reading_it_again_gives_the_same(text: str) -> None:
    assert read_document("docs/x.md", text) == read_document("docs/x.md", text)


@settings(deadline=None)
@given(texts)
def test_the_lines_of_a_chunk_hold_its_text_and_no_line_too_many(text: str) -> None:
    document = read_document("docs/x.md", text)
    lines = file_lines(text)
    for chunk in document.chunks:
        assert chunk.text in lines_of(document, chunk, lines)
        assert chunk.text.count("\n") == chunk.last_line - chunk.first_line
        first, *_, last = [*chunk.text.split("\n"), chunk.text.split("\n")[-1]]
        assert first in lines[chunk.first_line - 1]
        assert last in lines[chunk.last_line - 1]


@settings(deadline=None)
@given(texts)
def test_sections_hold_every_line_of_the_body_but_headings_and_blank_ones(text: str) -> None:
    document = read_document("docs/x.md", text)
    lines = file_lines(text)
    held: set[int] = set()
    for section in document.sections:
        if not section.content:
            assert document.sections == (section,)
            continue
        span = range(section.first_line, section.last_line + 1)
        assert not held.intersection(span)
        held.update(span)
        assert section.content == "\n".join(lines[section.first_line - 1 : section.last_line]).strip()
    heading_lines = 0
    for number in range(document.front_matter.line_count + 1, len(lines) + 1):
        line = lines[number - 1]
        if number not in held and line.strip():
            heading_lines += 1
            assert (
                line.startswith("#")
                or set(line.strip()) <= {"=", "-"}
                or set(lines[number].strip()) <= {"=", "-"}
            )
    assert document.line_count <= len(lines)


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab \n\t漢"), max_size=200).map(lambda text: (text * 60).strip()))
def test_chunks_cover_all_of_a_section_and_repeat_no_more_than_the_overlap(content: str) -> None:
    spans = list(cut_positions(content))
    covered = 0
    previous_end = 0
    for start, end in spans:
        assert 0 < end - start <= CHUNK_CHARACTERS
        assert content[covered:start].strip() == ""
        assert previous_end - start <= CHUNK_OVERLAP
        assert end > covered
        covered = previous_end = end
    assert content[covered:].strip() == ""


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=30_000))
def test_the_number_of_chunks_is_linear_in_the_text(length: int) -> None:
    for character in "x ", "xy", "  ":
        assert len(list(cut_positions((character * length)[:length]))) <= 1 + length // 380


def text_or_reason(data: bytes) -> tuple[str | None, str | None]:
    try:
        return decode_document(data, max_bytes=300).text, None
    except DocumentRefused as refusal:
        return None, refusal.reason


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_text_or_refused_with_a_reason(data: bytes) -> None:
    text, reason = text_or_reason(data)
    if text is None:
        assert reason in {"not_text", "too_large"}
    else:
        assert not set(text) & {"\r", "\0"}
        read_document("x.md", text)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(FRAGMENTS), st.integers(min_value=1, max_value=3000))
def test_a_long_repetition_of_anything_is_read(fragment: str, count: int) -> None:
    read_document("docs/x.md", fragment * count)
    read_document("docs/x.md", "---\n" + fragment * count + "\n---\ntext\n")


def test_a_document_of_too_many_sections_is_refused_instead_of_taking_all_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(chunks, "MAX_CHUNKS", 3)
    with pytest.raises(DocumentRefused) as caught:
        read_document("docs/x.md", "# a\nb\n" * 4)
    assert caught.value.reason == "too_many_chunks"
    assert len(read_document("docs/x.md", "# a\nb\n" * 3).chunks) == 3

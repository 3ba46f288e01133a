from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from mcpkit.messages import TooLong
from mcpkit.stdio.framing import LINE_LIMIT, LineSplitter


def lines_of(splitter: LineSplitter, *chunks: bytes) -> list[bytes | str]:
    found = [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()
    return [f"too long: {len(line.head)}" if isinstance(line, TooLong) else line for line in found]


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_chunks_cut_anywhere_give_the_lines_of_the_whole(chunks: list[bytes]) -> None:
    whole = b"".join(chunks).split(b"\n")
    if not whole[-1]:
        whole.pop()
    assert lines_of(LineSplitter(), *chunks) == whole


@given(st.lists(st.binary(max_size=20), max_size=20))
def test_lines_over_the_limit_are_reported_once_and_the_others_come_through(chunks: list[bytes]) -> None:
    limit = 8
    whole = b"".join(chunks).split(b"\n")
    if not whole[-1]:
        whole.pop()
    reported = [TooLong if len(line) > limit else line for line in whole]
    splitter = LineSplitter(limit)
    found = [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()
    assert [TooLong if isinstance(line, TooLong) else line for line in found] == reported


def test_a_line_of_exactly_the_limit_passes() -> None:
    assert lines_of(LineSplitter(4), b"1234\n12345\n") == [b"1234", "too long: 5"]


def test_the_last_line_needs_no_newline() -> None:
    assert lines_of(LineSplitter(), b"a\nb") == [b"a", b"b"]


def test_a_line_of_100_megabytes_keeps_memory_at_the_limit() -> None:
    chunk = b"x" * 65536
    splitter = LineSplitter()
    found: list[bytes | TooLong] = []
    tracemalloc.start()
    try:
        for _ in range(100 * 1024 * 1024 // len(chunk)):
            found += splitter.feed(chunk)
        found += splitter.feed(b"\nnext\n")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 2
    assert found[1] == b"next"
    assert peak < 2.5 * LINE_LIMIT  # the buffer grows by copying

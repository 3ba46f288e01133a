"""Sets of row numbers in their packed form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragit_mcp.store.membership import pack_rows, unpack_rows


@given(st.sets(st.integers(1, 2000)))
def test_unpacking_gives_what_was_packed(rows: set[int]) -> None:
    assert list(unpack_rows(pack_rows(sorted(rows)), limit=2000)) == sorted(rows)


def test_neighbours_cost_nothing() -> None:
    assert len(pack_rows(range(1, 100_001))) == 8


@given(st.binary(max_size=64))
def test_foreign_bytes_are_refused_or_give_ascending_rows_within_the_limit(packed: bytes) -> None:
    try:
        rows = list(unpack_rows(packed, limit=10_000))
    except ValueError:
        return
    assert rows == sorted(set(rows))
    assert all(1 <= row <= 10_000 for row in rows)


@pytest.mark.parametrize("packed", [b"\x01", bytes(8), b"\x05\0\0\0\x02\0\0\0\x06\0\0\0\x01\0\0\0"])
def test_overlapping_or_empty_ranges_are_refused(packed: bytes) -> None:
    with pytest.raises(ValueError):
        list(unpack_rows(packed, limit=100))

"""Contract a8, a9: which scalars are points in time, and their two texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import Timestamp, load_plain

Reader = Callable[[str], Any]


@pytest.mark.parametrize(
    ("text", "rfc3339"),
    [
        ("2024-02-29", "2024-02-29T00:00:00Z"),
        ("2024-2-9", "2024-02-09T00:00:00Z"),
        ("0000-02-29", "0000-02-29T00:00:00Z"),
        ("2000-02-29", "2000-02-29T00:00:00Z"),
        ("2024-02-29T10:11:12Z", "2024-02-29T10:11:12Z"),
        ("2024-02-29t1:2:3Z", "2024-02-29T01:02:03Z"),
        ("2024-02-29 10:11:12", "2024-02-29T10:11:12Z"),
        ("2024-02-29   10:11:12.5", "2024-02-29T10:11:12.5Z"),
        ("2024-02-29T10:11:12.123456789+05:30", "2024-02-29T10:11:12.123456789+05:30"),
        ("2024-02-29T10:11:12.1234567899-00:30", "2024-02-29T10:11:12.123456789-00:30"),
        ("2024-02-29T10:11:12.500Z", "2024-02-29T10:11:12.5Z"),
        ("2024-02-29T10:11:12.000Z", "2024-02-29T10:11:12Z"),
        ("2024-02-29T10:11:12,5Z", "2024-02-29T10:11:12.5Z"),
        ("2024-02-29T10:11:12+00:00", "2024-02-29T10:11:12Z"),
        ("2024-02-29T10:11:12+05:60", "2024-02-29T10:11:12+06:00"),
        ("!!timestamp '2024-02-29'", "2024-02-29T00:00:00Z"),
    ],
)
def test_dates_and_times_are_timestamps(text: str, rfc3339: str, read_scalar: Reader) -> None:
    assert read_scalar(text) == ("timestamp", rfc3339)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "2024-04-31",
            "24-01-01",
        ),
        *(
            "2024-02",
            "2024-02-29T10:11Z",
            "2024-02-29T10:11:12",
            "2024-02-29t10:11:12z",
            "2024-02-29 10:11:12Z",
        ),
        *(
            "2024-02-29 10:11:12.5 +02:00",
            "2024-02-29T24:00:00Z",
            "2024-02-29T10:60:00Z",
            "2024-02-29T10:11:60Z",
        ),
        *(
            "2024-02-29T10:11:12.Z",
            "2024-02-29T10:11:12+24:00",
            "2024-02-29T10:11:12+02:61",
            "2024-02-29T10:11:12+2:00",
        ),
        *("2024-001-01", "12024-01-01", "'2024-02-29'"),
    ],
)
def test_other_texts_that_look_like_it_are_strings(text: str, read_scalar: Reader) -> None:
    assert read_scalar(text) == ("str", text.strip("'"))


@pytest.mark.parametrize(
    ("text", "long_form"),
    [
        ("2024-02-29", "2024-02-29 00:00:00 +0000 UTC"),
        ("2024-02-29T10:11:12.5Z", "2024-02-29 10:11:12.5 +0000 UTC"),
        ("2024-02-29T10:11:12-05:30", "2024-02-29 10:11:12 -0530 -0530"),
    ],
)
def test_identifiers_use_the_long_form(text: str, long_form: str) -> None:
    value = load_plain(text.encode(), json_syntax=False)
    assert isinstance(value, Timestamp)
    assert value.go_text() == long_form


def test_timestamps_are_equal_and_hash_alike_when_written_alike() -> None:
    first, same, other = (
        Timestamp("2024-02-29T00:00:00Z"),
        Timestamp("2024-02-29T00:00:00Z"),
        Timestamp("2025-01-01T00:00:00Z"),
    )
    assert first == same
    assert hash(first) == hash(same)
    assert first != other
    assert first != "2024-02-29T00:00:00Z"
    assert len({first, same, other}) == 2
    assert repr(first) == "Timestamp('2024-02-29T00:00:00Z')"

"""Identifiers are Go's texts of the values they come from."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.repository.identity import clean_path_id, derived_value, fits_type, float_text, id_text
from mergeway_mcp.repository.schema import Source
from mergeway_mcp.repository.yaml import Timestamp


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (" ", " "),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
        ({}, None),
        (0, "0"),
        (-(2**63), "-9223372036854775808"),
        (2**64 - 1, "18446744073709551615"),
        (2**64, "18446744073709552000"),
        (-(2**63) - 1, "-9223372036854776000"),
        (10**400, "1" + "0" * 400),
        (-(10**400), "-1" + "0" * 400),
        (1.0, "1"),
        (1.5, "1.5"),
        (-0.0, "-0"),
        (1e21, "1000000000000000000000"),
        (1e-7, "0.0000001"),
        (123456789.125, "123456789.125"),
        (1.7976931348623157e308, "17976931348623157" + "0" * 292),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, None),
        (Timestamp("2024-02-29T10:11:12.5+02:00"), "2024-02-29 10:11:12.5 +0200 +0200"),
    ],
)
def test_a_value_has_its_text_or_none(value: Any, expected: str | None) -> None:
    assert id_text(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_reads_back_as_the_float_and_has_no_exponent(value: float) -> None:
    text = float_text(value)
    assert float(text) == value
    assert set(text) <= set("-.0123456789")
    assert not text.endswith(".")
    assert "." not in text or not text.endswith("0")


@pytest.mark.parametrize(
    ("text", "field_type", "expected"),
    [
        ("42", "integer", True),
        ("+5", "integer", True),
        ("-9223372036854775808", "integer", True),
        ("000000000000000000000000000000007", "integer", True),
        ("9223372036854775808", "integer", False),
        ("9" * 6_000, "integer", False),
        ("1.5", "integer", False),
        ("1_0", "integer", False),
        (" 1", "integer", False),
        ("\u0661", "integer", False),
        ("3.5", "number", True),
        (".5", "number", True),
        ("5.", "number", True),
        ("-1e3", "number", True),
        ("1_0", "number", True),
        ("1__0", "number", False),
        ("0x1p4", "number", True),
        ("0x1", "number", False),
        ("0x1p99999", "number", False),
        ("1e400", "number", False),
        ("+Inf", "number", False),
        ("nan", "number", False),
        ("abc", "number", False),
        ("\u0661", "number", False),
        ("9" * 6_000, "number", False),
        ("anything", "string", True),
        ("anything", "boolean", True),
        ("anything", "", True),
    ],
)
def test_only_integers_and_numbers_ask_for_a_form(text: str, field_type: str, expected: bool) -> None:
    assert fits_type(text, field_type) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source("path"), "../a/b.yaml"),
        (Source("path_segment", 0), ".."),
        (Source("path_segment", 2), "b.yaml"),
        (Source("path_segment", 3), None),
        (Source("path_segment_rev", 0), "b.yaml"),
        (Source("path_segment_rev", 2), ".."),
        (Source("path_segment_rev", 3), None),
    ],
)
def test_derived_values_are_segments_of_the_path(source: Source, expected: str | None) -> None:
    assert derived_value(source, "../a/b.yaml") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("./a", "a"),
        ("a//b", "a/b"),
        ("x/../a", "a"),
        (" ../a ", "../a"),
        ("/a", None),
        ("  ", None),
        ("", None),
    ],
)
def test_path_identifiers_are_cleaned(text: str, expected: str | None) -> None:
    assert clean_path_id(text) == expected

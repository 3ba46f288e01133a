"""Files named .json: strict JSON means what JSON says, the rest is read as the dialect reads it (contract a7, e6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import NotAMapping, YamlError, load_mapping, load_plain

Typed = Callable[[Any], Any]


def read(text: str | bytes) -> Any:
    return load_plain(text.encode() if isinstance(text, str) else text, json_syntax=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"id":"a","b":[1,2],"c":{"d":null}}', {"id": "a", "b": [1, 2], "c": {"d": None}}),
        ('{\n\t"id": "a",\n\t"n": {\n\t\t"m": 1\n\t}\n}\n', {"id": "a", "n": {"m": 1}}),
        ('{"w": 1.0, "x": 1e2, "z": -0, "y": -0.0}', {"w": 1.0, "x": 100.0, "z": 0, "y": -0.0}),
        ('{"y": 1E400, "n": -1e400}', {"y": "1E400", "n": "-1e400"}),
        ('{"d": "2024-01-01", "n": "5", "t": "true", "<<": {"a": 1}}', None),
        ('{"big": 123456789012345678901234567890}', {"big": 123456789012345678901234567890}),
        ('["\\u0000\\ud83d\\ude00\\/\\b"]', ["\0\U0001f600/\b"]),
        ('"nel\u0085 line\u2028 \ufeff mark"', "nel\u0085 line\u2028 \ufeff mark"),
        ('{"%s": 1}' % ("k" * 3000), {"k" * 3000: 1}),
        ("null", None),
        ("", None),
    ],
)
def test_strict_json_is_read_as_json(text: str, value: object, as_typed: Typed) -> None:
    if value is None and text.startswith("{"):
        value = {"d": "2024-01-01", "n": "5", "t": "true", "<<": {"a": 1}}
    assert as_typed(read(text)) == as_typed(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"id": "a",}', {"id": "a"}),
        ('{"id": "a"} # why\n', {"id": "a"}),
        ('# why\n{"id": "a", "n": 017, "d": 2024-01-01x}', {"id": "a", "n": 15, "d": "2024-01-01x"}),
        (
            "{id: a, n: NaN, i: Infinity, j: -Infinity}",
            {"id": "a", "n": "NaN", "i": "Infinity", "j": "-Infinity"},
        ),
        ('{"n": NaN, "i": -Infinity}', {"n": "NaN", "i": "-Infinity"}),
        ('{"s": "a\\/b",}', {"s": "a/b"}),
        ('{"s": "\\ud83d\\ude00 \\\\ud83d",}', {"s": "\U0001f600 \\ud83d"}),
        (
            '{"s": "\\uD83D\\uDE00", \'t\': \'\\ud83d\\ude00\',} # "\\ud83d\\ude00',
            {"s": "\U0001f600", "t": "\\ud83d\\ude00"},
        ),
        ('{"s": "a\tb\n c"}', {"s": "a\tb c"}),
        ('{"a": &a [1], "b": *a}', {"a": [1], "b": [1]}),
        ("id: a\n", {"id": "a"}),
    ],
)
def test_what_the_dialect_allows_beyond_json_is_read_too(text: str, value: object, as_typed: Typed) -> None:
    assert as_typed(read(text)) == as_typed(value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_accepted(encoding: str) -> None:
    assert read('{"id": "ä\U0001f600"}'.encode(encoding)) == {"id": "ä\U0001f600"}


@pytest.mark.parametrize(
    "text",
    [
        *(
            '{"x": 1, "x": 2}',
            '[{"x": 1, "\\u0078": 2}]',
            '{"x": 1, "x": 2,}',
            '{"a": 1',
            '{"a": ]',
            '{"a" 1}',
            "\x00",
        ),
        *(
            '{"a": "\\ud800"}',
            '{"\\udc00": 1}',
            '[[["\\ud83dx"]]]',
            '{"a": "\\ude00\\ud83d"}',
            '{"a": "\\ud800",}',
        ),
        *(
            '{"a": "\x7f"}',
            '{"a": "\x80"}',
            '{"a": "\ufffe"}',
            '{"a": "\x01"}',
            '{"a": *x}',
            '{"a": %s}' % ("9" * 4301),
        ),
    ],
)
def test_broken_and_unsafe_json_is_refused(text: str) -> None:
    with pytest.raises(YamlError):
        read(text)


@pytest.mark.parametrize("data", [b'{"a": "\xff"}', b"\xff\xfe{", b'{"a": "\xed\xa0\x80"}'])
def test_bytes_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(YamlError):
        read(data)


def test_integers_are_exact_up_to_the_digit_limit() -> None:
    digits = "9" * 4300
    assert read(f'{{"a": -{digits}}}') == {"a": -int(digits)}


@pytest.mark.parametrize("text", ["[1]", '"a"', "1", "true"])
def test_a_record_must_be_a_map(text: str) -> None:
    with pytest.raises(NotAMapping):
        load_mapping(text.encode(), json_syntax=True)


def test_the_dialect_is_not_json_outside_of_json_files() -> None:
    with pytest.raises(YamlError):
        load_plain(b'"\\ud83d\\ude00"', json_syntax=False)

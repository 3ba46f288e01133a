"""Contract a7, a9: documents, keys, duplicates, anchors and merges, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository.yaml import (
    NotAMapping,
    Timestamp,
    YamlError,
    has_non_string_key,
    load_mapping,
    load_plain,
)

Typed = Callable[[Any], Any]


def record(text: str | bytes) -> dict[str, Any] | None:
    return load_mapping(text.encode() if isinstance(text, str) else text, json_syntax=False)


def plain(text: str | bytes) -> Any:
    return load_plain(text.encode() if isinstance(text, str) else text, json_syntax=False)


@pytest.mark.parametrize(
    "text", ["", "\n", "# only a comment\n", "~", "null", "---\n", "--- # nothing\n...\n", "\ufeff"]
)
def test_an_empty_or_null_document_is_none(text: str) -> None:
    assert record(text) is None
    assert plain(text) is None


@pytest.mark.parametrize(
    "text", ["hello", "5", "''", "[a]", "- a", "true", "2024-01-01", "&x [a]", "!!str ~"]
)
def test_a_record_that_is_no_map_is_told_apart(text: str) -> None:
    with pytest.raises(NotAMapping):
        record(text)
    assert plain(text) is not None


def test_record_keys_are_text_while_inner_keys_keep_their_type(as_typed: Typed) -> None:
    text = "1: a\n0x1: b\ntrue: c\n2020-01-02: d\n1.50: e\n'': f\nin: {1: a, ~: b, 2020-01-02: c, 1.5: d}\n"
    inner = {1: "a", None: "b", Timestamp("2020-01-02T00:00:00Z"): "c", 1.5: "d"}
    outer = {"1": "a", "0x1": "b", "true": "c", "2020-01-02": "d", "1.50": "e", "": "f"}
    assert as_typed(record(text)) == as_typed({**outer, "in": inner})


def test_a_null_key_of_a_record_is_dropped_with_its_value() -> None:
    assert record("id: a\n~: x\nb: 1\n") == {"id": "a", "b": 1}
    assert record("? \n: {deep: [1]}\nid: a\n") == {"id": "a"}
    assert record("x: &x 1\n~: *x\n") == {"x": 1}
    assert plain("~: x") == {None: "x"}


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2\n",
        "1: a\n'1': b\n",
        "'1': a\n1: b\n",
        "true: a\n'true': b\n",
        "~: a\n'~': b\n",
        "~: a\n~: b\n",
        "a: {x: 1, x: 2}\n",
        "a: {1: 1, '1': 2}\n",
        'a: [{x: 1, "x": 2}]\n',
        "b: &b {}\na: {<<: *b, <<: *b}\n",
        "b: &b 1\na: {x: 1, x: 2}\n",
        "b: &b {x: 1, x: 2}\n",
    ],
)
def test_two_keys_of_one_source_text_are_refused(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        record(text)
    assert caught.value.line is not None


def test_equal_keys_of_different_text_are_not_duplicates() -> None:
    assert record("1: a\n0x1: b\n") == {"1": "a", "0x1": "b"}
    assert plain("1: a\n0x1: b\n") == {1: "b"}


@pytest.mark.parametrize(
    "text", ["? [a]\n: b\n", "{a: 1}: b\n", "n:\n  ? [a, b]\n  : x\n", "x: &x [1]\n? *x\n: 2\n"]
)
def test_lists_and_maps_are_no_keys(text: str) -> None:
    with pytest.raises(YamlError):
        plain(text)


def test_aliases_share_what_they_name() -> None:
    value = plain("a: &a {x: [1]}\nb: *a\nc: [*a, *a]\nd: &d 5\n*d : e\n")
    assert value == {"a": {"x": [1]}, "b": {"x": [1]}, "c": [{"x": [1]}, {"x": [1]}], "d": 5, 5: "e"}
    assert value["b"] is value["a"]


def test_an_anchor_given_anew_means_the_later_node() -> None:
    assert plain("a: &a 1\nb: *a\nc: &a 2\nd: *a\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize(
    "text",
    [
        "a: *x\n",
        "a: *x\nb: &x 1\n",
        "b: &b [*b]\n",
        "b: &b {c: *b}\n",
        "b: &b {<<: *b}\n",
        "b: &b {c: &c [*b]}\n",
        "*a : 1",
    ],
)
def test_unknown_and_self_containing_anchors_are_refused(text: str) -> None:
    with pytest.raises(YamlError):
        plain(text)


def test_merges_give_way_to_own_keys_and_to_earlier_maps() -> None:
    base = "base: &b {x: 1, y: {z: 2}}\nlate: &l {x: 9, w: 3}\n"
    assert record(base + "m:\n  y: over\n  <<: *b\n")["m"] == {"y": "over", "x": 1}  # type: ignore[index]
    assert record(base + "m: {<<: [*b, *l, {v: 4}], own: 0}\n")["m"] == {  # type: ignore[index]
        "own": 0,
        "x": 1,
        "y": {"z": 2},
        "w": 3,
        "v": 4,
    }
    assert record("<<: {a: 1, b: 2}\na: own\n") == {"a": "own", "b": 2}
    assert record("<<: {<<: {a: 1, b: 2}, b: 3}\n") == {"b": 3, "a": 1}
    assert record("<<: {1: a, ~: b}\n0x2: c\n") == {"0x2": "c", "1": "a"}
    assert plain("<<: {1: a}\n2: c\n") == {2: "c", 1: "a"}
    assert record("a: {<<: []}") == {"a": {}}


def test_only_the_plain_key_merges() -> None:
    assert record("'<<': {a: 1}\n") == {"<<": {"a": 1}}
    assert record("a: <<\nb: [<<]\n") == {"a": "<<", "b": ["<<"]}
    assert record("!!merge <<: {a: 1}\n") == {"a": 1}
    assert record("!!str <<: {a: 1}\n") == {"<<": {"a": 1}}
    assert record("!!merge x: {a: 1}\n") == {"x": {"a": 1}}


@pytest.mark.parametrize("value", ["1", "~", "[1]", "[{a: 1}, x]", "''"])
def test_what_is_no_map_cannot_be_merged(value: str) -> None:
    with pytest.raises(YamlError):
        record(f"a: {{<<: {value}}}\n")


@pytest.mark.parametrize(
    "rest",
    [
        "---\nb: 2\n",
        "---\n@\n",
        "...\n@ [ {\n",
        "--- |\n\tx\n",
        '---\n"unfinished\n',
        "---\na: *x\n",
        "---\na: 1\na: 2\n",
        "---\nb: \x01\n",
        "...\n# c\n\x01\n",
        "...\n%FOO bar\n",
        "---\n" * 1000 + "\x01",
    ],
)
def test_later_documents_are_not_even_looked_at(rest: str) -> None:
    assert record("a: 1\n" + rest) == {"a": 1}
    assert record("%YAML 1.1\n# c\n---\na: 1\n" + rest) == {"a": 1}


def test_bad_bytes_in_a_later_document_do_no_harm_but_in_the_first_they_do() -> None:
    assert record(b"a: 1\n---\nb: \xff\n") == {"a": 1}
    assert record(b"--- \na: 1\n...\n\xff\n") == {"a": 1}
    with pytest.raises(YamlError) as caught:
        record(b"---\na: 1\nb: \xff\n---\n")
    assert caught.value.line == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_line_ends_make_no_difference(encoding: str, newline: str) -> None:
    text = newline.join(["é: ü", "b: |", "  l1", "  l2", "c: '\U0001f600'", ""])
    assert record(text.encode(encoding)) == {"é": "ü", "b": "l1\nl2\n", "c": "\U0001f600"}


def test_both_byte_orders_of_utf16_are_read() -> None:
    for order, mark in (("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")):
        assert record(mark + "id: ä\n".encode(order)) == {"id": "ä"}


@pytest.mark.parametrize(
    "data",
    [
        *(
            b"a: \xff\n",
            b"a: \xc3",
            b"\xff\xfea",
            b"\xff\xfe\x00\xd8",
            b"a: \xed\xa0\x80\n",
            b"a: \x01",
            b"a: \x7f",
            b"\x00",
        ),
        *(
            b"a: \xc2\x80",
            b"a: \xef\xbf\xbe",
            b'a: "\\ud800"',
            b'a: "\\ud83d\\ude00"',
            b'a: "\\q"',
            b"a: [",
            b"a: b: c",
        ),
        *(
            b"id: a\n\tb: c\n",
            b"id: a\n  bad: x\n",
            b"id: 'a\n",
            b"a: @x",
            b"a: `x",
            b"a: %x",
            b"{a: 1",
            b"- a\nb: 1\n",
            b"%FOO\n",
        ),
    ],
)
def test_broken_files_are_refused(data: bytes) -> None:
    with pytest.raises(YamlError) as caught:
        plain(data)
    assert caught.value.reason


def test_faults_carry_their_place_and_no_content() -> None:
    with pytest.raises(YamlError) as caught:
        record("id: a\nsecret-word: [\n  secret-word: ]]\n")
    assert caught.value.line == 3
    assert caught.value.column is not None
    assert "secret-word" not in str(caught.value)
    assert str(caught.value).startswith("line 3, column ")
    assert str(YamlError("why", 7)) == "line 7: why"
    assert str(YamlError("why")) == "why"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: {b: [c]}", False),
        ("a: {1: c}", True),
        ("a: [[{~: c}]]", True),
        ("true: 1", True),
        ("[1, [2]]", False),
        ("1", False),
    ],
)
def test_keys_that_json_cannot_hold_are_found(text: str, found: bool) -> None:
    assert has_non_string_key(plain(text)) is found


def test_looking_for_such_keys_takes_each_shared_part_once() -> None:
    shared: list[object] = []
    for _ in range(60):
        shared = [shared, shared]
    assert has_non_string_key(shared) is False


def test_directives_are_accepted_and_change_nothing() -> None:
    assert record("%YAML 1.1\n---\na: yes\n...\n") == {"a": "yes"}
    assert record("%TAG ! tag:yaml.org,2002:\n---\na: !int '5'\n") == {"a": 5}

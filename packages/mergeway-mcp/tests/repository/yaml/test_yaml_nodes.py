"""The node tree and the typed decoders that the configuration is read with (contract a1, a3, a4)."""

from __future__ import annotations

import pytest

from mergeway_mcp.repository.yaml import (
    Node,
    NotAMapping,
    YamlError,
    compose,
    decode_bool_typed,
    decode_int_typed,
    decode_record,
    decode_text,
    decode_value,
    mapping_items,
)


def node_of(text: str) -> Node:
    """The node behind `a: `."""
    root = compose(f"a: {text}\n".encode())
    assert root is not None
    return root.pairs[0][1]


def items_of(node: Node, *, allow_duplicates: bool = False) -> list[tuple[str, str]]:
    return [(key.text, value.text) for key, value in mapping_items(node, allow_duplicates=allow_duplicates)]


def test_nodes_tell_kind_tag_text_style_and_place() -> None:
    root = compose(b"a: 'x'\nb:\n  - 2.50\n  - !t {c: ~}\n")
    assert root is not None
    assert (root.kind, root.tag, root.line, root.column) == ("mapping", "!!map", 1, 1)
    (a, x), (b, items) = root.pairs
    assert (a.text, a.plain, x.text, x.plain, x.tag) == ("a", True, "x", False, "!!str")
    assert (items.kind, items.tag, items.line, items.column) == ("sequence", "!!seq", 3, 3)
    number, tagged = items.items
    assert (number.text, number.tag) == ("2.50", "!!float")
    assert (tagged.tag, tagged.pairs[0][1].is_null) == ("!t", True)
    assert b.items == tagged.items == ()
    assert "2.50" not in repr(number)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        *(
            ("1", "!!int"),
            ("x", "!!str"),
            ("~", "!!null"),
            ("", "!!null"),
            ("true", "!!bool"),
            (".5", "!!float"),
        ),
        *(
            ("2024-01-01", "!!timestamp"),
            ("!!int '1'", "!!int"),
            ("<<", "!!merge"),
            ("'<<'", "!!str"),
            ("! x", "!!str"),
        ),
    ],
)
def test_tags_are_short_and_resolved(text: str, tag: str) -> None:
    assert node_of(text).tag == tag


@pytest.mark.parametrize("data", [b"", b"# c\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_document_has_no_node(data: bytes) -> None:
    assert compose(data) is None


def test_aliases_are_replaced_by_the_node_they_name() -> None:
    root = compose(b"a: &a {x: 1}\nb: *a\n")
    assert root is not None
    assert root.pairs[0][1] is root.pairs[1][1]


@pytest.mark.parametrize("text", ["true", "True", "y", "Yes", "ON", "'yes'", '"on"', "!!str y"])
def test_typed_booleans_take_the_words_of_yaml_1_1_as_true(text: str) -> None:
    assert decode_bool_typed(node_of(text)) is True


@pytest.mark.parametrize("text", ["false", "FALSE", "n", "No", "off", "'no'", "~", ""])
def test_typed_booleans_take_their_opposites_and_null_as_false(text: str) -> None:
    assert decode_bool_typed(node_of(text)) is False


@pytest.mark.parametrize(
    "text", ["'true'", "1", "0", "tRUE", "yEs", "[true]", "{a: true}", "''", "2024-01-01", "!!bool yes"]
)
def test_typed_booleans_refuse_everything_else(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        decode_bool_typed(node_of(text))
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(
            ("1", 1),
            ("0x1", 1),
            ("01", 1),
            ("1.0", 1),
            ("1.9", 1),
            ("-1.9", -1),
            ("08", 8),
            ("~", 0),
            ("", 0),
            ("1e3", 1000),
        ),
        *(("9223372036854775807", (1 << 63) - 1), ("-9223372036854775808", -(1 << 63)), ("!!int '3'", 3)),
    ],
)
def test_typed_integers_truncate_floats(text: str, number: int) -> None:
    assert decode_int_typed(node_of(text)) == number


@pytest.mark.parametrize(
    "text",
    [
        *("'1'", "true", "x", "[1]", "{}", "2024-01-01", ".inf", "-.inf", ".nan", "1e19", "-1e19", "1e400"),
        *("9223372036854775808", "9223372036854775808.0", "-9223372036854775809"),
    ],
)
def test_typed_integers_refuse_other_types_and_ranges(text: str) -> None:
    with pytest.raises(YamlError):
        decode_int_typed(node_of(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", "5"),
        ("2.50", "2.50"),
        ("true", "true"),
        ("' x '", " x "),
        ("~", ""),
        ("2024-1-1", "2024-1-1"),
        ("!!binary aGk=", "hi"),
    ],
)
def test_any_scalar_is_taken_as_its_text(text: str, expected: str) -> None:
    assert decode_text(node_of(text)) == expected


@pytest.mark.parametrize("text", ["[a]", "{}", "!!int x", "!!binary '*'"])
def test_lists_maps_and_misfit_tags_are_no_text(text: str) -> None:
    with pytest.raises(YamlError):
        decode_text(node_of(text))


def test_values_and_records_differ_in_their_keys() -> None:
    node = node_of("{1: a, ~: b, c: {2: d}}")
    assert decode_value(node) == {1: "a", None: "b", "c": {2: "d"}}
    assert decode_record(node) == {"1": "a", "c": {2: "d"}}
    with pytest.raises(NotAMapping):
        decode_record(node_of("[a]"))


def test_mapping_items_merge_into_the_own_ones() -> None:
    root = compose(b"b: &b {x: 1, y: 2}\nc: &c {<<: *b, z: 3}\nm: {y: own, <<: [*c, {w: 4, z: 5}]}\n")
    assert root is not None
    assert items_of(root.pairs[2][1]) == [("y", "own"), ("z", "3"), ("x", "1"), ("w", "4")]


def test_mapping_items_refuse_repeated_keys_unless_told_to_give_them() -> None:
    node = node_of("{x: 1, x: 2, <<: 3}")
    assert items_of(node, allow_duplicates=True) == [("x", "1"), ("x", "2"), ("<<", "3")]
    with pytest.raises(YamlError) as caught:
        mapping_items(node)
    assert caught.value.column == 11


@pytest.mark.parametrize("text", ["[a]", "x", "~", ""])
def test_mapping_items_need_a_mapping(text: str) -> None:
    with pytest.raises(NotAMapping):
        mapping_items(node_of(text))

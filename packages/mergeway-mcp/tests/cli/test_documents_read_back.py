"""What is written as YAML or JSON reads back to the same values, in this dialect and in PyYAML's."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.cli.documents import to_json_text, to_yaml_text
from mergeway_mcp.repository.yaml import load_plain

# What looks like another type in some dialect of YAML, what ends a plain scalar, and what no terminal should see.
TRICKY = [
    "", " ", "~", "null", "Null", "yes", "NO", "y", "on", "true", "1", "010", "0x1", "0o17", "1e3", "1_000", ".5", ".inf",
    "2024-02-29", "12:30:00", "-", "- a", "a: b", "a:", "a #b", "#a", "a ", " a", "'", '"', "\\", "[", "{", "&a", "*a",
    "!a", "%a", "@a", "`a", "|", ">", "?", "<<", "=", "---", "...", "a\nb", "a\n", "\ta", "a\tb", "\x00", "\x1b[0m", "\x7f",
    "\x85", "\u2028", "\ufeff", "\u202e", "\u00a0", "é", "日本", "🚀", "\U000e0001", "k" * 2000, "é: 日",
]  # fmt: skip

text = st.one_of(st.sampled_from(TRICKY), st.text(st.characters(exclude_categories=["Cs"])))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
)
data = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner), st.dictionaries(text, inner)), max_leaves=20
)


def same(left: Any, right: Any) -> bool:
    return json.dumps(left) == json.dumps(right)


@given(data)
def test_yaml_reads_back(value: Any) -> None:
    assert same(load_plain(to_yaml_text(value).encode("utf-8"), json_syntax=False), value)


@given(data)
def test_json_reads_back(value: Any) -> None:
    assert same(json.loads(to_json_text(value)), value)


@given(
    st.recursive(text, lambda inner: st.one_of(st.lists(inner), st.dictionaries(text, inner)), max_leaves=20)
)
def test_text_stays_text_for_readers_of_other_dialects(value: Any) -> None:
    assert yaml.safe_load(to_yaml_text(value)) == value


@pytest.mark.parametrize("value", TRICKY)
@pytest.mark.parametrize("write", [to_yaml_text, to_json_text])
def test_nothing_without_a_shape_is_written_as_it_is(value: str, write: Any) -> None:
    written = write({value: [value]})
    assert [character for character in written if not character.isprintable() and character != "\n"] == []


def test_ordinary_records_are_written_without_noise() -> None:
    record = {
        "id": "a-1",
        "path": "runbooks/x.yaml",
        "url": "https://a.example/b",
        "numbers": [1, 2.5],
        "map": {},
        "list": [],
    }
    assert to_yaml_text([record]) == (
        "- id: a-1\n"
        "  path: runbooks/x.yaml\n"
        "  url: https://a.example/b\n"
        "  numbers:\n"
        "    - 1\n"
        "    - 2.5\n"
        "  map: {}\n"
        "  list: []\n"
    )
    assert to_yaml_text([[1, [2]], [{}]]) == "- - 1\n  - - 2\n- - {}\n"


def test_the_deepest_record_that_is_served_can_be_written() -> None:
    value: Any = "leaf"
    for _ in range(200):
        value = [value]
    assert same(load_plain(to_yaml_text(value).encode(), json_syntax=False), value)
    assert same(json.loads(to_json_text(value)), value)

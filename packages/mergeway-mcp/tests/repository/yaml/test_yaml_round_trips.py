"""Properties: what other writers write is read back, and the fast ways agree with the exact reader."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.repository.yaml import NotAMapping, YamlError, load_mapping, load_plain
from mergeway_mcp.repository.yaml.reading import read_exactly
from mergeway_mcp.repository.yaml.scalars import resolve

Typed = Callable[[Any], Any]

# Cs cannot be encoded; control and private format characters are refused or folded when they stand unescaped.
_printable = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="\ufffe\uffff\ufeff"),
    max_size=40,
)
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_integers = st.integers() | st.integers(min_value=-(10**60), max_value=10**60)
_floats = st.floats(allow_nan=False, allow_infinity=False)


def _data(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | _integers | _floats | text
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(text, inner, max_size=5),
        max_leaves=20,
    )


_words = st.sampled_from([
    *(
        "a",
        "b",
        "1",
        "'1'",
        '"a"',
        "~",
        "true",
        "0x1",
        "2024-01-01",
        "1e3",
        "08",
        ": ",
        ": ",
        ": ",
        "\n",
        "\n  ",
        "\n    ",
    ),
    *(
        "- ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "&x ",
        "*x",
        "<<: ",
        "!!str ",
        "!!int ",
        "!t ",
        "? ",
        "|\n  ",
        ">-\n  ",
        "# c\n",
    ),
    *(
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\t",
        "\r\n",
        '"',
        "'",
        "\\",
        "\u2028",
        "\u0085",
        "\ufeff",
        "\x01",
        "é",
        "\U0001f600",
    ),
])
_hostile_text = st.lists(_words, max_size=25).map("".join)
_yaml_like = _hostile_text | st.lists(
    st.tuples(st.sampled_from(["", "  ", "- ", "  - "]), st.sampled_from("abc12"), _words).map(
        lambda t: f"{t[0]}{t[1]}: {t[2]}\n"
    ),
    max_size=8,
).map("".join)


def outcome(read: Callable[[], Any], as_typed: Typed) -> Any:
    """The value that reading ends in, or the kind of failure."""
    try:
        return "value", as_typed(read())
    except NotAMapping:
        return "not a mapping"
    except YamlError:
        return "refused"


@pytest.fixture(scope="module")
def check_typed(as_typed: Typed) -> Typed:
    return as_typed


@given(value=_data(_any_text))
def test_escaped_json_is_read_back_by_both_readers(value: Any, check_typed: Typed) -> None:
    text = json.dumps(value)
    assert check_typed(load_plain(text.encode(), json_syntax=True)) == check_typed(value)
    assert check_typed(load_plain(f"{text} # not JSON".encode(), json_syntax=True)) == check_typed(value)


@given(value=_data(_printable))
def test_raw_json_is_read_back_by_both_readers(value: Any, check_typed: Typed) -> None:
    for indent in (None, 2):
        data = json.dumps(value, ensure_ascii=False, indent=indent).encode()
        assert check_typed(load_plain(data, json_syntax=True)) == check_typed(value)
        assert check_typed(load_plain(data + b" # not JSON", json_syntax=True)) == check_typed(value)


@given(value=_data(_any_text))
def test_quoted_and_tagged_yaml_is_read_back(value: Any, check_typed: Typed) -> None:
    for flow in (True, False):
        data = yaml.safe_dump(
            value, default_style='"', allow_unicode=True, default_flow_style=flow, sort_keys=False
        ).encode()
        assert check_typed(load_plain(data, json_syntax=False)) == check_typed(value)


@given(value=_data(_printable.filter(lambda text: resolve(text) == text)))
def test_plain_yaml_is_read_back(value: Any, check_typed: Typed) -> None:
    for flow in (True, False, None):
        data = yaml.safe_dump(value, allow_unicode=True, default_flow_style=flow, sort_keys=False).encode()
        assert check_typed(load_plain(data, json_syntax=False)) == check_typed(value)


@given(value=st.dictionaries(_any_text, _data(_any_text), max_size=5))
def test_records_in_either_format_are_read_back(value: dict[str, Any], check_typed: Typed) -> None:
    as_yaml = yaml.safe_dump(value, default_style='"', allow_unicode=True, sort_keys=False).encode()
    as_json = json.dumps(value).encode()
    assert check_typed(load_mapping(as_yaml, json_syntax=False)) == check_typed(value)
    assert check_typed(load_mapping(as_json, json_syntax=True)) == check_typed(value)


@given(text=_yaml_like)
def test_the_fast_reader_agrees_with_the_exact_one(text: str, check_typed: Typed) -> None:
    data = text.encode()
    assert outcome(lambda: load_plain(data, json_syntax=False), check_typed) == outcome(
        lambda: read_exactly(data, text_keys=False), check_typed
    )


@given(text=_yaml_like)
def test_the_fast_reader_agrees_with_the_exact_one_on_records(text: str, check_typed: Typed) -> None:
    data = text.encode()

    def exactly() -> Any:
        value = read_exactly(data, text_keys=True)
        if value is not None and not isinstance(value, dict):
            raise NotAMapping("a record is a map")
        return value

    assert outcome(lambda: load_mapping(data, json_syntax=False), check_typed) == outcome(
        exactly, check_typed
    )


@given(
    text=st.lists(
        st.sampled_from([
            *'{}[]:,"0123456789.-+eE\\/abu \n\t#',
            "true",
            "null",
            '"a"',
            '":',
            "\\u00e9",
            "\\ud83d\\ude00",
        ]),
        max_size=25,
    ).map("".join)
)
def test_json_like_text_means_the_same_read_as_json_and_as_yaml(text: str, check_typed: Typed) -> None:
    as_json = outcome(lambda: load_plain(text.encode(), json_syntax=True), check_typed)
    as_yaml = outcome(lambda: load_plain(text.encode(), json_syntax=False), check_typed)
    if as_yaml != "refused":
        assert as_json == as_yaml

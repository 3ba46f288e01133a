"""Selectors are RFC 9535 queries in document order, and none runs away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.repository.selectors import SelectorFault, budget, compile_selector
from mergeway_mcp.repository.selectors.iregexp import translate
from mergeway_mcp.repository.yaml import Timestamp

STORE = {
    "o": {"j": 1, "k": 2},
    "a": [5, 3, [{"j": 4}, {"k": 6}]],
    "e": [{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
    "text": {"it's": 1, "\u00e9": 2, "\U0001f600": 3, "": 4},
    "deep": [[[[7]]]],
}


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("$.o.j", [1]),
        ("$['o']['k']", [2]),
        ("$.o.*", [1, 2]),
        ("$.a[0]", [5]),
        ("$.a[-1][1].k", [6]),
        ("$.a[9]", []),
        ("$.o[0]", []),
        ("$.a.j", []),
        ("$.a[0:2]", [5, 3]),
        ("$.a[::-1]", [[{"j": 4}, {"k": 6}], 3, 5]),
        ("$.a[:-2]", [5]),
        ("$.a[::0]", []),
        ("$.a[0, 0]", [5, 5]),
        ("$..j", [1, 4]),
        ("$.a..[0]", [5, {"j": 4}]),
        ("$..*[?@ == 7]", [7]),
        ("$ .o\n['j' , \"k\"]", [1, 2]),
        ("$.text['it\\'s']", [1]),
        ("$.text['\\u00e9', '\\uD83D\\uDE00', '']", [2, 3, 4]),
        ("$.text.é", [2]),
        ("$.e[?@.b == 'kilo']", [{"b": "kilo"}]),
        ("$.e[?@.b == $.e[0].b]", [{"b": "j"}]),
        ("$.e[?@.b > 'j' && !(@.b == 'k')]", [{"b": "kilo"}]),
        ("$.e[?@.b == {}]", None),
        ("$.e[?length(@.b) == 0 || @.b == 'j']", [{"b": "j"}, {"b": {}}]),
        ("$.a[?@ >= 5]", [5]),
        ("$.a[?@ != 5]", [3, [{"j": 4}, {"k": 6}]]),
        ("$.a[?@ < 4.5e0]", [3]),
        ("$.a[?@[1]]", [[{"j": 4}, {"k": 6}]]),
        ("$.a[?@.x == @.y]", [5, 3, [{"j": 4}, {"k": 6}]]),
        ("$[?count(@.*) == 2].j", [1]),
        ("$.e[?value(@..b) == 'j']", [{"b": "j"}]),
        ("$.e[?match(@.b, 'k.*')]", [{"b": "k"}, {"b": "kilo"}]),
        ("$.e[?match(@.b, 'il')]", []),
        ("$.e[?search(@.b, 'il')]", [{"b": "kilo"}]),
        ("$.e[?search(@.b, '(')]", []),
        ("$.e[?search(@.b, @.b)]", [{"b": "j"}, {"b": "k"}, {"b": "kilo"}]),
        ("$", [STORE]),
    ],
)
def test_a_query_selects_what_the_rfc_says(selector: str, expected: list[Any] | None) -> None:
    if expected is None:
        with pytest.raises(SelectorFault):
            compile_selector(selector)
    else:
        assert compile_selector(selector).find(STORE) == expected


def test_maps_are_walked_in_document_order() -> None:
    assert compile_selector("$..*").find({"z": {"b": 1, "a": 2}, "y": [3]}) == [
        {"b": 1, "a": 2},
        [3],
        1,
        2,
        3,
    ]


def test_booleans_are_no_numbers_and_integers_equal_floats() -> None:
    document = [True, 1, 1.0, False, 0, None]
    assert compile_selector("$[?@ == 1]").find(document) == [1, 1.0]
    assert [type(value) for value in compile_selector("$[?@ == true]").find(document)] == [bool]
    assert compile_selector("$[?@ == null]").find(document) == [None]
    assert compile_selector("$[?@ < 1]").find(document) == [0]


def test_lists_and_maps_are_equal_by_value_whatever_the_order_of_keys() -> None:
    same = [[1, {"a": [True], "b": "x"}], [1.0, {"b": "x", "a": [True]}]]
    other = [
        [1],
        [1, 2],
        [1, {"a": [True]}],
        [1, {"a": [1], "b": "x"}],
        [1, {"a": [True], "c": "x"}],
        {"1": 1},
    ]
    document = {"wanted": same[0], "rows": [*same, *other]}
    assert compile_selector("$.rows[?@ == $.wanted]").find(document) == same


def test_points_in_time_are_equal_to_themselves_only() -> None:
    moment = Timestamp("2024-02-29T00:00:00Z")
    document = [{"at": moment}, {"at": "2024-02-29T00:00:00Z"}]
    assert compile_selector("$[?@.at == '2024-02-29T00:00:00Z']").find(document) == [document[1]]
    assert compile_selector("$[?@.at == $[0].at]").find(document) == [document[0]]
    assert compile_selector("$[?@.at < '9']").find(document) == [document[1]]


@pytest.mark.parametrize(
    "selector",
    [
        "", "o", "$.", "$..", "$[", "$[]", "$['a]", "$[\"a']", "$[01]", "$[-0]", "$[1.0]", "$[9007199254740992]",
        "$.1a", "$ ", " $", "$.a ", "$[?]", "$[?1]", "$[?'a']", "$[?true]", "$[?(@.a]", "$[?@.a == ]",
        "$[?@.* == 1]", "$[?@..a == 1]", "$[?@['a','b'] == 1]", "$[?length(@)]", "$[?count(@.*)]",
        "$[?match(@.a, 'x') == true]", "$[?nope(@)]", "$[?length()]", "$[?length(@, @)]", "$[?length(@.*) == 1]",
        "$[?count(1) == 1]", "$[?count(length(@)) == 1]", "$[?match(@.a == 1, 'x')]", "$[?length (@) == 1]",
        "$[?@.a == 01]", "$[?@.a == 1.]", "$[?@.a == .5]", "$[?@.a = 1]", "$[?@.a && ]", "$[?!@.a == 1]",
        "$['\\x41']", "$['\\uD800']", "$['\\uDC00']", "$['\\u12']", "$['\x01']", "$[0:1:2:3]", "$[a]", "$.é\ud800",
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused(selector: str) -> None:
    with pytest.raises(SelectorFault):
        compile_selector(selector)


@given(st.text("$@.[]*?()!&|=<>'\"\\,:-0123e abulength", max_size=40))
def test_any_text_is_a_query_or_refused(text: str) -> None:
    try:
        compile_selector("$" + text).find(STORE)
    except SelectorFault:
        pass


def test_a_selector_is_bounded_in_length_and_nesting() -> None:
    for text in (
        "$" + ".a" * 6_000,
        "$[?" + "(" * 100 + "@" + ")" * 100 + "]",
        "$" + "[?@" * 100 + "]" * 100,
    ):
        with pytest.raises(SelectorFault):
            compile_selector(text)
    nested = "$[?" + "length(" * 100 + "@" + ")" * 100 + " == 1]"
    with pytest.raises(SelectorFault):
        compile_selector(nested)


@pytest.mark.parametrize(
    "selector",
    [
        "$..*..*..*..*",
        "$" + "[*,*]" * 30,
        "$..[?@..[?@..[?@..a]]]",
        "$[*][?count($..*) > 0]",
        "$[*][?@ == $[0]]" * 4,
    ],
)
def test_a_query_that_multiplies_its_work_ends_in_a_fault(
    selector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget.Budget.__init__, "__defaults__", (100_000,))
    document: Any = 0
    for _ in range(40):
        document = [document, document]
    with pytest.raises(SelectorFault):
        compile_selector(selector).find(document)


def test_searching_a_long_text_again_and_again_ends_in_a_fault() -> None:
    document = {"text": "x" * 1_000_000, "rows": [0] * 1_000}
    with pytest.raises(SelectorFault):
        compile_selector("$.rows[?search($.text, 'a*b')]").find(document)


def test_expressions_that_backtracking_engines_drown_in_are_harmless() -> None:
    document = [{"t": "a" * 5_000 + "!"}]
    assert compile_selector("$[?match(@.t, '(a*)*(a|aa)+b')]").find(document) == []


@pytest.mark.parametrize("pattern", ["(", "a{99999}", "(x{1000}){1000}", "a" * 2_000, "\\"])
def test_an_expression_that_cannot_be_used_matches_nothing(pattern: str) -> None:
    assert compile_selector("$[?search(@.t, @.p)]").find([{"t": "aaa", "p": pattern}]) == []


def test_a_dot_is_neither_line_feed_nor_carriage_return() -> None:
    assert compile_selector("$[?match(@, '.')]").find(["a", "\n", "\r", "\u2028"]) == ["a", "\u2028"]
    assert translate(r"a.[.]\.") == r"a[^\n\r][.]\."

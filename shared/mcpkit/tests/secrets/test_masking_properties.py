"""What holds for any text: masking is idempotent, linear, keeps lines, and never fails."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpkit.secrets import find_secrets, mask, mask_value
from mcpkit.secrets.masking import _find
from mcpkit.secrets.scanning import Scanner, fold

# Everything the rules look for, and everything that may stand around it, to be put together at random.
FRAGMENTS = [
    "password", "PASSWORD", "_pass", "passwd", "pwd", "token", "Token", "secret", "api_key", "apiKey", "private_key", "_auth",
    "access", "client_", "my-", "Authorization", "Bearer ", "bearer\n", "Basic ", "Cookie", "Set-Cookie", "session", "realm=",
    ":", "=", "=>", ":=", "==", "://", "@", "/", "?", "&", "#", ",", ";", ".", "-", "--", "_", "|", ">", "<", "</", "\\", "\\n",
    '"', "'", "`", '"""', "(", ")", "[", "]", "{", "}", "${", "{{", "}}", "$", "%", "*", "**", "***", "...", "…", "!",
    " ", "  ", "\n", "\r\n", "\t", "\n    ", "\n\n", "- ",
    "sk" + "-", "gh" + "p_", "github" + "_pat_", "AK" + "IA", "ey" + "J", "xo" + "xb-", "AI" + "za", "np" + "m_", "S" + "G.", ":A" + "A", "Q~", "-us12",
    "hooks.slack.com/services/", "sig=", "curl -u ", "--user ", "name: ", "value: ", "-----BEGIN ", "-----END ", "PRIVATE KEY-----", "Private-Lines: 2\n",
    "abcdef123456", "Tr0ub4dor", "hunter2", "the", "of", "xxx", "your", "string", "12", "9", "q7Zk", "dXNlcjpwYXNz",
    "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0", "MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf", "0123456789abcdef0123456789abcdef",
    "\u0130", "\u212a", "é", "日本", "\ud800", "\x00", "\u2028",
]  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=6)), max_size=40).map("".join)
any_text = st.one_of(texts, st.text())


@settings(max_examples=1_000, deadline=None)
@given(any_text)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask(text)
    assert mask(once.text) == (once.text, 0)


@settings(max_examples=500, deadline=None)
@given(any_text)
def test_line_breaks_survive(text: str) -> None:
    assert re.findall(r"\r\n?|\n", mask(text).text) == re.findall(r"\r\n?|\n", text)


@settings(max_examples=500, deadline=None)
@given(any_text)
def test_findings_are_in_order_and_within_the_text(text: str) -> None:
    position = 0
    for finding in find_secrets(text):
        assert position <= finding.start <= finding.hidden_from <= finding.end <= len(text)
        assert finding.hidden_from < finding.end
        position = finding.end


@settings(max_examples=150, deadline=None)
@given(any_text)
def test_text_without_a_finding_stays(text: str) -> None:
    masked = mask(text)
    assert (masked.hidden == 0) == (not find_secrets(text))
    if masked.hidden == 0:
        assert masked.text == text


@settings(max_examples=500, deadline=None)
@given(any_text)
def test_quick_look_for_literals_misses_nothing(text: str) -> None:
    assert find_secrets(text) == _find(Scanner(text))


# Work is counted in characters looked at, see `mcpkit.secrets.scanning`. Some hundred literals are searched for, so
# that harmless text costs about 130 a character; the rest is what rules may look at around their literals.
MOST_WORK_PER_CHARACTER = 400


def work_per_character(text: str) -> float:
    scanner = Scanner(text)
    _find(scanner)
    return scanner.work / max(len(text), 1)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join))
def test_work_is_linear_for_any_repeated_text(unit: str) -> None:
    text = unit * (8_000 // len(unit))
    assert work_per_character(text) <= MOST_WORK_PER_CHARACTER


@settings(max_examples=200, deadline=None)
@given(texts, texts, texts)
def test_work_is_linear_for_any_repetition_between_two_texts(before: str, unit: str, after: str) -> None:
    text = before + unit * (8_000 // max(len(unit), 1)) + after
    assert work_per_character(text) <= MOST_WORK_PER_CHARACTER


HOSTILE = {
    "names": "token=",
    "names-and-quotes": 'token="',
    "names-and-triple-quotes": 'token="""',
    "open-quotes": "password: '",
    "colons": "token: ",
    "jwt-heads": "ey" + "J",
    "jwt-parts": "ey" + "Jabcdefghijk.",
    "sk": "sk" + "-",
    "schemes": "a://",
    "schemes-with-users": "a://b:",
    "at-signs": "a://b:c@",
    "bearers": "Bearer ",
    "basics": "Basic AAAAAAAAAAAA ",
    "cookies": "Cookie: ",
    "cookie-pairs": "Cookie: a=<b>; ",
    "authorizations": "Authorization: Bearer ",
    "begins": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "begin-lines": "-----BEGIN RSA PRIVATE" + " KEY-----\n",
    "begin-headers": "-----BEGIN RSA PRIVATE" + " KEY-----\nProc-Type: 4\n",
    "begin-strange": "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "A" * 16 + "\nstrange line\n",
    "putty": "Private-Lines: 2\n",
    "blocks": "token: |\n  ",
    "backslashes": "token=\\",
    "telegram": "123456789:A" + "A",
    "dashes": "-",
    "digits": "1",
    "letters": "a",
    "capitals": "A",
    "underscores": "_",
    "blanks": " ",
    "line-breaks": "\n",
    "curl": "curl -u ",
    "keys": "api key api_key ",
    "mailchimp": "0123456789abcdef0123456789abcdef-us",
    "cells": "| token | a1",
    "dotless-i": "\u0130token",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_megabyte_costs_no_more_a_character_than_a_hostile_page(unit: str) -> None:
    page = work_per_character(unit * (4_000 // len(unit)))
    megabyte = work_per_character(unit * (1_000_000 // len(unit)))
    assert megabyte <= MOST_WORK_PER_CHARACTER
    assert megabyte <= page * 1.5 + 10


# One possessive repeat of a class or of two alternatives that begin differently, then at most two equals signs.
ONE_POSSESSIVE_REPEAT = re.compile(
    r"(?:\[[^\]]+\]|\[\^?\\\]?.+\]|\(\?:\[\^.+\]\|\\\\\[\^.+\]\))\*\+(?:=\{0,2\}\+)?"
)


def test_every_run_is_one_possessive_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is billed its length, which is its cost only if its pattern cannot backtrack."""
    used: set[str] = set()
    run = Scanner.run

    def recorded(self: Scanner, pattern: re.Pattern[str], start: int) -> int:
        used.add(pattern.pattern)
        return run(self, pattern, start)

    monkeypatch.setattr(Scanner, "run", recorded)
    for before in FRAGMENTS:
        for after in FRAGMENTS:
            find_secrets(f'{before}{after} token: {before}="{after}" https://a:{after}@b {before}: {after}')
    assert len(used) > 12
    assert [pattern for pattern in used if not ONE_POSSESSIVE_REPEAT.fullmatch(pattern)] == []


def test_folding_keeps_every_position() -> None:
    for code in range(sys.maxunicode + 1):
        assert len(fold(chr(code))) == 1


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON_VALUES)
def test_masking_a_value_twice_is_masking_it_once(value: Any) -> None:
    once = mask_value(value)
    again = mask_value(once.value)
    assert again.value == once.value
    assert again.hidden == 0
    assert again.sources == []


@settings(max_examples=200, deadline=None)
@given(JSON_VALUES)
def test_masking_a_value_changes_no_shape(value: Any) -> None:
    def shape(part: Any) -> Any:
        if isinstance(part, dict):
            return [shape(member) for member in part.values()]
        if isinstance(part, list):
            return [shape(item) for item in part]
        return "" if isinstance(part, str) else part

    assert shape(mask_value(value).value) == shape(value)


class TestMaskValue:
    def test_sources_are_paths_in_order_without_repeats(self, invent: Callable[..., str]) -> None:
        secret = "token=" + invent(12)
        value = {
            "query": secret,
            "hits": [{"text": "plain"}, {"text": f"{secret} {secret}", "tags": [secret]}],
        }
        masked = mask_value(value)
        assert masked.sources == ["query", "hits[1].text", "hits[1].tags[0]"]
        assert masked.hidden == 4
        assert secret not in json.dumps(masked.value)

    def test_member_whose_name_is_secret_hides_its_string(self, invent: Callable[..., str]) -> None:
        value = {
            name: invent(12) for name in ("token", "apiKey", "client_secret", "DB_PASSWORD", "accessToken")
        }
        masked = mask_value(value)
        assert masked.sources == list(value)
        assert all(kept.endswith("***") and len(kept) <= 7 for kept in masked.value.values())

    def test_short_value_and_password_below_a_secret_name_are_hidden_whole(self) -> None:
        masked = mask_value({"token": "q7Zk2", "password": "Tr0ub4dor-and-3", "secrets": "q7Zk2"})
        assert masked.value == {"token": "***", "password": "***", "secrets": "q7Zk2"}

    def test_list_below_a_secret_name_is_hidden(self) -> None:
        assert mask_value({"token": ["q7Zk2", 5, None]}).value == {"token": ["***", 5, None]}

    @pytest.mark.parametrize(
        "value",
        ["<token>", "${TOKEN}", "", "***", "your-token", "The token to use.", "https://h.example/token"],
    )
    def test_placeholder_below_a_secret_name_stays(self, value: str) -> None:
        assert mask_value({"token": value}) == ({"token": value}, 0, [])

    def test_numbers_and_switches_below_a_secret_name_stay(self) -> None:
        value = {"token": 5, "password": True, "secret": None, "usedTokens": "many"}
        assert mask_value(value) == (value, 0, [])

    def test_name_that_holds_a_token_of_known_shape_is_hidden(self, invent: Callable[..., str]) -> None:
        names = ["gh" + "p_Ab" + invent(36, seed=str(number)) for number in range(2)]
        masked = mask_value({names[0]: 1, names[1]: 2, "plain": 3})
        assert list(masked.value.values()) == [1, 2, 3]
        assert masked.hidden == 2
        assert not any(name in str(masked) for name in names)

    def test_value_that_contains_itself_is_cut(self) -> None:
        value: dict[str, Any] = {"a": 1}
        value["again"] = [value]
        assert mask_value(value).value == {"a": 1, "again": ["***"]}

    def test_value_nested_without_end_is_cut(self) -> None:
        value: Any = "token=abcdef123456"
        for _ in range(5_000):
            value = [value]
        assert "abcdef" not in str(mask_value(value).value)

    def test_original_is_not_changed(self, invent: Callable[..., str]) -> None:
        value = {"hits": [{"text": "token=" + invent(12)}]}
        before = json.dumps(value)
        mask_value(value)
        assert json.dumps(value) == before

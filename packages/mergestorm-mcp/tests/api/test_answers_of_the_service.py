"""How delays and refusals are read, and what text from elsewhere looks like afterwards."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from mergestorm_mcp.api.client import Reply, parse_retry_after
from mergestorm_mcp.api.refusals import surge_refusal
from mergestorm_mcp.errors import rate_limited
from mergestorm_mcp.text import plain, short_json

NOW = 1_790_000_000.25


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("0", 0),
        ("1.5", 1.5),
        (3, 3),
        (0, 0),
        (formatdate(NOW + 40, usegmt=True), 40),
        (formatdate(NOW - 40, usegmt=True), 0),
        ("", None),
        ("soon", None),
        ("-3", None),
        (-3, None),
        ("nan", None),
        ("inf", None),
        ("1e400", None),
        (True, None),
        (None, None),
        ([], None),
        ("Wed, 99 Oct 2026 99:99:99 GMT", None),
        ("9" * 5000, None),
    ],
)
def test_a_delay_is_a_number_or_a_date_or_nothing(value: Any, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@pytest.mark.parametrize(("delay", "shown"), [(None, None), (0, "0s"), (4.2, "5s")])
def test_the_rate_limit_message_rounds_up(delay: float | None, shown: str | None) -> None:
    error = rate_limited(delay)
    assert (error.code, error.exit_code, error.retry_after_seconds) == ("rate_limited", 7, delay)
    assert (shown in error.message) if shown else ("Retry after" not in error.message)


@pytest.mark.parametrize(
    "body",
    [
        {"error": "cyclone_not_connected", "reason": "account_missing"},
        {"error": "cyclone_not_connected"},
        {"error": "other", "reason": "surge_not_installed"},
        {"error": 7, "reason": "surge_x"},
        "text",
        None,
    ],
)
def test_only_surge_s_own_codes_and_reasons_make_a_surge_refusal(body: Any) -> None:
    assert surge_refusal(Reply(400, body, None)) is None


def test_escapes_controls_and_invisible_characters_are_not_shown() -> None:
    shown = plain(
        "\x1b[31mred\x1b[0m \x1b]0;title\x07a\u202eb\u200bc\ufeff\x00\x07\x9b1m\U000e0041 d\ud800\ttab\nline"
    )
    assert shown == "red abc d\ttab\nline"


def test_long_text_is_cut() -> None:
    assert plain("x" * 50, 10) == "x" * 9 + "…"
    assert len(short_json({"a": ["y" * 100_000]})) <= 400

"""What may be asked, checked before anything is opened."""

from __future__ import annotations

from typing import Final, NoReturn

from ragit_mcp.errors import CommandError

__all__ = ["MAX_TEXT_CHARACTERS", "MAX_TOP_K", "SCOPES_ASKED", "check_choice", "check_number", "check_text"]

#: Scopes that may be asked for (contract A4).
SCOPES_ASKED: Final = ("durable", "session", "harness", "evidence", "all")
MAX_TOP_K: Final = 1_000
MAX_TEXT_CHARACTERS: Final = 100_000


def check_text(field: str, text: str) -> str:
    """A question or goal without blanks around it.

    Raises:
        CommandError: `INPUT_INVALID`, reason `blank` or `too_long`.
    """
    stripped = text.strip()
    if not stripped:
        _refuse(field, "blank", "may not be empty")
    if len(stripped) > MAX_TEXT_CHARACTERS:
        _refuse(field, "too_long", f"has at most {MAX_TEXT_CHARACTERS} characters")
    return stripped


def check_number(field: str, number: int, greatest: int) -> int:
    """A whole number from 1.

    Raises:
        CommandError: `INPUT_INVALID`, reason `not_integer` or `out_of_range`.
    """
    if isinstance(number, bool) or not isinstance(number, int):
        _refuse(field, "not_integer", "is a whole number")
    if not 1 <= number <= greatest:
        _refuse(field, "out_of_range", f"is from 1 to {greatest}")
    return number


def check_choice(field: str, value: str, choices: tuple[str, ...]) -> str:
    """One of some words.

    Raises:
        CommandError: `INPUT_INVALID`, reason `not_a_choice`.
    """
    if value not in choices:
        _refuse(field, "not_a_choice", f"is one of {', '.join(choices)}")
    return value


def _refuse(field: str, reason: str, rule: str) -> NoReturn:
    raise CommandError(
        "INPUT_INVALID",
        f"Correct {field}: it {rule}.",
        details={"field": field, "reason": reason},
    )

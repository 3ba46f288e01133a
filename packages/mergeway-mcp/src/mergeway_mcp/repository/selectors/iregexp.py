"""Regular expressions of selectors (RFC 9485), on RE2, whose time is proportional to the text and the expression."""

from __future__ import annotations

from typing import Any, Final

from .budget import Budget

# A search costs like visiting one node per this many characters, reading an expression like visiting many.
_CHARACTERS_A_VISIT: Final = 16
# RE2's time is proportional to the text and, when its cache of states overflows, to the compiled expression as well:
# then a visit's worth of time is this many steps.
_STEPS_A_VISIT: Final = 64
_COMPILE_COST: Final = 10_000
_MAX_PATTERN: Final = 1_000
_MAX_MEMORY: Final = 1 << 20


class Expressions:
    """The expressions of one evaluation; each is read once."""

    def __init__(self, budget: Budget) -> None:
        self._spend = budget.spend
        self._compiled: dict[str, Any] = {}

    def matches(self, pattern: str, subject: str, *, whole: bool) -> bool:
        """Whether an expression matches all of a text, or any part of it. One that cannot be read matches nothing.

        Raises:
            SelectorFault: The budget is spent.
        """
        if pattern not in self._compiled:
            self._spend(_COMPILE_COST)
            self._compiled[pattern] = _compile(pattern)
        expression = self._compiled[pattern]
        if expression is None:
            return False
        length = len(subject)
        self._spend(max(length // _CHARACTERS_A_VISIT, length * expression.programsize // _STEPS_A_VISIT))
        return (expression.fullmatch(subject) if whole else expression.search(subject)) is not None


def _compile(pattern: str) -> Any:
    import re2  # type: ignore[import-untyped]  # a third of a first load's import time; only selectors with match or search pay for it

    if len(pattern) > _MAX_PATTERN:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(translate(pattern), options)
    except (re2.error, UnicodeEncodeError):
        return None


def translate(pattern: str) -> str:
    """An expression in RE2's syntax: a dot stands for all but line feed and carriage return."""
    parts: list[str] = []
    at = 0
    in_class = False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            parts.append(pattern[at : at + 2])
            at += 2
            continue
        if character == "[":
            in_class = True
        elif character == "]":
            in_class = False
        elif character == "." and not in_class:
            character = r"[^\n\r]"
        parts.append(character)
        at += 1
    return "".join(parts)

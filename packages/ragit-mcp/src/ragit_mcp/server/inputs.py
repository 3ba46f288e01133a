"""What a tool call may ask (contract C). The published schema describes; this decides.

Strict and forgiving at once, as the recorded reference is: unknown members and null are refused, `" All "` and `FULL`
are taken. Reasons name the member and the rule, never the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ragit_mcp.errors import ServerError

__all__ = ["MAX_BUDGET", "MAX_TOP_K", "SCOPES", "VIEWS", "Arguments"]

MAX_TOP_K: Final = 50
MAX_BUDGET: Final = 32_000
MAX_CHARACTERS: Final = 100_000
SCOPES: Final = ("durable", "session", "harness", "evidence", "all")
VIEWS: Final = ("minimal", "default", "full")

# C0 but for tab, line feed and carriage return, and DEL.
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SHOWN: Final = 60


class Arguments:
    """The arguments of one call, read member by member.

    Args:
        given: what the client sent.
        known: the members of the tool.

    Raises:
        ServerError: `MCP_INVALID_INPUT`: an unknown member, null, or a text with control characters.
    """

    def __init__(self, given: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for name, value in given.items():
            if name not in known:
                raise invalid(_shown(name), f"is not an argument; there are {', '.join(known) or 'none'}")
            if value is None:
                raise invalid(name, "may not be null; leave it out")
            if isinstance(value, str):
                if _CONTROL.search(value):
                    raise invalid(name, "may not contain control characters")
                if _SURROGATE.search(value):
                    raise invalid(name, "must be valid Unicode text")
        self._given = given

    def required_text(self, name: str) -> str:
        """A text that is not blank, without the blanks around it."""
        text = self.optional_text(name)
        if text is None:
            raise invalid(name, "is required")
        return text

    def optional_text(self, name: str) -> str | None:
        """The same where it may be left out."""
        if name not in self._given:
            return None
        value = self._given[name]
        if not isinstance(value, str):
            raise invalid(name, "must be a string")
        text = value.strip()
        if not text:
            raise invalid(name, "may not be blank")
        if len(text) > MAX_CHARACTERS:
            raise invalid(name, f"has at most {MAX_CHARACTERS} characters")
        return text

    def number(self, name: str, greatest: int) -> int | None:
        """A whole number from 1."""
        if name not in self._given:
            return None
        value = self._given[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise invalid(name, "must be a whole number")
        if isinstance(value, float) and not value.is_integer():  # infinities and NaN are no integers either
            raise invalid(name, "must be a whole number")
        if not 1 <= value <= greatest:
            raise invalid(name, f"must be from 1 to {greatest}")
        return int(value)

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """One of some words, blanks and case aside; an empty text is the default."""
        if name not in self._given:
            return default
        value = self._given[name]
        if not isinstance(value, str):
            raise invalid(name, "must be a string")
        if not value:
            return default
        word = value.strip().lower()
        if word not in choices:
            raise invalid(name, f"must be one of {', '.join(choices)}")
        return word

    def flag(self, name: str) -> bool:
        """True or false; false if left out."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise invalid(name, "must be true or false")
        return value


def invalid(field: str, reason: str) -> ServerError:
    """`MCP_INVALID_INPUT` with the member and the rule."""
    return ServerError(
        "MCP_INVALID_INPUT",
        "MCP tool input is invalid." if not field else f"MCP tool input is invalid: {field} {reason}.",
        details={"field": field, "reason": reason},
    )


def _shown(name: str) -> str:
    text = "".join(char if char.isprintable() else "?" for char in name)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

"""Checking a JSON document that a command takes: known members, their types, their bounds.

Errors name the member and the reason and never repeat the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ragit_mcp.errors import CommandError

__all__ = ["InputObject", "input_invalid"]

# C0 except tab, line feed and carriage return, and DEL (contract B); lone surrogates cannot be written as UTF-8.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MISSING: Final = object()


def input_invalid(member: str, reason: str) -> CommandError:
    """The error for a member of an input document.

    Args:
        member: its name, as `turns[3].role`; only names that ragit knows.
        reason: what it must be, in words that follow the name; becomes part of the message.
    """
    return CommandError(
        "INPUT_INVALID", f"Input: {member} {reason}.", details={"field": member, "reason": reason}
    )


class InputObject:
    """One object of an input document; every member is taken out by a method that says what it must be.

    Args:
        value: what the document holds in this place.
        members: the names it may have.
        place: where it stands, for messages; empty for the document itself.

    Raises:
        CommandError: `INPUT_INVALID`: no object, or a name that is unknown.
    """

    def __init__(self, value: object, members: Iterable[str], place: str = "") -> None:
        known = set(members)
        self._place = place
        if not isinstance(value, Mapping):
            raise input_invalid(place or "the document", "must be a JSON object")
        if not set(value) <= known:
            raise input_invalid(
                place or "the document", f"may only have the members {', '.join(sorted(known))}"
            )
        self._value: Mapping[str, Any] = value

    def has(self, name: str) -> bool:
        """Whether a member is there."""
        return name in self._value

    def text(self, name: str, *, limit: int, default: str | None = None) -> str:
        """A string that is not blank; stripped."""
        found = self._value.get(name, _MISSING)
        if found is _MISSING and default is not None:
            return default
        return self._checked_text(found, self._name(name), limit)

    def optional_text(self, name: str, *, limit: int) -> str | None:
        """A string that is not blank, or None if the member is absent or null."""
        return None if self._value.get(name) is None else self.text(name, limit=limit)

    def choice(self, name: str, choices: Sequence[str], *, default: str | None = None) -> str:
        """One of some strings."""
        found = self._value.get(name, default)
        if not isinstance(found, str) or found not in choices:
            raise input_invalid(self._name(name), f"must be one of {', '.join(choices)}")
        return found

    def flag(self, name: str) -> bool:
        """True or false; false if absent."""
        found = self._value.get(name, False)
        if not isinstance(found, bool):
            raise input_invalid(self._name(name), "must be true or false")
        return found

    def integer(self, name: str, *, least: int, greatest: int) -> int | None:
        """A whole number within bounds; None if absent."""
        found = self._value.get(name, _MISSING)
        if found is _MISSING:
            return None
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= greatest:
            raise input_invalid(self._name(name), f"must be a whole number from {least} to {greatest}")
        return found

    def fraction(self, name: str, *, default: float) -> float:
        """A number from 0 to 1."""
        found = self._value.get(name, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
            raise input_invalid(self._name(name), "must be a number from 0 to 1")
        return float(found)

    def texts(self, name: str, *, limit: int, items: int) -> tuple[str, ...]:
        """A list of strings that are not blank; empty if absent."""
        return tuple(
            self._checked_text(entry, place, limit) for place, entry in self._entries(name, items=items)
        )

    def objects(
        self, name: str, members: Iterable[str], *, items: int, required: bool = False
    ) -> list[InputObject]:
        """A list of objects with their own members."""
        if required and name not in self._value:
            raise input_invalid(self._name(name), "is missing")
        known = tuple(members)
        return [InputObject(entry, known, place) for place, entry in self._entries(name, items=items)]

    def nested(self, name: str, members: Iterable[str]) -> InputObject | None:
        """An object; None if absent or null."""
        found = self._value.get(name)
        return None if found is None else InputObject(found, members, self._name(name))

    def json_object(self, name: str, *, depth: int = 20, nodes: int = 10_000) -> dict[str, Any] | None:
        """Any JSON object, bounded; None if absent or null."""
        found = self._value.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise input_invalid(self._name(name), "must be a JSON object")
        self._check_json(found, self._name(name), depth, [nodes])
        return found

    def moment(self, name: str) -> datetime | None:
        """An ISO time with its offset from UTC; None if absent or null."""
        text = self.optional_text(name, limit=64)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise input_invalid(self._name(name), "must be an ISO time such as 2026-05-01T09:30:00Z")
        return found.astimezone(UTC)

    def _name(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _entries(self, name: str, *, items: int) -> list[tuple[str, Any]]:
        found = self._value.get(name)
        if found is None:
            return []
        if not isinstance(found, list) or len(found) > items:
            raise input_invalid(self._name(name), f"must be a list of at most {items} entries")
        return [(f"{self._name(name)}[{index}]", entry) for index, entry in enumerate(found)]

    @staticmethod
    def _checked_text(found: object, place: str, limit: int) -> str:
        if found is _MISSING:
            raise input_invalid(place, "is missing")
        if not isinstance(found, str):
            raise input_invalid(place, "must be a string")
        if _CONTROL.search(found):
            raise input_invalid(place, "holds a control character")
        text = found.strip()
        if not text:
            raise input_invalid(place, "must not be blank")
        if len(text) > limit:
            raise input_invalid(place, f"must have at most {limit} characters")
        return text

    def _check_json(self, value: Any, place: str, depth: int, left: list[int]) -> None:
        left[0] -= 1
        if depth < 0 or left[0] < 0:
            raise input_invalid(place, "is nested too deeply or has too many members")
        if isinstance(value, str):
            if _CONTROL.search(value):
                raise input_invalid(place, "holds a control character")
        elif isinstance(value, dict):
            for name, member in value.items():
                self._check_json(name, place, depth - 1, left)
                self._check_json(member, place, depth - 1, left)
        elif isinstance(value, list):
            for member in value:
                self._check_json(member, place, depth - 1, left)

"""Pages over answers that may be long: `limit`, an opaque `cursor`, `nextCursor`.

A cursor names the tool, a digest of its other arguments, the state of the repository it was made from and the position
reached. It is good for that state only: when a file has changed since, continuing could skip or repeat entries, so the
caller is told to list again. Cursors hold no secret and are not signed; a forged one can at most point elsewhere in an
answer the caller may read anyway.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

from mcpkit.errors import RequestFailure

__all__ = ["MAX_LIMIT", "HasState", "Page"]

MAX_LIMIT: Final = 1_000
"""Most entries one page holds."""

_MAX_CURSOR: Final = 1_024

T = TypeVar("T")


class HasState(Protocol):
    """What a cursor is bound to."""

    @property
    def state_token(self) -> str:
        """A short digest of the files and configuration an answer was made from."""


class Page:
    """Which part of an answer a call asks for.

    Args:
        tool: name of the tool.
        arguments: its other arguments; a cursor of different ones is refused.
        limit: entries wanted, already checked to be at least 1; more than `MAX_LIMIT` is clamped.
        cursor: `nextCursor` of the page before.

    Raises:
        RequestFailure: the cursor is not one of ours or was made by a call with other arguments.
    """

    __slots__ = ("_bound_to", "_start", "_state", "limit")

    def __init__(
        self, tool: str, arguments: Mapping[str, Any], limit: int | None, cursor: str | None
    ) -> None:
        text = json.dumps([tool, arguments], sort_keys=True)
        self._bound_to = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._state: str | None = None
        self._start = 0
        self.limit = None if limit is None else min(limit, MAX_LIMIT)
        if cursor is not None:
            bound_to, self._state, self._start, made_with = _read(cursor)
            if bound_to != self._bound_to:
                raise _refusal()
            self.limit = self.limit or made_with

    def cut(
        self, source: HasState, total: Callable[[], int], part: Callable[[int, int | None], T]
    ) -> tuple[T, dict[str, str]]:
        """The page itself and, when there is more, `{"nextCursor": ...}`.

        Args:
            source: the state the answer is made from.
            total: number of entries; asked only when a page is wanted.
            part: the entries from a first to a last-plus-one position, `None` for the end.

        Raises:
            RequestFailure: the cursor was made from another state of the repository.
        """
        if self.limit is None:
            return part(0, None), {}
        entries = total()
        if self._state is not None and (self._state != source.state_token or self._start > entries):
            raise _refusal()
        end = min(self._start + self.limit, entries)
        more = {"nextCursor": self._next_cursor(end, source)} if end < entries else {}
        return part(self._start, end), more

    def _next_cursor(self, end: int, source: HasState) -> str:
        text = json.dumps([self._bound_to, source.state_token, end, self.limit], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[str, str, int, int]:
    try:
        if len(cursor) > _MAX_CURSOR:
            raise _refusal()
        padded = cursor + "=" * (-len(cursor) % 4)
        value = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (binascii.Error, UnicodeError, ValueError, RecursionError):
        raise _refusal() from None
    match value:
        case [str() as bound_to, str() as state, int() as start, int() as limit] if (
            type(start) is int and type(limit) is int and start >= 0 and 1 <= limit <= MAX_LIMIT
        ):
            return bound_to, state, start, limit
        case _:
            raise _refusal()


def _refusal() -> RequestFailure:
    return RequestFailure(
        "cursor is not valid here: it belongs to another call, or files have changed since; list again without it",
        kind="invalid_arguments",
        data={"field": "cursor"},
    )

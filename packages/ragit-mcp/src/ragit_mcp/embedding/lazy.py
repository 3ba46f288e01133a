"""A value that is made when it is first needed, by whichever thread that is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Lazy"]

T = TypeVar("T")


class Lazy(Generic[T]):
    """One value, made at most once at a time and kept when making it succeeded.

    Whoever asks while it is being made waits for it. A failure is not kept: the next call tries again, so that a
    server need not be restarted once a missing file has come.

    Args:
        make: makes the value.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: tuple[T] | None = None

    @property
    def ready(self) -> bool:
        """Whether the value exists, so that `get` will not wait."""
        return self._made is not None

    def get(self) -> T:
        """The value; raises whatever making it raises."""
        made = self._made
        if made is None:
            with self._lock:
                made = self._made
                if made is None:
                    made = self._made = (self._make(),)
        return made[0]

"""When a request is repeated, and how long to wait before (contract A11)."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

__all__ = ["MAX_RETRY_AFTER_SECONDS", "RetryPolicy", "may_succeed_later"]

#: A service that wants a longer pause is given up: nobody waits that long for an answer.
MAX_RETRY_AFTER_SECONDS: Final = 60.0
_SECONDS: Final = re.compile(r"[0-9]{1,6}", re.ASCII)


def may_succeed_later(status: int) -> bool:
    """Whether an HTTP status is worth another try: too many requests, or a fault of the service's own."""
    return status == 429 or 500 <= status <= 599


def _jitter() -> float:
    return random.uniform(0.85, 1.15)  # noqa: S311 - spreads retries, protects nothing


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Pauses before each further try.

    Attributes:
        delays_ms: one a retry, in milliseconds.
        jitter: factor for each pause, so that clients that failed together do not come back together.
        now: seconds since the epoch, to read a date in Retry-After.
    """

    delays_ms: tuple[int, ...]
    jitter: Callable[[], float] = field(default=_jitter)
    now: Callable[[], float] = field(default=time.time)

    def pause(self, retry: int, retry_after: str | None) -> float | None:
        """Seconds to wait before a retry; None to give up.

        Args:
            retry: 0 before the second try.
            retry_after: the header of that name; if the service asks for longer than planned, it gets it.
        """
        if retry >= len(self.delays_ms):
            return None
        planned = self.delays_ms[retry] / 1000 * self.jitter()
        asked = self._asked(retry_after)
        return None if asked > MAX_RETRY_AFTER_SECONDS else max(planned, asked)

    def _asked(self, header: str | None) -> float:
        text = (header or "").strip()
        if _SECONDS.fullmatch(text):
            return float(text)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - self.now()) if text else 0.0
        except (ValueError, OverflowError, TypeError):
            return 0.0

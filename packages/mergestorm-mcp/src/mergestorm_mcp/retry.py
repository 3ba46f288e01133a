"""When a failed read is tried again, and after how long (contract 3.5). Writes never are."""

from __future__ import annotations

import random
from typing import Final

__all__ = ["MAX_RETRIES", "backoff_seconds", "is_transient_status"]

MAX_RETRIES: Final = 3
"""Retries in a row before a wait gives up."""

_FIRST: Final = 0.25
_LONGEST: Final = 5.0


def is_transient_status(status: int) -> bool:
    """Whether an answer may be different soon: 408, 429 and 5xx."""
    return status in {408, 429} or status >= 500


def backoff_seconds(attempt: int, retry_after: float | None, jitter: random.Random) -> float:
    """Seconds before a retry: 250 ms doubled each time, half of it by chance, never less than the service asks.

    Args:
        attempt: which retry, from 1.
        retry_after: the service's delay, if it named one.
        jitter: the chance.
    """
    own = min(_LONGEST, _FIRST * 2.0 ** (attempt - 1) * jitter.uniform(0.5, 1.0))
    return max(own, retry_after or 0.0)

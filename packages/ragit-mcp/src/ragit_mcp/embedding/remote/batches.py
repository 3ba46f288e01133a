"""Dividing texts into requests (contract A11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["BatchPolicy", "batch_lengths", "in_batches"]


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    """How much one request holds: number of texts, and their bytes in UTF-8. A longer text goes alone."""

    max_items: int
    max_bytes: int


def batch_lengths(sizes: Sequence[int], policy: BatchPolicy) -> list[int]:
    """How many texts go into each request, in order, given their sizes in bytes."""
    lengths: list[int] = []
    room_items = room_bytes = 0
    for size in sizes:
        if not lengths or room_items == 0 or size > room_bytes:
            lengths.append(0)
            room_items, room_bytes = policy.max_items, policy.max_bytes
        lengths[-1] += 1
        room_items -= 1
        room_bytes -= size
    return lengths


def in_batches(texts: Sequence[str], policy: BatchPolicy) -> list[Sequence[str]]:
    """The texts of each request, in order."""
    batches: list[Sequence[str]] = []
    start = 0
    for length in batch_lengths([len(text.encode("utf-8")) for text in texts], policy):
        batches.append(texts[start : start + length])
        start += length
    return batches

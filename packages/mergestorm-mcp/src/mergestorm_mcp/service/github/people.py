"""Who the commits of the service are made by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["SURGE", "CommitAuthor"]


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """A name and an address, without line breaks or angle brackets."""

    name: str
    email: str

    def line(self, when: datetime) -> bytes:
        """The person as a commit names it, at a time in UTC."""
        return f"{self.name} <{self.email}> {int(when.timestamp())} +0000".encode()


SURGE = CommitAuthor("mergestorm-surge[bot]", "surge[bot]@mergestorm.invalid")
"""The App that writes branches, merges and pull requests."""

"""Who the commits of the service are made by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

__all__ = ["SURGE", "SURGE_LOGIN", "CommitAuthor"]


@dataclass(frozen=True, slots=True)
class CommitAuthor:
    """A name and an address, without line breaks or angle brackets."""

    name: str
    email: str

    def line(self, when: datetime) -> bytes:
        """The person as a commit names it, at a time in UTC."""
        return f"{self.name} <{self.email}> {int(when.timestamp())} +0000".encode()


SURGE_LOGIN: Final = "mergestorm-surge[bot]"
"""Author of the pull requests and issues that the App opens."""

SURGE = CommitAuthor(SURGE_LOGIN, "surge[bot]@mergestorm.invalid")
"""The App that writes branches, merges and pull requests."""

"""What the server tells an agent before its first call."""

from __future__ import annotations

from typing import Final

__all__ = ["INSTRUCTIONS"]

INSTRUCTIONS: Final = "Mergestorm: AI reviews, stacked pull requests and a merge queue."

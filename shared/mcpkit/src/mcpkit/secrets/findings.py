"""What a rule reports: where a secret stands and how much of it may stay readable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MARK", "Finding"]

MARK: Final = "***"
"""What stands for the hidden part of a secret."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret in a text.

    Attributes:
        kind: stable identifier such as `github_token`, `private_key` or `password`.
        start: position of the secret's first character.
        end: position after its last character.
        visible: how many of its first characters may stay readable; 0 hides it whole.
        example: the value is hidden all the same but is one that documentation shows everywhere
            (`postgres://user:password@host`, AWS's `...EXAMPLE` key ids). It is no sign of a leak.
    """

    kind: str
    start: int
    end: int
    visible: int = 0
    example: bool = False

    @property
    def hidden_from(self) -> int:
        """Position of the first character to hide."""
        return self.start + self.visible

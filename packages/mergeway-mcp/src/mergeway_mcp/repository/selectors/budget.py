"""The bounds of selectors, and what happens when one is met."""

from __future__ import annotations

from typing import Final

#: Nodes one evaluation may visit, everything it compares and searches counted in.
MAX_VISITS: Final = 5_000_000
#: Characters of a selector, and how deep its filters may nest.
MAX_SELECTOR_LENGTH: Final = 10_000
MAX_NESTING: Final = 64


class SelectorFault(Exception):
    """A selector that cannot be read or evaluated.

    Attributes:
        reason: What is wrong and how to mend it, fit for a client.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Budget:
    """What is left of the visits of one evaluation."""

    __slots__ = ("_left",)

    def __init__(self, visits: int = MAX_VISITS) -> None:
        self._left = visits

    def spend(self, visits: int) -> None:
        """Take some.

        Raises:
            SelectorFault: Too few are left.
        """
        self._left -= visits
        if self._left < 0:
            raise SelectorFault("the selector visits too many nodes of this file; make it more direct")

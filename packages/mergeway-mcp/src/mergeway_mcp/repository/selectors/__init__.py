"""JSONPath (RFC 9535) with a budget, so that no selector and no document makes it run away.

The libraries there are bound neither the nodes they visit nor the regular expressions they are given; hence a small
reader of our own. Maps are walked in document order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .budget import Budget, SelectorFault
from .evaluation import evaluate
from .syntax import Query, parse

__all__ = ["Selector", "SelectorFault", "compile_selector"]


class Selector:
    """A selector ready to be evaluated."""

    __slots__ = ("_query",)

    def __init__(self, query: Query) -> None:
        self._query = query

    def find(self, document: Any) -> list[Any]:
        """The values selected, in document order.

        Args:
            document: Plain data whose keys are all text.

        Raises:
            SelectorFault: The work or the number of matches exceeds its bound.
        """
        return evaluate(self._query, document, Budget())


@lru_cache(maxsize=256)
def compile_selector(text: str) -> Selector:
    """Read a selector.

    Raises:
        SelectorFault: It is no RFC 9535 query, or too long or too deeply nested.
    """
    return Selector(parse(text))

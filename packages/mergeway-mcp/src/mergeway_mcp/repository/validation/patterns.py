"""Patterns of fields and identifiers, on RE2: no pattern and no text makes a search run away.

A pattern matches when it is found anywhere in the text; one that must match all of it says so with ^ and $.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Literal

MAX_PATTERN_CHARACTERS: Final = 10_000
_MAX_MEMORY: Final = 8 << 20

PatternOutcome = Literal["matches", "differs", "malformed"]


def search(pattern: str, text: str) -> PatternOutcome:
    """Look for a pattern in a text.

    Args:
        pattern: In RE2's syntax.
        text: Half a surrogate pair in it never matches.
    """
    expression = compile_pattern(pattern)
    if expression is None:
        return "malformed"
    try:
        return "matches" if expression.search(text) is not None else "differs"
    except UnicodeEncodeError:
        return "differs"


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Any:
    """The pattern ready to search with, or None when RE2 cannot read it or it exceeds its bounds."""
    import re2  # type: ignore[import-untyped]  # only repositories with patterns pay for its import

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return None

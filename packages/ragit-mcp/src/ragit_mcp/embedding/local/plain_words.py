"""Text as a model of single words sees it best: lower case, identifiers taken apart, no punctuation.

The default model has one vector a token and knows nothing of order, so `WorkTree`, `work_tree` and "the work tree" should
come out alike, and commas, table bars and list marks should not count as words.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["plain_words"]

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])", re.ASCII)
# Punctuation and symbols by block. Letters, digits and combining marks of every script stay.
_NO_WORD: Final = re.compile(
    "[\\x00-/:-@\\[-`{-\\xa9\\xab-\\xb1\\xb4\\xb6-\\xb8\\xbb\\xbf\\xd7\\xf7\u2000-\u206f\u20a0-\u20cf\u2190-\u2bff"
    "\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\ufe30-\ufe6f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
    "\U0001f000-\U0001faff]+"
)


def plain_words(text: str) -> str:
    """The words of a text in lower case, one space between them."""
    return _NO_WORD.sub(" ", _CAMEL.sub(" ", text)).strip().lower()

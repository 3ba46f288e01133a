"""Text that somebody else wrote, made fit to be shown.

Messages, titles and names come from a service, a pull request or a repository. Before they are shown they lose what a
terminal would obey and what readers cannot see: escape sequences, control characters, and the characters that turn
text around or hide it (Unicode bidirectional controls, zero-width ones).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["plain", "short_json"]

# ECMA-48: CSI and OSC sequences, then any other two-character escape.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL
)
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)


def plain(text: str, limit: int = 2000) -> str:
    """`text` without escapes, control and invisible characters, at most `limit` characters long."""
    clean = _UNSEEN.sub("", _ESCAPES.sub("", text[: 4 * limit]))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def short_json(value: Any, limit: int = 400) -> str:
    """A reply's body as one short line, for a message that has nothing better to say."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return plain(" ".join(text[: 8 * limit].split()), limit)

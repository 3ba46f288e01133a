"""Text that somebody else wrote, made fit to be shown.

Messages, titles and names come from a service, a pull request or a repository. Before they are shown they lose what a
terminal would obey and what readers cannot see: escape sequences, control characters, and the characters that turn
text around or hide it (Unicode bidirectional controls, zero-width ones).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

__all__ = ["one_line", "plain", "short_json", "without_watch_mark"]

# ECMA-48: CSI and OSC sequences, then any other two-character escape.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL
)
# What the lines of `mg stack watch` begin with, which hosts act upon.
_WATCH_MARK: Final = re.compile(r"MS-WATCH", re.IGNORECASE)
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def plain(text: str, limit: int = 2000) -> str:
    """`text` without escapes, control and invisible characters, at most `limit` characters long."""
    clean = _UNSEEN.sub("", _ESCAPES.sub("", text[: 4 * limit]))
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def one_line(text: str, limit: int = 300) -> str:
    """`text` as `plain` leaves it, on one line: for a name or a sentence that stands among others in a message."""
    return " ".join(plain(" ".join(text[: 4 * limit].split()), limit).split())


def without_watch_mark(text: str) -> str:
    """`text` with nothing in it that a host could take for a line of `mg stack watch`, wherever in a line it looks."""
    return _WATCH_MARK.sub("MS_WATCH", text)


def short_json(value: Any, limit: int = 400) -> str:
    """A reply's body as one short line, for a message that has nothing better to say."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return plain(" ".join(text[: 8 * limit].split()), limit)

"""Text of a repository as it may safely reach a terminal or a log.

Documents, file names, identifiers and messages that somebody else wrote can hold escape sequences that repaint the
screen, line ends that forge a log's next line, and characters that turn text round or hide it. Whatever has no visible
shape is shown as its code.

Standard library only; engines put it into their messages, too.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["one_line", "visible", "visible_json"]

# Printable ASCII needs no look; everything else is asked for one by one.
_SUSPECT: Final = re.compile(r"[^ -~]")
# In JSON the C0 controls are escaped already; DEL, C1, format characters and lone surrogates are not.
_UNSEEN_IN_JSON: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    r"""The text with every character that has no visible shape written as `\x1b`, `\u202e` or `\U000e0001`."""
    return _SUSPECT.sub(_shown, text)


def one_line(text: str) -> str:
    """`visible`, with white space of every kind as single spaces."""
    return visible(" ".join(text.split()))


def visible_json(text: str) -> str:
    r"""A JSON document in which such characters are escapes, so that its meaning stays and a terminal obeys nothing."""
    return _UNSEEN_IN_JSON.sub(_json_escape, text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"

"""Text of a repository as it may safely reach a terminal or a log.

File names, identifiers and messages of a repository that somebody else wrote can hold escape sequences that repaint the
screen, line ends that forge a log's next line, and characters that reverse or hide text. Whatever has no visible shape
is shown as its code.
"""

from __future__ import annotations

import re
from typing import Final

# Printable ASCII needs no look; everything else is asked for one by one.
_SUSPECT: Final = re.compile(r"[^ -~]")


def visible(text: str) -> str:
    r"""A text with every character that has no visible shape written as `\\x1b`, `\\u202e` or `\\U000e0001`."""
    return _SUSPECT.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character.isprintable():
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"

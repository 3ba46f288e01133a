"""Repository paths, which git keeps as bytes: how they become `str`, how they come back, how they are shown.

Inside ragit a path is the `str` that decodes its bytes as UTF-8 with surrogate escapes, on every platform: nothing is
lost, and equal bytes give equal strings. Such a string may hold lone surrogates or control characters, so it never
goes into a reply, a log or a terminal as it is: `show_path` says it in printable characters that differ whenever the
paths differ.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["path_from_git", "path_to_git", "show_path"]

# What every path in practice consists of; such a path is shown as it is without a look at each character.
_PLAIN: Final = re.compile(r"[ -\[\]-~]*", re.ASCII)
# Controls, format characters (direction and zero width), separators of lines, and what no character is assigned to.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def path_from_git(raw: bytes) -> str:
    """The path that git names by these bytes."""
    return raw.decode("utf-8", "surrogateescape")


def path_to_git(path: str) -> bytes:
    """The bytes of a path that came from `path_from_git`.

    Raises:
        UnicodeEncodeError: the string holds a surrogate that no byte decodes to.
    """
    return path.encode("utf-8", "surrogateescape")


def show_path(path: str) -> str:
    r"""A path in printable characters.

    A byte that is not UTF-8 becomes `\xNN`, a character that cannot be seen or that steers a terminal `\u{NN}`, and a
    backslash `\\`, so that two paths never look alike.
    """
    if _PLAIN.fullmatch(path):
        return path
    return "".join(map(_show_character, path))


def _show_character(character: str) -> str:
    code = ord(character)
    if character == "\\":
        return "\\\\"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return f"\\u{{{code:x}}}"
    return character

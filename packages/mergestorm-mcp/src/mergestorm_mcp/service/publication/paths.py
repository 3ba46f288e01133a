"""Which paths a commit may hold: those every checkout can hold, on any file system, without touching `.git`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_publishable_path"]

_MAX_PATH: Final = 4096
_MAX_DEPTH: Final = 256
# HFS+ leaves these characters out when it compares names (git's is_hfs_dotgit).
_IGNORED: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def is_publishable_path(path: str) -> bool:
    """Whether a path is UTF-8, of bearable length, and has no part that means something else to git or a file system."""
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    parts = path.split("/")
    if b"\0" in encoded or len(encoded) > _MAX_PATH or len(parts) > _MAX_DEPTH:
        return False
    return not any(part in {"", ".", ".."} or any(map(_is_git_directory, part.split("\\"))) for part in parts)


def _is_git_directory(part: str) -> bool:
    # Windows takes a backslash for a separator, hence its parts are looked at as well. NTFS takes `.git.`, `.git ` and `.git::$INDEX_ALLOCATION` for `.git`, and `git~1` is its short name.
    name = _IGNORED.sub("", part).casefold().partition(":")[0].rstrip(". ")
    return name in {".git", "git~1"}

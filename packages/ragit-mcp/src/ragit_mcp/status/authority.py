"""The index of canonical documents, `.ragit/docs/index.json` (contract A5); the commands that keep it come later."""

from __future__ import annotations

import json
import os
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below

__all__ = ["INDEX_PATH", "describe_authority"]

INDEX_PATH: Final = ".ragit/docs/index.json"
_MAX_BYTES: Final = 32 << 20


def describe_authority(root: str | os.PathLike[str]) -> dict[str, Any]:
    """The member `docsAuthority` of status; zeros where there is no index that can be read."""
    answer: dict[str, Any] = {
        "tracked": 0,
        "violations": 0,
        "lastReconciledAt": None,
        "indexPath": INDEX_PATH,
    }
    try:
        value = json.loads(read_below(root, INDEX_PATH, max_bytes=_MAX_BYTES))
    except (FileAccessError, ValueError, RecursionError):
        return answer
    if isinstance(value, dict):
        for member in ("tracked", "violations"):
            count = value.get(member)
            if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
                answer[member] = count
        time = value.get("lastReconciledAt")
        if isinstance(time, str) and len(time) <= 64:
            answer["lastReconciledAt"] = time
    return answer

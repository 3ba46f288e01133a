"""What a publication may hold (contract section 5). All is checked before contents are read."""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_BODY",
    "MAX_COMMITS",
    "MAX_COMMIT_BYTES",
    "MAX_FILE_BYTES",
    "MAX_PATHS",
    "MAX_TITLE",
    "MAX_TOTAL_BYTES",
]

MAX_COMMITS: Final = 20

MAX_PATHS: Final = 500
"""Different paths over all commits."""

MAX_FILE_BYTES: Final = 2 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 8 * 1024 * 1024
"""Sum of the different contents."""

MAX_COMMIT_BYTES: Final = 256 * 1024
"""One commit object, message and signature included; git itself knows no limit."""

# GitHub's own limits for a pull request.
MAX_TITLE: Final = 256
MAX_BODY: Final = 65_536

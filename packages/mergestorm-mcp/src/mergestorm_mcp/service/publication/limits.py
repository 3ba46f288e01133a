"""How much one publication may hold (contract section 5), and GitHub's limits for a pull request."""

from __future__ import annotations

from typing import Final

__all__ = [
    "MAX_BODY",
    "MAX_BRANCH",
    "MAX_COMMITS",
    "MAX_COMMIT_BYTES",
    "MAX_FILE_BYTES",
    "MAX_PATHS",
    "MAX_REQUEST_BYTES",
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
MAX_TITLE: Final = 256
MAX_BODY: Final = 65_536
MAX_BRANCH: Final = 255

MAX_REQUEST_BYTES: Final = 48 * 1024 * 1024
"""The contents in base64, twenty largest commits twice, and 20 times 500 changes with long names."""

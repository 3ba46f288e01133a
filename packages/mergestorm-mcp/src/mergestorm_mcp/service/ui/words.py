"""Words for what the service keeps as codes."""

from __future__ import annotations

from typing import Final

__all__ = ["plain"]

_WORDS: Final = {
    "vortex_not_green": "the review is not green yet",
    "seam_not_green": "the seam review is not green yet",
    "ci_pending": "checks are running",
    "ci_failure": "a check fails",
    "merge_conflict": "it conflicts with its base",
    "conflict_unchanged": "the conflict of the last bounce is still there",
    "mergeability_unknown": "it is not known whether it merges",
    "missing_head": "its branch or its base is gone",
    "pr_draft": "it is a draft",
    "promote_merge_failed": "it could not be merged into the unit",
    "readiness_check_failed": "the queue did not take it",
    "cyclone_not_connected": "Cyclone is not connected",
    "user": "switched off by a person",
    "bounced": "bounced out of the queue",
    "cancelled": "taken out of the queue",
    "archive": "the stack was archived",
    "land_pr": "land PR",
    "ci": "checks",
}


def plain(code: str) -> str:
    """A code in plain words; one without an entry of its own with spaces for underscores."""
    return _WORDS.get(code, code.replace("_", " "))

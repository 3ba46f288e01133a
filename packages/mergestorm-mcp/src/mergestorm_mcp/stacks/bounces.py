"""What the merge queue threw back (contract 1.4, 3.15 A.14 and C.1).

Only the newest finished bounce speaks, only about the head and pull request it was for, and only until it was reported.
"""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.model import Bounce, Layer, QueueEntry, Stack, moment
from mergestorm_mcp.text import one_line

__all__ = ["bounce_label", "disarming_bounce", "newest_bounce", "standing_bounce"]

_WORDS: Final = {
    "ci_failure": "CI failed",
    "ci_timeout": "CI timed out",
    "head_moved": "head moved",
    "seam_findings": "seam review findings",
    "restack_conflict": "restack conflict",
    "pr_draft": "draft PR",
    "must_consolidate": "needs promote",
    "merge_failed": "merge failed",
    "gh_error": "GitHub error",
}

_RECOVERABLE: Final = frozenset({"head_moved", "must_consolidate"})
"""Bounces the service mends by itself."""

_DISARMING: Final = frozenset({"merge_failed", "gh_error", "ci_timeout"})
"""Bounces that switch Auto land off."""


def bounce_label(entry: QueueEntry) -> str:
    """A bounce in words: what happened, and the most telling detail."""
    bounce = entry.bounce
    words = _WORDS.get(bounce.kind) if bounce is not None else None
    if bounce is None or words is None:
        return one_line(entry.bounce_reason or "") or "bounced"
    detail = _detail(bounce)
    label = f"{words} — {detail}" if detail else words
    if bounce.batch_with:
        label += f" in a red batch with {', '.join(f'#{number}' for number in bounce.batch_with[:10])}"
    return label


def newest_bounce(entries: tuple[QueueEntry, ...]) -> QueueEntry | None:
    """The bounce that finished last."""
    bounced = [entry for entry in entries if entry.state == "bounced"]
    return max(bounced, key=lambda entry: _time(entry.finished_at), default=None)


def standing_bounce(
    layer: Layer, entries: tuple[QueueEntry, ...], cursor: Cursor | None
) -> QueueEntry | None:
    """The bounce that still stands against a layer and was not reported yet (rule A.14)."""
    entry = newest_bounce(entries)
    if entry is None or entry.bounce is None or entry.bounce.kind in _RECOVERABLE:
        return None
    if any(other.live for other in entries) or not _is_about(entry, layer):
        return None
    if cursor is not None and cursor.reported(entry):
        return None
    if entry.bounce.kind == "ci_failure" and not entry.bounce.in_batch and _all_green(layer):
        return None
    return entry


def draft_bounce(layer: Layer, entries: tuple[QueueEntry, ...], cursor: Cursor | None) -> QueueEntry | None:
    """The newest bounce if it is of this layer for being a draft (rule A.4)."""
    entry = newest_bounce(entries)
    if (
        entry is None
        or entry.bounce is None
        or entry.bounce.kind != "pr_draft"
        or not _is_about(entry, layer)
    ):
        return None
    return None if cursor is not None and cursor.reported(entry) else entry


def disarming_bounce(stack: Stack, entries: tuple[QueueEntry, ...]) -> QueueEntry | None:
    """The bounce that switched Auto land off (rule C.1).

    A service that records the reason is believed. From an older one, the newest entry must itself be such a bounce:
    anything enqueued later means that somebody armed the stack again.
    """
    if stack.archived or stack.auto_land is not False:
        return None
    if stack.off_record_known:
        record = stack.auto_land_off
        if record is None or record.reason != "bounced" or record.entry_id is None:
            return None
        entry = next((item for item in entries if item.id == record.entry_id), None)
    else:
        entry = max(
            entries, key=lambda item: (_time(item.enqueued_at), _time(item.finished_at)), default=None
        )
    disarms = entry is not None and entry.state == "bounced" and entry.bounce is not None
    return entry if disarms and entry is not None and _kind(entry) in _DISARMING else None


def _kind(entry: QueueEntry) -> str | None:
    return entry.bounce.kind if entry.bounce is not None else None


def _is_about(entry: QueueEntry, layer: Layer) -> bool:
    number = entry.bounce.pr_number if entry.bounce is not None else None
    return layer.at_head(entry.bounce_head) and number in {None, layer.pr_number}


def _detail(bounce: Bounce) -> str:
    candidates = (
        bounce.failing_check,
        bounce.conflict_branch,
        ", ".join(bounce.conflict_paths) or None,
        bounce.message,
        f"PR #{bounce.pr_number}" if bounce.pr_number else None,
    )
    return one_line(next((text for text in candidates if text), ""))


def _all_green(layer: Layer) -> bool:
    checks = layer.checks
    if checks is None or layer.ci_status != "success":
        return False
    return checks.total > 0 and checks.failure == 0 and checks.pending == 0 and checks.success > 0


def _time(text: str | None) -> float:
    read = moment(text)
    return float("-inf") if read is None else read

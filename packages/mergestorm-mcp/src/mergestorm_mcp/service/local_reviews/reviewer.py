"""What happens to a job as time goes by: taken up, then reviewed by the rules that also review pull requests."""

from __future__ import annotations

import json
import sqlite3
from typing import Any, Final

from mergestorm_mcp.service import knobs
from mergestorm_mcp.service.accounts.credits import refund
from mergestorm_mcp.service.agents.rules import MAX_FINDINGS, Raised, review
from mergestorm_mcp.service.agents.script import ReviewerScript
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.pr_reviews.diffs import changed_files
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.timeline import Timeline, schedule
from mergestorm_mcp.service.world import World

__all__ = ["BEGIN", "QUEUED_SECONDS", "REVIEW_SECONDS", "SPECIALISTS", "register_events"]

BEGIN: Final = "local_review.begin"
_FINISH: Final = "local_review.finish"

QUEUED_SECONDS: Final = 2.0
REVIEW_SECONDS: Final = 20.0

SPECIALISTS: Final = frozenset({
    "api",
    "architecture",
    "data",
    "frontend",
    "performance",
    "security",
    "tests",
})
"""Those a review can ask for."""

_STANDARD: Final = ("architecture", "security")


def register_events(timeline: Timeline) -> None:
    """Take the two events of a job."""
    timeline.register(BEGIN, _begin)
    timeline.register(_FINISH, _finish)


def _begin(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    connection.execute("UPDATE review_jobs SET status = 'in_progress' WHERE id = ?", (payload["job"],))
    seconds = knobs.dial(connection, "local_review.seconds", REVIEW_SECONDS)
    schedule(connection, _FINISH, payload, world.pace.after(seconds))


def _finish(world: World, connection: sqlite3.Connection, payload: dict[str, Any]) -> None:
    job = connection.execute("SELECT * FROM review_jobs WHERE id = ?", (payload["job"],)).fetchone()
    script = ReviewerScript.model_validate(knobs.dial(connection, "local_review.reviewer", {}))
    now = iso(world.pace.now())
    patch = job["diff"].encode("utf-8")
    connection.execute("UPDATE threads SET last_activity_at = ? WHERE id = ?", (now, job["thread_id"]))
    if b"\n@@ " not in b"\n" + patch and b"Binary files " not in patch and b"diff --git " not in patch:
        connection.execute(
            "UPDATE review_jobs SET status = 'failed', error = ?, finished_at = ?, diff = NULL WHERE id = ?",
            ("The diff has no changes that can be read; send a unified diff.", now, job["id"]),
        )
        refund(world, connection, job["id"])
        record(world, connection, "review", "A submitted review failed.", account_id=job["account_id"])
        return
    specialists = _specialists(job["router_mode"], json.loads(job["specialists_requested_json"]))
    files = changed_files(patch)
    found = review(script, files, "core")
    found = [each for each in found if each.specialist not in SPECIALISTS or each.specialist in specialists]
    summary = _summary(found, len(files))
    record(
        world,
        connection,
        "review",
        f"Review of {job['head_label']} against {job['base_label']}: {summary}",
        account_id=job["account_id"],
    )
    connection.execute(
        "UPDATE review_jobs SET status = 'completed', verdict = ?, summary = ?, findings_json = ?, truncated = ?, "
        "specialists_run_json = ?, finished_at = ?, diff = NULL WHERE id = ?",
        (
            _verdict(found),
            summary,
            json.dumps({
                "specialists_run": specialists,
                "inline": [_shown(each) for each in found if each.where == "inline"],
                "off_diff": [_shown(each) for each in found if each.where != "inline"],
            }),
            len(found) >= MAX_FINDINGS,
            json.dumps(specialists),
            now,
            job["id"],
        ),
    )


def _specialists(router: str, requested: list[str]) -> list[str]:
    return sorted({"off": (), "standard": _STANDARD, "max": SPECIALISTS}.get(router, requested))


def _verdict(found: list[Raised]) -> str:
    severities = {each.severity for each in found}
    if "error" in severities:
        return "request_changes"
    return "comment" if severities else "approve"


def _summary(found: list[Raised], files: int) -> str:
    changed = f"{files} changed {'file' if files == 1 else 'files'}"
    if not found:
        return f"Nothing to object to in {changed}."
    return f"{len(found)} {'finding' if len(found) == 1 else 'findings'} in {changed}."


def _shown(each: Raised) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "severity": each.severity,
        "title": each.title,
        "body": each.body,
        "specialist": each.specialist,
    }
    if each.path is not None:
        shown["path"] = each.path
    if each.line is not None:
        shown["line"] = each.line
    return shown

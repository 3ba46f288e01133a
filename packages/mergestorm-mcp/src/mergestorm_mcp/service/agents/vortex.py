"""Vortex: reviews heads of pull requests, on their own (core) and together with the unit they go into (seam)."""

from __future__ import annotations

import sqlite3
from typing import Final

from mergestorm_mcp.service.accounts.credits import charge, refund
from mergestorm_mcp.service.agents.rules import Raised, review
from mergestorm_mcp.service.agents.script import ReviewerScript
from mergestorm_mcp.service.agents.scripts import count, script_of
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.pr_reviews.diffs import changed_files, diff_id
from mergestorm_mcp.service.pr_reviews.passes import (
    COMMENT_ID_BASE,
    add_pass,
    passes_at,
)
from mergestorm_mcp.service.pr_reviews.verdict import UNDER_WAY, verdict_of
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.policy import paying_account, reviews_land_pulls, skip_reason
from mergestorm_mcp.service.stacks.records import member_of, stack_of_pull
from mergestorm_mcp.service.stacks.site import UNIT_PREFIX, Site
from mergestorm_mcp.service.timeline import schedule

__all__ = ["FINISH", "RETRY", "START", "finish", "request", "request_seam", "retry", "start", "stop_older"]

START: Final = "vortex.start"
FINISH: Final = "vortex.finish"
RETRY: Final = "vortex.retry"

_RETRY_SECONDS: Final = 60.0
_ATTEMPTS: Final = 3
_MAX_BODY: Final = 4000


def request(site: Site, pull: Pull, head: str) -> None:
    """Have a head reviewed, unless it was or is being; where reviews are off, note why not.

    A skipped head is asked for again when what made Vortex skip it has changed.
    """
    earlier = passes_at(site.connection, site.repo_id, pull.number, head)
    if any(item["status"] != "skipped" for item in earlier):
        return
    stack = stack_of_pull(site.connection, site.repo_id, pull.number)
    reason = skip_reason(site, stack, pull)
    if reason is None and pull.head_branch.startswith(UNIT_PREFIX) and not reviews_land_pulls(site, stack):
        return
    if reason is not None:
        _skip(site, pull, head, reason, earlier)
        return
    _queue(site, pull, head, "core")


def request_seam(site: Site, pull: Pull, head: str) -> bool:
    """Have a member reviewed together with its unit, unless that is under way at this head; says whether it began."""
    earlier = passes_at(site.connection, site.repo_id, pull.number, head, "seam")
    if any(item["status"] in UNDER_WAY for item in earlier):
        return False
    pass_id = _queue(site, pull, head, "seam")
    member = member_of(site.connection, site.repo_id, pull.number)
    again = member is not None and member["seam_state"] in {
        "findings",
        "approved",
        "failed",
        "pending_rereview",
    }
    site.connection.execute(
        "UPDATE members SET seam_state = ?, seam_pass = ? WHERE pull_number = ? AND unit_id = ?",
        (
            "pending_rereview" if again else "pending",
            pass_id,
            pull.number,
            member["unit_id"] if member else "",
        ),
    )
    return True


def stop_older(site: Site, number: int, head: str | None) -> None:
    """End the reviews of a pull request that are under way at another head."""
    site.connection.execute(
        "UPDATE passes SET status = 'stopped', phase = NULL, finished_at = ? WHERE repo_id = ? AND pull_number = ?"
        " AND head_sha IS NOT ? AND status IN ('queued', 'reviewing')",
        (site.now(), site.repo_id, number, head),
    )


def start(site: Site, item: sqlite3.Row) -> None:
    """Begin a queued review. Event `vortex.start`."""
    if item["status"] != "queued":
        return
    site.connection.execute(
        "UPDATE passes SET status = 'reviewing', phase = 'fanout', started_at = ? WHERE id = ?",
        (site.now(), item["id"]),
    )
    if item["kind"] == "seam":
        site.connection.execute(
            "UPDATE members SET seam_state = 'reviewing' WHERE seam_pass = ?", (item["id"],)
        )
    seconds = script_of(site.connection, site.repo_id).reviewer.seconds
    schedule(site.connection, FINISH, _payload(site, item["id"]), site.world.pace.after(seconds))
    _tell(site, item, "Vortex reviews")


def finish(site: Site, item: sqlite3.Row, pull: Pull) -> None:
    """Bring a review to its verdict. Event `vortex.finish`."""
    if item["status"] != "reviewing":
        return
    script = script_of(site.connection, site.repo_id).reviewer
    kind = item["kind"]
    if kind == "core" and count(site.connection, site.repo_id, f"reviews {pull.number}") < script.failures:
        _fail(site, item, pull)
        return
    head: str = item["head_sha"]
    base = site.git.head(pull.base_branch)
    patch = site.git.patch(site.diff_base(base, head), head) if base is not None else b""
    files = changed_files(patch)
    limit = script.incomplete_above
    partly = kind == "core" and limit is not None and len(files) > limit
    own_id = diff_id(patch)
    known = _dismissed_keys(site, pull.number, own_id)
    raised = [
        finding
        for finding in review(script, files[:limit] if partly else files, kind)
        if finding.key not in known
    ]
    _store(site, item["id"], raised)
    verdict = verdict_of(finding.severity for finding in raised)
    site.connection.execute(
        "UPDATE passes SET status = ?, phase = NULL, verdict = ?, summary = ?, diff_id = ?, finished_at = ? WHERE id = ?",
        (
            "incomplete" if partly else "completed",
            verdict,
            _summary(raised, len(files)),
            own_id,
            site.now(),
            item["id"],
        ),
    )
    if kind == "seam":
        state = "findings" if raised else "approved"
        site.connection.execute(
            "UPDATE members SET seam_state = ?, seam_reviewed_sha = ? WHERE seam_pass = ?",
            (state, head, item["id"]),
        )
    _tell(site, item, f"Vortex: {verdict}, {len(raised)} finding{'' if len(raised) == 1 else 's'}")


def retry(site: Site, item: sqlite3.Row, pull: Pull) -> None:
    """Try a failed review again. Event `vortex.retry`."""
    if item["skip_reason"] == "retry_scheduled" and site.git.head(pull.head_branch) == item["head_sha"]:
        site.connection.execute("UPDATE passes SET skip_reason = NULL WHERE id = ?", (item["id"],))
        _queue(site, pull, item["head_sha"], item["kind"])


def _queue(site: Site, pull: Pull, head: str, kind: str) -> int:
    before = passes_at(site.connection, site.repo_id, pull.number, head, kind)
    pass_id = add_pass(
        site.connection, site.repo_id, pull.number, head=head, kind=kind, status="queued", at=site.now()
    )
    stack = stack_of_pull(site.connection, site.repo_id, pull.number)
    account_id = paying_account(site, stack, pull)
    if kind == "core" and account_id is not None:
        try:
            charge(site.world, site.connection, account_id, _job(pass_id))
        except Refusal:
            site.connection.execute("DELETE FROM passes WHERE id = ?", (pass_id,))
            return _skip(site, pull, head, "quota_exceeded", before)
    script: ReviewerScript = script_of(site.connection, site.repo_id).reviewer
    schedule(site.connection, START, _payload(site, pass_id), site.world.pace.after(script.queued_seconds))
    return pass_id


def _skip(site: Site, pull: Pull, head: str, reason: str, earlier: list[sqlite3.Row]) -> int:
    """Note once for a head why it is not reviewed; returns the pass that says so."""
    if earlier and earlier[-1]["status"] == "skipped" and earlier[-1]["skip_reason"] == reason:
        return int(earlier[-1]["id"])
    stack = stack_of_pull(site.connection, site.repo_id, pull.number)
    words = f"#{pull.number} at {head[:7]}: Vortex skips ({reason.replace('_', ' ')})"
    record(site.world, site.connection, "vortex", words, stack_id=stack["id"] if stack is not None else None)
    return add_pass(
        site.connection,
        site.repo_id,
        pull.number,
        head=head,
        kind="core",
        status="skipped",
        at=site.now(),
        skip_reason=reason,
    )


def _fail(site: Site, item: sqlite3.Row, pull: Pull) -> None:
    attempts = len(passes_at(site.connection, site.repo_id, pull.number, item["head_sha"]))
    again = attempts < _ATTEMPTS
    site.connection.execute(
        "UPDATE passes SET status = 'failed', phase = NULL, skip_reason = ?, finished_at = ? WHERE id = ?",
        ("retry_scheduled" if again else None, site.now(), item["id"]),
    )
    refund(site.world, site.connection, _job(item["id"]))
    if again:
        schedule(site.connection, RETRY, _payload(site, item["id"]), site.world.pace.after(_RETRY_SECONDS))
    _tell(site, item, "Vortex failed" + (", and will try again" if again else ""))


def _store(site: Site, pass_id: int, raised: list[Raised]) -> None:
    for number, finding in enumerate(raised, 1):
        row = site.connection.execute(
            "INSERT INTO findings (pass_id, finding_id, finding_key, severity, path, line, title, body, specialist)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                pass_id,
                f"{finding.where}-{number}",
                finding.key,
                finding.severity,
                finding.path,
                finding.line,
                finding.title,
                finding.body[:_MAX_BODY],
                finding.specialist,
            ),
        ).fetchone()
        if finding.where == "inline":
            own_id = str(COMMENT_ID_BASE + row["id"])
        elif finding.where == "off_diff":
            own_id = f"offdiff-{number}"
        else:
            own_id = "review" if number == 1 else f"offdiff-{number}"
        site.connection.execute("UPDATE findings SET finding_id = ? WHERE id = ?", (own_id, row["id"]))


def _dismissed_keys(site: Site, number: int, own_id: str) -> set[str]:
    """What was dismissed of this very difference, at this head or at one before a restack."""
    rows = site.connection.execute(
        "SELECT finding_key FROM dismissals WHERE repo_id = ? AND pull_number = ? AND diff_id = ?",
        (site.repo_id, number, own_id),
    )
    return {row["finding_key"] for row in rows}


def _summary(raised: list[Raised], files: int) -> str:
    looked = f"{files} changed file{'' if files == 1 else 's'}"
    if not raised:
        return f"Nothing to change in {looked}."
    return f"{len(raised)} finding{'' if len(raised) == 1 else 's'} in {looked}."


def _tell(site: Site, item: sqlite3.Row, words: str) -> None:
    stack = stack_of_pull(site.connection, site.repo_id, item["pull_number"])
    where = f"#{item['pull_number']} at {item['head_sha'][:7]}"
    seam = " (seam)" if item["kind"] == "seam" else ""
    record(
        site.world,
        site.connection,
        "vortex",
        f"{where}: {words}{seam}",
        stack_id=stack["id"] if stack else None,
    )


def _payload(site: Site, pass_id: int) -> dict[str, int]:
    return {"repo_id": site.repo_id, "pass_id": pass_id}


def _job(pass_id: int) -> str:
    return f"pr-review-{pass_id}"

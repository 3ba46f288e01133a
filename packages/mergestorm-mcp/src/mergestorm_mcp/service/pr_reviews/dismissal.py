"""Dismissing findings that were verified to be wrong: who may, of what, and what it clears.

The order of the checks is the order of the refusals: who asks, which head, which review, which findings, and why. A
refusal writes nothing. A dismissal holds for its difference: Vortex does not raise it again on the same head, nor after
a restack that leaves the difference as it was.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.pr_reviews.passes import (
    dismissals_of,
    findings_of,
    pass_by_id,
    passes_at,
    verdict_of_passes,
)
from mergestorm_mcp.service.pr_reviews.verdict import WITH_VERDICT
from mergestorm_mcp.service.refusals import Refusal, invalid_input
from mergestorm_mcp.service.settings.values import connected_repositories
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.records import member_of, stack_of_pull
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.world import World

__all__ = ["MIN_REASON", "Request", "dismiss"]

MIN_REASON: Final = 20
"""Characters of the shortest reason, blanks at the ends and repeated ones not counted."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be dismissed; as the request names it."""

    owner: str
    repo: str
    pr_number: int
    head_sha: str
    review_id: int
    scope: str | None = None
    finding_ids: Sequence[str] = ()
    reason: str | None = None
    evidence_url: str | None = None
    preview: bool = False


def dismiss(world: World, connection: sqlite3.Connection, caller: Caller, request: Request) -> dict[str, Any]:
    """Dismiss findings of one review, or only show what could be.

    Dismissing again what was dismissed changes nothing and names the earlier record.

    Raises:
        Refusal: 403 `forbidden`, 404 `review_not_found`, 409 `stale_head` or `review_mismatch`, 400 `unknown_finding`
            or `invalid_input`.
    """
    site, pull, stack = _allowed(world, connection, caller, request)
    item = _review(site, pull, request)
    findings = findings_of(connection, item["id"])
    chosen = _chosen(request, findings)
    before = dismissals_of(connection, item["id"])
    if not request.preview:
        _record(site, caller, request, item, [row for row in chosen if row["finding_id"] not in before])
    after = dismissals_of(connection, item["id"])
    new = [row for row in findings if row["finding_id"] in after and row["finding_id"] not in before]
    remaining = [row for row in findings if row["finding_id"] not in after]
    if item["kind"] == "seam" and not request.preview and not remaining:
        _clear_seam(site, pull, item)
    if new:
        words = f"{caller.login} dismissed {len(new)} finding{'' if len(new) == 1 else 's'} of #{pull.number}"
        record(world, connection, "dismissed", words, stack_id=stack["id"] if stack is not None else None)
    return {
        "status": "preview" if request.preview else "dismissed",
        "owner": site.repository.owner,
        "repo": site.repository.name,
        "pr_number": pull.number,
        "head_sha": item["head_sha"],
        "review_id": item["id"],
        "review_kind": item["kind"],
        "scope": request.scope or "findings",
        "dismissed": [_shown(row) for row in new],
        "already_dismissed": [
            {
                **_shown(row),
                "actor_login": before[row["finding_id"]]["actor_login"],
                "dismissed_at": before[row["finding_id"]]["dismissed_at"],
            }
            for row in (findings if request.preview else chosen)
            if row["finding_id"] in before
        ],
        "remaining": [_shown(row) for row in remaining],
        "all_dismissed": not remaining,
        "gate": {
            "seam": _seam_gate(site, pull, item, remaining),
            "vortex": _vortex_gate(site, pull, item),
            "other_gates": "unchanged",
        },
        "stack_id": stack["id"] if stack is not None and stack["account_id"] == caller.account_id else None,
    }


def _allowed(
    world: World, connection: sqlite3.Connection, caller: Caller, request: Request
) -> tuple[Site, Pull, sqlite3.Row | None]:
    """The pull request, if the caller may dismiss there. What the caller may not see is forbidden like the rest."""
    forbidden = Refusal(
        403,
        "forbidden",
        "Dismissing takes write access to the repository, and an account that monitors it or owns the stack.",
    )
    repository = world.hub.find_repository(connection, request.owner, request.repo)
    if repository is None:
        raise forbidden
    stack = stack_of_pull(connection, repository.id, request.pr_number)
    monitors = any(found.id == repository.id for found in connected_repositories(world, connection, caller))
    owns = stack is not None and stack["account_id"] == caller.account_id
    linked = connection.execute(
        "SELECT github_connected FROM accounts WHERE id = ?", (caller.account_id,)
    ).fetchone()["github_connected"]
    if not (monitors or owns) or not linked or not world.hub.may_write(connection, repository, caller.login):
        raise forbidden
    pull = world.hub.pull(connection, repository.id, request.pr_number)
    if pull is None:
        raise Refusal(404, "review_not_found", "There is no such pull request.")
    return Site.of(world, connection, repository.id), pull, stack


def _review(site: Site, pull: Pull, request: Request) -> sqlite3.Row:
    head = site.git.head(pull.head_branch) if pull.open else pull.last_head
    if head != request.head_sha.lower():
        raise Refusal(
            409, "stale_head", f"#{pull.number} is at {(head or 'no commit')[:7]}; review that head first.",
            extra={"head_sha": head},
        )  # fmt: skip
    item = pass_by_id(site.connection, request.review_id)
    if item is None:
        raise Refusal(404, "review_not_found", "There is no such review.")
    here = (item["repo_id"], item["pull_number"], item["head_sha"]) == (site.repo_id, pull.number, head)
    if not here or item["status"] not in WITH_VERDICT:
        raise Refusal(409, "review_mismatch", "That review was not made of this pull request at this head.")
    return item


def _chosen(request: Request, findings: list[sqlite3.Row]) -> list[sqlite3.Row]:
    known = {row["finding_id"]: row for row in findings}
    unknown = [name for name in request.finding_ids if name not in known]
    if unknown:
        raise Refusal(
            400,
            "unknown_finding",
            "A finding id is not of this review; preview lists its ids.",
            extra={"finding_ids": unknown[:50]},
        )
    if request.preview:
        return []
    if request.scope == "review" and request.finding_ids:
        raise invalid_input(
            "scope review covers every finding; leave finding_ids out, or use scope findings."
        )
    if request.scope != "review" and not request.finding_ids:
        raise invalid_input("Name finding_ids, or use scope review for every finding.")
    if len(" ".join((request.reason or "").split())) < MIN_REASON:
        raise invalid_input(f"reason must say in {MIN_REASON} characters or more why the findings are wrong.")
    if request.scope == "review":
        return findings
    return [known[name] for name in dict.fromkeys(request.finding_ids)]


def _record(
    site: Site, caller: Caller, request: Request, item: sqlite3.Row, findings: Sequence[sqlite3.Row]
) -> None:
    for row in findings:
        site.connection.execute(
            "INSERT INTO dismissals (pass_id, finding_id, repo_id, pull_number, finding_key, diff_id, head_sha, account_id,"
            " actor_login, reason, evidence_url, scope, dismissed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                item["id"],
                row["finding_id"],
                site.repo_id,
                item["pull_number"],
                row["finding_key"],
                item["diff_id"],
                item["head_sha"],
                caller.account_id,
                caller.login,
                request.reason,
                request.evidence_url,
                request.scope or "findings",
                site.now(),
            ),
        )


def _clear_seam(site: Site, pull: Pull, item: sqlite3.Row) -> None:
    """Let a member through whose current integration review has nothing left."""
    member = member_of(site.connection, site.repo_id, pull.number)
    if member is not None and member["seam_pass"] == item["id"] and member["seam_state"] == "findings":
        site.connection.execute(
            "UPDATE members SET seam_state = 'approved' WHERE unit_id = ? AND pull_number = ?",
            (member["unit_id"], pull.number),
        )


def _seam_gate(
    site: Site, pull: Pull, item: sqlite3.Row, remaining: Sequence[sqlite3.Row]
) -> dict[str, Any] | None:
    member = member_of(site.connection, site.repo_id, pull.number)
    if member is None:
        return None
    current = item["kind"] == "seam" and member["seam_pass"] == item["id"]
    return {
        "state": member["seam_state"],
        "reviewed_sha": member["seam_reviewed_sha"],
        "review_id": member["seam_pass"],
        "cleared": current and not remaining and member["seam_state"] == "approved",
        "blocking": member["seam_state"] in {"findings", "failed"},
    }


def _vortex_gate(site: Site, pull: Pull, item: sqlite3.Row) -> dict[str, Any] | None:
    """Whether the head has nothing left that blocks it, all its Core reviews together."""
    if item["kind"] != "core":
        return None
    reviews = passes_at(site.connection, site.repo_id, pull.number, item["head_sha"])
    verdict = verdict_of_passes(site.connection, reviews)
    if verdict.running:
        reason, message = "review_running", "A review of this head is still under way."
    elif verdict.incomplete or any(row["status"] == "incomplete" for row in reviews):
        reason, message = "review_incomplete", "A review of this head is not complete."
    elif verdict.verdict == "request_changes":
        reason, message = "review_findings_open", "Error findings of this head are still open."
    else:
        return {"cleared": True, "reason": None, "message": f"The head reads {verdict.verdict}."}
    return {"cleared": False, "reason": reason, "message": message}


def _shown(row: sqlite3.Row) -> dict[str, Any]:
    return {
        "finding_id": row["finding_id"],
        "finding_key": row["finding_key"],
        "path": row["path"],
        "line": row["line"],
        "title": row["title"],
    }

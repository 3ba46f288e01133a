"""A pull request's review as `GET /stacks/pr-review` shows it."""

from __future__ import annotations

import sqlite3
from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.access import visible_repository
from mergestorm_mcp.service.pr_reviews.passes import open_findings, verdict_at
from mergestorm_mcp.service.pr_reviews.verdict import UNDER_WAY, WITH_VERDICT
from mergestorm_mcp.service.refusals import not_found
from mergestorm_mcp.service.stacks.policy import switched_on
from mergestorm_mcp.service.stacks.records import stack_of_pull
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.world import World

__all__ = ["pr_review"]


def pr_review(
    world: World,
    connection: sqlite3.Connection,
    caller: Caller,
    owner: str,
    repo: str,
    number: int,
    *,
    after_sha: str | None = None,
    pass_number: int | None = None,
    after_pass: int | None = None,
) -> dict[str, Any]:
    """The newest Core pass, or the one that is selected.

    A pass number selects that pass, and `after_pass` the newest beyond it. With `after_sha` the newest pass over that
    head is meant; where there is none, the newest of all is shown, for the caller to see that it is of another head.

    Raises:
        Refusal: 404 `not_found` for a pull request or pass that is not there, or not there for this account.
    """
    repository = visible_repository(world, connection, caller, owner, repo)
    if world.hub.pull(connection, repository.id, number) is None:
        raise not_found("The pull request")
    passes = connection.execute(
        "SELECT * FROM passes WHERE repo_id = ? AND pull_number = ? AND kind = 'core' AND status <> 'stopped' ORDER BY number",
        (repository.id, number),
    ).fetchall()
    chosen = _chosen(passes, after_sha, pass_number, after_pass)
    if chosen is None:
        raise not_found("A review of the pull request")
    return _view(Site.of(world, connection, repository.id), number, passes, chosen)


def _chosen(
    passes: list[sqlite3.Row], after_sha: str | None, pass_number: int | None, after_pass: int | None
) -> sqlite3.Row | None:
    if pass_number is not None:
        passes = [item for item in passes if item["number"] == pass_number]
    if after_pass is not None:
        passes = [item for item in passes if item["number"] > after_pass]
    if after_sha:
        at_head = [item for item in passes if item["head_sha"].startswith(after_sha.strip().lower())]
        passes = at_head or passes
    return passes[-1] if passes else None


def _view(site: Site, number: int, passes: list[sqlite3.Row], item: sqlite3.Row) -> dict[str, Any]:
    raw = item["status"]
    findings = open_findings(site.connection, item["id"])
    told = raw in WITH_VERDICT
    verdict = verdict_at(site.connection, site.repo_id, number, item["head_sha"]).verdict if told else None
    return {
        "schema": "mergestorm.pr_review/v1",
        "id": str(item["id"]),
        "owner": site.repository.owner,
        "repo": site.repository.name,
        "pr_number": number,
        "status": "in_progress" if raw in UNDER_WAY else "completed" if told else raw,
        "raw_status": "in_progress" if raw in UNDER_WAY else raw,
        "phase": item["phase"],
        "verdict": verdict,
        "summary": item["summary"],
        "head_sha": item["head_sha"],
        "pass": item["number"],
        "review_count": sum(1 for other in passes if other["status"] in WITH_VERDICT),
        "skip_reason": item["skip_reason"],
        "reviewed_at": item["finished_at"] if told else None,
        "finding_count": len(findings),
        "findings": _findings(findings) if told else None,
        "patch_policy": _patch_policy(site, number),
        "newer_pass_pending": any(
            other["number"] > item["number"] and other["status"] in UNDER_WAY for other in passes
        ),
    }


def _findings(rows: list[sqlite3.Row]) -> dict[str, Any]:
    inline = [_finding(row) for row in rows if row["path"] is not None and row["line"] is not None]
    others = [_finding(row) for row in rows if row["path"] is None or row["line"] is None]
    return {
        "specialists_run": sorted({row["specialist"] for row in rows} | {"governance"}),
        "inline": inline,
        "off_diff": others,
    }


def _finding(row: sqlite3.Row) -> dict[str, Any]:
    places = {name: row[name] for name in ("path", "line") if row[name] is not None}
    return {
        "id": row["finding_id"],
        **places,
        "severity": row["severity"],
        "title": row["title"],
        "body": row["body"],
        "specialist": row["specialist"],
    }


def _patch_policy(site: Site, number: int) -> dict[str, str] | None:
    stack = stack_of_pull(site.connection, site.repo_id, number)
    if stack is None or switched_on(site, stack, "auto_patch"):
        return None
    return {"mode": "hold"}

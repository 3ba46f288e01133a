"""The merge queue: one entry of a repository is worked on at a time; the others wait behind it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.service.agents.script import Outcome
from mergestorm_mcp.service.agents.scripts import count, script_of
from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack, live_stack
from mergestorm_mcp.service.stacks.merging import merge_pull
from mergestorm_mcp.service.stacks.policy import disarm
from mergestorm_mcp.service.stacks.records import LIVE, live_entry, stack_by_id
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.timeline import schedule

__all__ = [
    "CLAIM",
    "FINISH",
    "FORGET",
    "bounce",
    "cancel",
    "claim",
    "claim_next",
    "conflict_stands",
    "enqueue",
    "entry_view",
    "fingerprint",
    "finish",
    "forget_later",
    "land_now",
    "listing",
    "newest_landed",
]

CLAIM: Final = "queue.claim"
FINISH: Final = "queue.finish"
FORGET: Final = "stack.forget"

_DISARMING: Final = frozenset({"merge_failed", "gh_error", "ci_timeout"})
_REMEMBERED_SECONDS: Final = 24 * 3600.0
"""How long a stack that has landed or was archived is still listed."""

_BOUNCES_SHOWN: Final = 10
"""Bounced entries in a list that names no stack; a stack's own list has more."""

_BOUNCES_OF_STACK: Final = 50
_QUEUE_CHECK: Final = "merge queue"
_WORDS: Final = {
    "ci_failure": "CI failed on the merged result",
    "ci_timeout": "CI did not finish in time",
    "head_moved": "the head moved while the queue worked on it",
    "seam_findings": "the integration review has findings",
    "restack_conflict": "the head no longer merges into its base",
    "pr_draft": "the pull request is a draft",
    "must_consolidate": "layers must be promoted first",
    "merge_failed": "GitHub refused the merge",
    "gh_error": "GitHub answered with an error",
}


def enqueue(site: Site, stack: LiveStack, *, by: str, via: str) -> tuple[sqlite3.Row, bool]:
    """Put a stack's next pull request into the queue.

    Args:
        site: the repository.
        stack: the stack.
        by: human or agent.
        via: dashboard, cli, chat, api or mcp.

    Returns:
        Its entry, and whether it was there before.

    Raises:
        Refusal: 409 where it could only bounce: `ci_failed`, `conflict_unchanged`, `nothing_to_land`.
    """
    connection = site.connection
    present = live_entry(connection, stack.row["id"])
    if present is not None:
        return present, True
    candidate = stack.candidate
    if candidate is None or candidate.head is None:
        raise Refusal(409, "nothing_to_land", "The stack has no open pull request.")
    if candidate.failing_check is not None:
        raise Refusal(
            409, "ci_failed", f"{candidate.failing_check} fails at the head of #{candidate.pull.number}."
        )
    if (candidate.merge is not None and not candidate.merge.clean) or conflict_stands(
        site, stack.row, candidate
    ):
        raise Refusal(
            409,
            "conflict_unchanged",
            f"#{candidate.pull.number} still conflicts with {candidate.pull.base_branch}.",
        )
    row = connection.execute(
        "INSERT INTO queue_entries (id, stack_id, account_id, repo_id, pull_number, state, enqueued_by, enqueued_via,"
        " enqueued_at) VALUES (?, ?, ?, ?, ?, 'queued', ?, ?, ?) RETURNING *",
        (
            str(uuid.uuid4()),
            stack.row["id"],
            stack.row["account_id"],
            site.repo_id,
            candidate.pull.number,
            by,
            via,
            site.now(),
        ),
    ).fetchone()
    _claim_later(site, row["id"])
    record(site.world, connection, "queued", f"#{candidate.pull.number} queued", stack_id=stack.row["id"])
    return row, False


def conflict_stands(site: Site, stack: sqlite3.Row, layer: LiveLayer) -> bool:
    """Whether the newest bounce was a conflict of this very head with this very base."""
    row = site.connection.execute(
        "SELECT * FROM queue_entries WHERE stack_id = ? AND state IN ('bounced', 'landed') ORDER BY number DESC LIMIT 1",
        (stack["id"],),
    ).fetchone()
    if row is None or row["state"] != "bounced" or row["pull_number"] != layer.pull.number:
        return False
    detail = json.loads(row["bounce_json"] or "{}")
    return bool(
        detail.get("kind") == "restack_conflict"
        and row["verify_head"] == layer.head
        and row["verify_base"] == layer.base_head
    )


def cancel(site: Site, entry: sqlite3.Row) -> sqlite3.Row:
    """Take an entry out: at once while it waits its turn, else as soon as the queue looks up from it.

    Auto land goes off with it, or it would put the entry back. Cancelling again changes nothing.

    Raises:
        Refusal: 404 `entry_not_found` for one that has landed or bounced.
    """
    if entry["state"] in {"landed", "bounced"}:
        raise Refusal(404, "entry_not_found", "That entry is no longer in the queue.")
    connection = site.connection
    if entry["state"] != "cancelled" and entry["cancel_requested_at"] is None:
        connection.execute(
            "UPDATE queue_entries SET cancel_requested_at = ? WHERE id = ?", (site.now(), entry["id"])
        )
        _disarm(site, entry, "cancelled")
        if entry["state"] == "queued":
            _close(site, entry, "cancelled")
        record(
            site.world,
            connection,
            "cancelled",
            f"#{entry['pull_number']} taken out of the queue",
            stack_id=entry["stack_id"],
        )
    row: sqlite3.Row = connection.execute(
        "SELECT * FROM queue_entries WHERE id = ?", (entry["id"],)
    ).fetchone()
    return row


def claim(site: Site, entry: sqlite3.Row) -> None:
    """Take an entry up if it is the repository's turn for it. Event `queue.claim`."""
    connection = site.connection
    if entry["state"] != "queued":
        return
    if _worked_on(connection, site.repo_id) is not None:
        return  # whoever finishes takes up the next
    stack = live_stack(site, _stack(site, entry))
    candidate = stack.candidate
    if candidate is None or candidate.head is None or candidate.pull.number != entry["pull_number"]:
        bounce(site, entry, "head_moved")
        return
    running = connection.execute(
        "UPDATE queue_entries SET state = 'running', claimed_at = ?, attempts = attempts + 1, verify_head = ?,"
        " verify_base = ?, wait_reason = NULL WHERE id = ? RETURNING *",
        (site.now(), candidate.head, candidate.base_head, entry["id"]),
    ).fetchone()
    if candidate.pull.draft:
        bounce(site, running, "pr_draft")
        return
    if stack.unit is not None and candidate is not stack.land:
        bounce(site, running, "must_consolidate")
        return
    seconds = script_of(connection, site.repo_id).queue.seconds
    schedule(connection, FINISH, _payload(site, entry["id"]), site.world.pace.after(seconds))
    record(
        site.world,
        connection,
        "queue",
        f"#{entry['pull_number']} is being verified",
        stack_id=entry["stack_id"],
    )


def claim_next(site: Site) -> None:
    """Take up the entry that has waited longest, if none is being worked on."""
    if _worked_on(site.connection, site.repo_id) is not None:
        return
    entry = site.connection.execute(
        "SELECT * FROM queue_entries WHERE repo_id = ? AND state = 'queued' ORDER BY number LIMIT 1",
        (site.repo_id,),
    ).fetchone()
    if entry is not None:
        _claim_later(site, entry["id"])


def finish(site: Site, entry: sqlite3.Row) -> bool:
    """Land an entry, or throw it back. Event `queue.finish`.

    Returns:
        Whether it landed, so that the trunk has moved.
    """
    if entry["state"] not in {"running", "waiting"}:
        return False
    if entry["cancel_requested_at"] is not None:
        _close(site, entry, "cancelled")
        return False
    stack = live_stack(site, _stack(site, entry))
    candidate = stack.candidate
    if (
        candidate is None
        or candidate.pull.number != entry["pull_number"]
        or candidate.head != entry["verify_head"]
    ):
        bounce(site, entry, "head_moved")
        return False
    if candidate.base_head is None:
        bounce(site, entry, "gh_error", message=f"{candidate.pull.base_branch} is gone")
        return False
    in_git = site.contains(candidate.base_head, entry["verify_head"])
    if not in_git:  # else it was merged just before the service was killed, and only the rows are missing
        outcomes = script_of(site.connection, site.repo_id).queue.outcomes
        run = count(site.connection, site.repo_id, f"queue {entry['stack_id']}")
        outcome = outcomes[run] if run < len(outcomes) else Outcome()
        if outcome.bounce is not None:
            _scripted(site, entry, candidate, outcome.bounce, outcome)
            return False
        if candidate.failing_check is not None:
            bounce(site, entry, "ci_failure", failingCheck=candidate.failing_check)
            return False
    pull = candidate.pull
    landed = merge_pull(site, pull, entry["verify_head"], into=pull.base_branch, at=candidate.base_head)
    if isinstance(landed, MergeResult):
        bounce(
            site,
            entry,
            "restack_conflict",
            conflictPaths=list(landed.conflicts),
            baseBranch=candidate.pull.base_branch,
            baseSha=candidate.base_head,
        )
        return False
    _landed(site, stack, candidate, entry, landed)
    return True


def land_now(site: Site, stack: LiveStack, layer: LiveLayer) -> None:
    """Merge a pull request onto its trunk at once, with an entry that shows it landed.

    Raises:
        Refusal: 409 as `enqueue`.
    """
    queued, _ = enqueue(site, stack, by="human", via="api")
    entry = site.connection.execute(
        "UPDATE queue_entries SET state = 'running', claimed_at = ?, attempts = 1, verify_head = ?, verify_base = ?"
        " WHERE id = ? RETURNING *",
        (site.now(), layer.head, layer.base_head, queued["id"]),
    ).fetchone()
    pull = layer.pull
    merged = merge_pull(site, pull, entry["verify_head"], into=pull.base_branch, at=entry["verify_base"])
    if isinstance(merged, MergeResult):
        raise Refusal(409, "conflict_unchanged", f"#{layer.pull.number} does not merge into its base.")
    _landed(site, stack, layer, entry, merged)


def bounce(site: Site, entry: sqlite3.Row, kind: str, **detail: Any) -> None:
    """Throw an entry back, and switch Auto land off where a repetition would only do the same."""
    head = entry["verify_head"]
    known = {"prNumber": entry["pull_number"], **({"headSha": head} if head is not None else {})}
    described = {
        "kind": kind,
        **known,
        **{name: value for name, value in detail.items() if value is not None},
    }
    site.connection.execute(
        "UPDATE queue_entries SET bounce_reason = ?, bounce_json = ? WHERE id = ?",
        (detail.get("message") or _WORDS[kind], json.dumps(described), entry["id"]),
    )
    _close(site, entry, "bounced")
    record(
        site.world,
        site.connection,
        "bounced",
        f"#{entry['pull_number']} bounced: {_WORDS[kind]}",
        stack_id=entry["stack_id"],
    )
    if kind in _DISARMING:
        _disarm(site, entry, "bounced")


def forget_later(site: Site, stack_id: str) -> None:
    """Have a stack that is over taken out of the lists after a day."""
    schedule(site.connection, FORGET, {"stack_id": stack_id}, site.world.pace.after(_REMEMBERED_SECONDS))


def listing(
    site_of: Mapping[int, tuple[str, str]],
    connection: sqlite3.Connection,
    account_id: int,
    stack_id: str | None,
) -> list[dict[str, Any]]:
    """An account's entries that are on their way, then its bounced ones, newest first.

    Args:
        site_of: owner and name of every repository by id.
        connection: to read with.
        account_id: whose.
        stack_id: only of this stack.
    """
    scope = "account_id = ?" + (" AND stack_id = ?" if stack_id is not None else "")
    values: tuple[Any, ...] = (account_id,) if stack_id is None else (account_id, stack_id.strip().lower())
    live = connection.execute(
        f"SELECT * FROM queue_entries WHERE {scope} AND state IN (?, ?, ?) ORDER BY number",  # noqa: S608 - constants
        (*values, *LIVE),
    ).fetchall()
    limit = _BOUNCES_SHOWN if stack_id is None else _BOUNCES_OF_STACK
    bounced = connection.execute(
        f"SELECT * FROM queue_entries WHERE {scope} AND state = 'bounced'"  # noqa: S608 - constants
        " ORDER BY finished_at DESC, number DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
    return [entry_view(connection, row, site_of[row["repo_id"]]) for row in (*live, *bounced)]


def newest_landed(
    site_of: Mapping[int, tuple[str, str]], connection: sqlite3.Connection, account_id: int, stack_id: str
) -> dict[str, Any] | None:
    """The entry with which a stack landed, also when the stack is no longer listed."""
    row = connection.execute(
        "SELECT * FROM queue_entries WHERE account_id = ? AND stack_id = ? AND state = 'landed'"
        " ORDER BY number DESC LIMIT 1",
        (account_id, stack_id.strip().lower()),
    ).fetchone()
    return None if row is None else entry_view(connection, row, site_of[row["repo_id"]])


def entry_view(connection: sqlite3.Connection, row: sqlite3.Row, name: tuple[str, str]) -> dict[str, Any]:
    """An entry as the service shows it."""
    live = row["state"] in LIVE
    position = 0
    if live:
        position = connection.execute(
            "SELECT count(*) AS place FROM queue_entries WHERE repo_id = ? AND state IN (?, ?, ?) AND number <= ?",
            (row["repo_id"], *LIVE, row["number"]),
        ).fetchone()["place"]
    return {
        "id": row["id"],
        "stackId": row["stack_id"],
        "owner": name[0],
        "repo": name[1],
        "state": row["state"],
        "position": position,
        "waitReason": row["wait_reason"],
        "bounceReason": row["bounce_reason"],
        "bounceDetail": json.loads(row["bounce_json"]) if row["bounce_json"] is not None else None,
        "enqueuedBy": row["enqueued_by"],
        "enqueuedVia": row["enqueued_via"],
        "enqueuedAt": row["enqueued_at"],
        "attempts": row["attempts"],
        "landedPrNumbers": json.loads(row["landed_json"]),
        "verifyHeadSha": row["verify_head"],
        "verifyBaseSha": row["verify_base"],
        "cancelRequestedAt": row["cancel_requested_at"],
        "batch": None,
        "finishedAt": row["finished_at"],
        "claimedAt": row["claimed_at"],
        "aheadInRepo": _ahead(connection, row) if row["state"] == "queued" else None,
    }


def fingerprint(entries: list[dict[str, Any]], revision: int | None) -> str:
    """What a held read compares: it differs as soon as an entry does, or the stack that was asked for."""
    text = json.dumps([entries, revision], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _ahead(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any] | None:
    other = _worked_on(connection, row["repo_id"])
    if other is None or other["stack_id"] == row["stack_id"]:
        return None
    own = other["account_id"] == row["account_id"]
    return {
        "stackId": other["stack_id"] if own else None,
        "state": other["state"],
        "claimedAt": other["claimed_at"],
        "waitReason": other["wait_reason"] if own else None,
    }


def _worked_on(connection: sqlite3.Connection, repo_id: int) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM queue_entries WHERE repo_id = ? AND state IN ('running', 'waiting') ORDER BY number LIMIT 1",
        (repo_id,),
    ).fetchone()
    return row


def _stack(site: Site, entry: sqlite3.Row) -> sqlite3.Row:
    row = stack_by_id(site.connection, entry["stack_id"])
    if row is None:
        raise LookupError("the entry's stack is gone")
    return row


def _scripted(site: Site, entry: sqlite3.Row, candidate: LiveLayer, kind: str, outcome: Outcome) -> None:
    detail: dict[str, Any] = {"message": outcome.message}
    if kind == "ci_failure":
        # The queue's own check is red at the head until somebody pushes a new one or runs it again.
        detail["failingCheck"] = outcome.check or _QUEUE_CHECK
        site.hub.set_check(
            site.connection, site.repo_id, entry["verify_head"], detail["failingCheck"], "failure", site.now()
        )
    if kind == "restack_conflict":
        detail.update(baseBranch=candidate.pull.base_branch, baseSha=candidate.base_head)
    bounce(site, entry, kind, **detail)


def _landed(site: Site, stack: LiveStack, candidate: LiveLayer, entry: sqlite3.Row, merge_sha: str) -> None:
    connection, at = site.connection, site.now()
    site.hub.mark_merged(
        connection,
        site.repo_id,
        candidate.pull.number,
        at=at,
        head=entry["verify_head"],
        base=candidate.base_head,
        merge_sha=merge_sha,
    )
    numbers = [layer.pull.number for layer in stack.layers if layer.promoted or layer is candidate]
    if candidate is stack.land:
        numbers.append(candidate.pull.number)
        connection.execute("UPDATE units SET state = 'landed' WHERE stack_id = ?", (stack.row["id"],))
    connection.execute(
        "UPDATE queue_entries SET landed_json = ? WHERE id = ?", (json.dumps(numbers), entry["id"])
    )
    _close(site, entry, "landed")
    disarm(site, stack.row["id"], "landed", entry["id"])
    connection.execute("UPDATE stacks SET landed_at = ? WHERE id = ?", (at, stack.row["id"]))
    forget_later(site, stack.row["id"])
    shown = ", ".join(f"#{number}" for number in numbers)
    record(
        site.world,
        connection,
        "landed",
        f"{shown} landed on {candidate.pull.base_branch}",
        stack_id=stack.row["id"],
    )


def _close(site: Site, entry: sqlite3.Row, state: str) -> None:
    site.connection.execute(
        "UPDATE queue_entries SET state = ?, finished_at = ?, wait_reason = NULL WHERE id = ?",
        (state, site.now(), entry["id"]),
    )
    claim_next(site)


def _disarm(site: Site, entry: sqlite3.Row, reason: str) -> None:
    """Switch Auto land of an entry's stack off, if it is on."""
    stack = stack_by_id(site.connection, entry["stack_id"])
    if stack is not None and stack["auto_land"]:
        disarm(site, stack["id"], reason, entry["id"])


def _claim_later(site: Site, entry_id: str) -> None:
    delay = script_of(site.connection, site.repo_id).queue.queued_seconds
    schedule(site.connection, CLAIM, _payload(site, entry_id), site.world.pace.after(delay))


def _payload(site: Site, entry_id: str) -> dict[str, Any]:
    return {"repo_id": site.repo_id, "entry_id": entry_id}

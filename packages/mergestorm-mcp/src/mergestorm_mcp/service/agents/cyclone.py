"""Cyclone: patches findings, red checks and merge conflicts where it may, and hands the rest to a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from mergestorm_mcp.service.agents.script import FixRule, matches_path
from mergestorm_mcp.service.agents.scripts import script_of
from mergestorm_mcp.service.github.bare import FileContent
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.github.people import CommitAuthor
from mergestorm_mcp.service.pace import parse_iso
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.policy import off_reason
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.timeline import schedule

__all__ = ["FINISH", "consider", "finish", "handoff", "patching"]

FINISH: Final = "cyclone.finish"

_CYCLONE: Final = CommitAuthor("mergestorm-cyclone[bot]", "cyclone[bot]@mergestorm.invalid")
_PINS: Final = {"findings": "auto_patch", "conflict": "auto_resolve", "ci": "auto_fix_ci"}
_MESSAGES: Final = {
    "findings": "Fix what the review found",
    "conflict": "Merge the base and resolve its conflicts",
    "ci": "Fix the failing check",
}
_HANDED_OFF: Final = {
    "findings": "no_changes",
    "conflict": "conflict_needs_person",
    "ci": "ci_unresolved",
}
_MAX_BYTES: Final = 1 << 20


def consider(site: Site, stack: LiveStack, layer: LiveLayer) -> None:
    """Begin the patch that a layer needs first, if Cyclone may make it, once for every head. Land PRs it leaves alone."""
    if layer is stack.land or layer.head is None or not layer.open:
        return
    if layer.merge is not None and not layer.merge.clean:
        kind = "conflict"
    elif not layer.verdict.running and layer.verdict.verdict == "request_changes":
        kind = "findings"
    elif layer.ci == "failure":
        kind = "ci"
    else:
        return
    if off_reason(site, stack.row, _PINS[kind]) is None:
        _begin(site, stack, layer.pull, layer.head, kind)


def finish(site: Site, run: sqlite3.Row, pull: Pull, stack_id: str | None) -> str | None:
    """End a run: push its commit, or hand over. Event `cyclone.finish`.

    The commit depends on nothing but the run, so that one that was pushed before the service was killed is recognised.

    Returns:
        The commit that was pushed, if any.
    """
    if run["status"] != "patching":
        return None
    head = site.git.head(pull.head_branch)
    made = _commit(site, run, pull) if pull.open else None
    if made is not None and head == run["head_sha"]:
        site.git.move(pull.head_branch, made, head)
        head = made
    pushed = made if made is not None and head == made else None
    if pushed is not None:
        status, reason = "done", None
    elif head != run["head_sha"] or not pull.open:
        status, reason = "done", "head_moved"
    else:
        status, reason = "handed_off", _HANDED_OFF[run["kind"]]
    site.connection.execute(
        "UPDATE cyclone_runs SET status = ?, reason = ?, pushed_sha = ?, finished_at = ? WHERE id = ?",
        (status, reason, pushed, site.now(), run["id"]),
    )
    words = f"pushed {pushed[:7]}" if pushed is not None else (reason or "").replace("_", " ")
    record(site.world, site.connection, "cyclone", f"#{pull.number}: Cyclone {words}", stack_id=stack_id)
    return pushed


def patching(connection: sqlite3.Connection, repo_id: int, number: int) -> bool:
    """Whether Cyclone is at work on a pull request, at whatever head."""
    return (
        connection.execute(
            "SELECT 1 FROM cyclone_runs WHERE repo_id = ? AND pull_number = ? AND status IN ('queued', 'patching')",
            (repo_id, number),
        ).fetchone()
        is not None
    )


def handoff(
    connection: sqlite3.Connection, repo_id: int, number: int, head: str | None, kind: str
) -> sqlite3.Row | None:
    """The run with which Cyclone gave a head to a person."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM cyclone_runs WHERE repo_id = ? AND pull_number = ? AND head_sha = ? AND kind = ?"
        " AND status = 'handed_off'",
        (repo_id, number, head, kind),
    ).fetchone()
    return row


def _begin(site: Site, stack: LiveStack, pull: Pull, head: str, kind: str) -> None:
    row = site.connection.execute(
        "INSERT OR IGNORE INTO cyclone_runs (repo_id, pull_number, kind, head_sha, status, started_at)"
        " VALUES (?, ?, ?, ?, 'patching', ?) RETURNING id",
        (site.repo_id, pull.number, kind, head, site.now()),
    ).fetchone()
    if row is None:
        return
    payload = {"repo_id": site.repo_id, "run_id": row["id"]}
    seconds = script_of(site.connection, site.repo_id).patcher.seconds
    schedule(site.connection, FINISH, payload, site.world.pace.after(seconds))
    record(
        site.world,
        site.connection,
        "cyclone",
        f"#{pull.number}: Cyclone patches ({kind})",
        stack_id=stack.row["id"],
    )


def _commit(site: Site, run: sqlite3.Row, pull: Pull) -> str | None:
    base = site.git.head(pull.base_branch)
    if base is None:
        return None
    script = script_of(site.connection, site.repo_id).patcher
    when, head = parse_iso(run["started_at"]), run["head_sha"]
    if run["kind"] == "conflict":
        return _resolved(site, base, head, script.conflicts, when)
    changed = site.git.changed_paths(site.diff_base(base, head), head)
    files = _fixed(site, head, changed, script.fixes)
    if not files:
        return None
    return site.git.commit_files([head], files, message=_MESSAGES[run["kind"]], author=_CYCLONE, when=when)


def _fixed(
    site: Site, head: str, changed: list[str], fixes: list[FixRule]
) -> Mapping[str, FileContent | bytes | None]:
    """The changed files in which a fix applies, fixed. A file's mode stays."""
    found: dict[str, FileContent | bytes | None] = {}
    entries = {entry.path.decode("utf-8", "replace"): entry for entry in site.git.repository.list_tree(head)}
    for path in changed:
        entry = entries.get(path)
        if entry is None or entry.type != "blob" or entry.mode == "120000" or (entry.size or 0) > _MAX_BYTES:
            continue
        rules = [rule for rule in fixes if matches_path(rule.path, path)]
        before = site.git.file(head, path) if rules else None
        if before is None:
            continue
        after = before
        for rule in rules:
            after = after.replace(rule.text.encode(), rule.replacement.encode())
        if after != before:
            found[path] = FileContent(after, entry.mode)
    return found


def _resolved(site: Site, base: str, head: str, side: str, when: datetime) -> str | None:
    """A merge of the base into the head, with one side's version of every file in conflict.

    The head is first given the base's version of those files, which merges without a conflict; for `ours` they are then
    put back.
    """
    result = site.git.merge(base, head)
    if result.clean or not result.conflicts or side == "hand_off":
        return None
    theirs = {path: _content(site, base, path) for path in result.conflicts}
    own = {path: _content(site, head, path) for path in result.conflicts}
    if any(theirs[path] == own[path] for path in result.conflicts):
        return None  # the conflict is not about contents
    stand_in = site.git.commit_files([head], _present(site, head, theirs), message="stand-in", when=when)
    merged = site.git.merge(base, stand_in)
    if merged.tree is None:
        return None
    tree = merged.tree
    if side == "ours":
        carrier = site.git.commit_tree(tree, [head], message="stand-in", when=when)
        tree = site.git.tree_of(
            site.git.commit_files([carrier], _present(site, carrier, own), message="stand-in", when=when)
        )
    return site.git.commit_tree(tree, [head, base], message=_MESSAGES["conflict"], author=_CYCLONE, when=when)


def _present(
    site: Site, commit: str, files: Mapping[str, FileContent | None]
) -> Mapping[str, FileContent | bytes | None]:
    """Without the deletions of what is not there."""
    there = set(site.git.files(commit))
    return {path: content for path, content in files.items() if content is not None or path in there}


def _content(site: Site, commit: str, path: str) -> FileContent | None:
    entry = next(
        (
            item
            for item in site.git.repository.list_tree(commit, sizes=False, path=path.encode())
            if item.type == "blob"
        ),
        None,
    )
    data = site.git.file(commit, path) if entry is not None else None
    return None if entry is None or data is None else FileContent(data, entry.mode)

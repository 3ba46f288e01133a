"""`ragit status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.wording import counted
from ragit_mcp.status import read_status

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Cell, Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """The state of the index."""
    report = read_status(context.place, environ=context.environ)
    return Answer(report.data, _draw, report.warnings)


def _draw(screen: Screen, data: Any) -> None:
    snapshot, knowledge, events = data["snapshot"], data["knowledge"], data["events"]
    rows: list[tuple[str, Cell]] = [
        ("commit", _commit(snapshot)),
        ("snapshot", _snapshot(snapshot["status"])),
        ("store", _store(data["store"])),
        ("manifests", str(data["manifests"])),
        ("embedding", _embedding(data["embedding"])),
        ("cache", _cache(data["embedding"]["cache"])),
        (
            "artifacts",
            "{sessionArtifactCount} session, {harnessArtifactCount} harness, {pendingBindings} not bound".format(
                **knowledge
            ),
        ),
        ("events", f"{events['eventCount']}, last {events['lastRecordedAt'] or 'never'}"),
        ("security", _security(data["security"])),
        ("writer", "nobody" if data["storeWriter"]["state"] == "missing" else data["storeWriter"]["state"]),
        ("ingests", _ingests(data["ingestRecovery"]["summary"])),
        ("runtime", _runtime(data["runtime"])),
    ]
    screen.table(["", ""], [((name, "name"), value) for name, value in rows])


def _commit(snapshot: Any) -> str:
    where = "detached" if snapshot["detached"] else snapshot["branch"] or "no branch"
    dirty = " (work tree has changes)" if snapshot["worktreeDirty"] else ""
    return f"{snapshot['resolvedSha'] or 'none yet'} on {where}{dirty}"


def _snapshot(status: str) -> Cell:
    if status == "indexed":
        return (status, "good")
    return (status, "warning" if status == "missing" else "bad")


def _security(security: Any) -> str:
    masking = "on" if security["maskingConfigured"] else "off"
    blocked, quarantined = security["admissionBlockedEntries"], security["admissionQuarantinedEntries"]
    return f"masking {masking}, admission {security['admissionMode']}, {blocked} blocked, {quarantined} quarantined"


def _ingests(summary: Any) -> str:
    unfinished = summary["precommitIncomplete"] + summary["finalizationPending"]
    damaged = summary["inconsistent"] + summary["invalid"]
    return f"{summary['completed']} completed, {unfinished} unfinished, {damaged} damaged"


def _runtime(runtime: Any) -> str:
    python, sqlite, platform = (runtime[name]["current"] for name in ("python", "sqlite", "platform"))
    return f"Python {python}, SQLite {sqlite}, {platform}"


def _store(store: Any) -> Cell:
    if store["stats"] is None:
        return (f"{store['status']} ({store['reason']})", "warning")
    stats = store["stats"]
    return f"{counted(stats['documents'], 'document')}, {counted(stats['chunks'], 'chunk')}, {_size(stats['bytes'])}"


def _embedding(embedding: Any) -> Cell:
    configured = embedding["configured"]
    if configured is None:
        return (f"not usable ({embedding['error']})", "bad")
    words = f"{configured['provider']}, {configured['model']}, {configured['egress']}"
    if embedding["needsMigration"]:
        return (f"{words}; the store holds vectors of another", "bad")
    return words if embedding["ready"] else (f"{words}; its key is not in the environment", "warning")


def _cache(cache: Any) -> str:
    if cache is None:
        return ""
    return counted(cache["entryCount"], "vector") if cache["enabled"] else f"off ({cache['reason']})"


def _size(size: int) -> str:
    if size < 1 << 20:
        return f"{size / 1024:.0f} KiB"
    return f"{size / (1 << 20):.1f} MiB"

"""`ragit status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.status import read_status

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Cell, Screen

__all__ = ["run"]

_TONES: dict[str, str] = {"indexed": "good", "missing": "warning"}


def run(context: Context) -> Answer:
    """The state of the index."""
    report = read_status(context.place, environ=context.environ)
    return Answer(report.data, _draw, report.warnings)


def _draw(screen: Screen, data: Any) -> None:
    snapshot, store, embedding = data["snapshot"], data["store"], data["embedding"]
    security, events, recovery = data["security"], data["events"], data["ingestRecovery"]["summary"]
    status = snapshot["status"]
    tone = "good" if status == "indexed" else "warning" if status == "missing" else "bad"
    where = "detached" if snapshot["detached"] else snapshot["branch"] or "no branch"
    dirty = " (work tree has changes)" if snapshot["worktreeDirty"] else ""
    rows: list[tuple[Cell, Cell]] = [
        ("commit", f"{snapshot['resolvedSha'] or 'none yet'} on {where}{dirty}"),
        ("snapshot", (status, tone)),  # type: ignore[list-item]  # one of the tones
        ("store", _store(store)),
        ("manifests", str(data["manifests"])),
        ("embedding", _embedding(embedding)),
        ("cache", _cache(embedding["cache"])),
        (
            "artifacts",
            (
                f"{data['knowledge']['sessionArtifactCount']} session, {data['knowledge']['harnessArtifactCount']} harness, "
                f"{data['knowledge']['pendingBindings']} not bound"
            ),
        ),
        ("events", f"{events['eventCount']}, last {events['lastRecordedAt'] or 'never'}"),
        (
            "security",
            (
                f"masking {'on' if security['maskingConfigured'] else 'off'}, admission {security['admissionMode']}, "
                f"{security['admissionBlockedEntries']} blocked, {security['admissionQuarantinedEntries']} quarantined"
            ),
        ),
        ("writer", data["storeWriter"]["state"]),
        (
            "ingests",
            (
                f"{recovery['completed']} completed, {recovery['precommitIncomplete'] + recovery['finalizationPending']} "
                f"unfinished, {recovery['inconsistent'] + recovery['invalid']} damaged"
            ),
        ),
        (
            "runtime",
            (
                f"Python {data['runtime']['python']['current']}, SQLite {data['runtime']['sqlite']['current']}, "
                f"{data['runtime']['platform']['current']}"
            ),
        ),
    ]
    screen.table(["", ""], [((str(name), "name"), value) for name, value in rows])


def _store(store: Any) -> Cell:
    if store["stats"] is None:
        return (f"{store['status']} ({store['reason']})", "warning")
    stats = store["stats"]
    return f"{stats['documents']} documents, {stats['chunks']} chunks, {_size(stats['bytes'])}"


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
    return f"{cache['entryCount']} vectors" if cache["enabled"] else f"off ({cache['reason']})"


def _size(size: int) -> str:
    if size < 1 << 20:
        return f"{size / 1024:.0f} KiB"
    return f"{size / (1 << 20):.1f} MiB"

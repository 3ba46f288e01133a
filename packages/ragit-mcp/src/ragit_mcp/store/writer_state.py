"""Who holds the store's write lock and how far each ingest came: what `status` and `doctor` tell.

The lock proper is the operating system's, on `store-write.mutex`, and ends with its process; `store-write.lock` says
who took it. So a lock file whose process is gone is left over and in nobody's way, unless it is of a kind that has no
such lock behind it (made by hand, or by another program): that one is explained and never stolen.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpkit.files import FileAccessError, read_below, walk_below
from ragit_mcp.store.layout import LOCK_FILE, TRANSACTIONS_DIR

__all__ = [
    "LockOwner",
    "Transactions",
    "WriterState",
    "process_is_alive",
    "read_transactions",
    "read_writer_state",
]

#: The member `mechanism` of lock files that have the operating system's lock behind them.
MECHANISM: Final = "os-lock"
LOCK_BYTES: Final = 16 * 1024
_JOURNAL_BYTES: Final = 4 << 20
_MAX_JOURNALS: Final = 1000

State = Literal["missing", "active", "stale", "unknown"]
#: Phases of an ingest, in order.
PHASES: Final = ("prepared", "store-written", "store-verified", "manifest-committed", "completed")
_COMMITTED: Final = PHASES.index("manifest-committed")


@dataclass(frozen=True, slots=True)
class LockOwner:
    """What a lock file says.

    Attributes:
        token: known to the owner only; whoever removes the file must have it.
        pid: process id.
        hostname: the machine it runs on.
        started_at: ISO time.
        command: what it does.
        head_sha: the commit it indexes.
        mechanism: `MECHANISM`, or None for a file without a lock of the operating system behind it.
    """

    token: str
    pid: int
    hostname: str
    started_at: str
    command: str
    head_sha: str | None = None
    mechanism: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The file's content (contract A9)."""
        found: dict[str, Any] = {
            "schemaVersion": 1,
            "token": self.token,
            "pid": self.pid,
            "hostname": self.hostname,
            "startedAt": self.started_at,
            "command": self.command,
            "mechanism": self.mechanism,
        }
        if self.head_sha is not None:
            found["headSha"] = self.head_sha
        return found


@dataclass(frozen=True, slots=True)
class WriterState:
    """The write lock.

    Attributes:
        state: `missing` (nobody writes), `active`, `stale` (its process is gone) or `unknown` (another machine's, or
            a file that cannot be read).
        owner: who took it, as far as known.
    """

    state: State
    owner: LockOwner | None = None

    def to_json(self) -> dict[str, Any]:
        """The member `storeWriter` of `status`; without the token."""
        owner = self.owner.to_json() if self.owner is not None else None
        if owner is not None:
            for name in ("token", "schemaVersion", "mechanism"):
                del owner[name]
        return {"state": self.state, "owner": owner}


def read_writer_state(root: str | os.PathLike[str]) -> WriterState:
    """The state of a repository's write lock; never fails."""
    try:
        data = read_below(root, LOCK_FILE, max_bytes=LOCK_BYTES)
    except FileAccessError as error:
        return WriterState("missing" if error.kind == "not_found" else "unknown")
    owner = parse_owner(data)
    if owner is None or owner.hostname != socket.gethostname():
        return WriterState("unknown", owner)
    return WriterState("active" if process_is_alive(owner.pid) else "stale", owner)


def parse_owner(data: bytes) -> LockOwner | None:
    """The owner that a lock file names; None if it does not."""
    try:
        value = json.loads(data)
        return LockOwner(
            token=_text(value["token"]),
            pid=_number(value["pid"]),
            hostname=_text(value["hostname"]),
            started_at=_text(value["startedAt"]),
            command=_text(value["command"]),
            head_sha=_text(value["headSha"]) if value.get("headSha") is not None else None,
            mechanism=_text(value["mechanism"]) if value.get("mechanism") is not None else None,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def process_is_alive(pid: int) -> bool:
    """Whether a process of this machine exists; True where that cannot be found out."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
        if not handle:
            return bool(ctypes.windll.kernel32.GetLastError() == 5)  # ERROR_ACCESS_DENIED: it exists
        code = ctypes.c_ulong()
        ctypes.windll.kernel32.GetExitCodeProcess(handle, ctypes.byref(code))
        ctypes.windll.kernel32.CloseHandle(handle)
        return code.value == 259  # STILL_ACTIVE
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


@dataclass(frozen=True, slots=True)
class Transactions:
    """How the ingests on record ended.

    Attributes:
        completed: finished ones.
        precommit_incomplete: ended before their manifest was written: the older state holds.
        finalization_pending: their manifest was written, their last step was not recorded.
        inconsistent: say what cannot be.
        invalid: records that cannot be read.
        pending: records of ingests that did not complete.
        last_completed: record of the latest finished one.
    """

    completed: int
    precommit_incomplete: int
    finalization_pending: int
    inconsistent: int
    invalid: int
    pending: tuple[dict[str, Any], ...]
    last_completed: dict[str, Any] | None

    def to_json(self) -> dict[str, Any]:
        """The member `ingestRecovery` of `status`."""
        return {
            "summary": {
                "completed": self.completed,
                "precommitIncomplete": self.precommit_incomplete,
                "finalizationPending": self.finalization_pending,
                "inconsistent": self.inconsistent,
                "invalid": self.invalid,
            },
            "pending": list(self.pending),
            "lastCompleted": self.last_completed,
        }


def read_transactions(root: str | os.PathLike[str]) -> Transactions:
    """The records of ingests; never fails."""
    counts = dict.fromkeys(
        ("completed", "precommit-incomplete", "finalization-pending", "inconsistent", "invalid"), 0
    )
    pending: list[dict[str, Any]] = []
    last: dict[str, Any] | None = None
    try:
        files = list(walk_below(root, TRANSACTIONS_DIR, max_entries=_MAX_JOURNALS, max_depth=0))
    except FileAccessError:
        files = []
    for file in files:
        if not file.path.endswith(".json"):
            continue
        record = _read_record(root, file.path)
        kind = classify(record)
        counts[kind] += 1
        if record is None:
            continue
        shown = {
            name: record.get(name)
            for name in ("transactionId", "phase", "status", "targetHeadSha", "startedAt", "updatedAt")
        }
        if kind == "completed":
            if last is None or str(shown["updatedAt"]) > str(last["updatedAt"]):
                last = shown
        else:
            pending.append({**shown, "classification": kind})
    return Transactions(
        completed=counts["completed"],
        precommit_incomplete=counts["precommit-incomplete"],
        finalization_pending=counts["finalization-pending"],
        inconsistent=counts["inconsistent"],
        invalid=counts["invalid"],
        pending=tuple(pending),
        last_completed=last,
    )


def classify(record: dict[str, Any] | None) -> str:
    """The class of a record: one of the contract's five (A9)."""
    if record is None:
        return "invalid"
    phase, status = record.get("phase"), record.get("status")
    if phase not in PHASES or status not in {"running", "completed", "failed-precommit", "failed-postcommit"}:
        return "invalid"
    if (phase == "completed") != (status == "completed"):
        return "inconsistent"
    if phase == "completed":
        return "completed"
    committed = PHASES.index(phase) >= _COMMITTED
    if (status == "failed-precommit" and committed) or (status == "failed-postcommit" and not committed):
        return "inconsistent"
    return "finalization-pending" if committed else "precommit-incomplete"


def _read_record(root: str | os.PathLike[str], path: str) -> dict[str, Any] | None:
    try:
        value = json.loads(
            read_below(root, f"{TRANSACTIONS_DIR}/{path.rpartition('/')[2]}", max_bytes=_JOURNAL_BYTES)
        )
    except (FileAccessError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value.get("schemaVersion") == 1 else None


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > 1000:
        raise ValueError("no text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("no number")
    return value

"""The log of admission: one line for each document that was quarantined or blocked (contract A5).

`.ragit/security/admission/<day>.jsonl` has all of them, `.ragit/security/quarantine/<day>.jsonl` those that are indexed
masked. A line holds the path and the reasons, never a text.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ragit_mcp.ingest.files import coded_write_errors
from ragit_mcp.snapshots.repository import refuse_links

__all__ = ["log_decisions"]

_APPEND: Final[int] = (
    os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
)


def log_decisions(root: str, commit: str, items: Sequence[Mapping[str, Any]], *, quarantine: bool) -> None:
    """Append decisions to the day's logs.

    Args:
        root: the repository's root.
        commit: the commit that was indexed.
        items: as in `AdmissionReport.to_json`.
        quarantine: keep the quarantine log too (`security.quarantine_on_redaction`).

    Raises:
        IngestError: `INGEST_STORE_WRITE_UNVERIFIED`.
        SnapshotError: `SNAPSHOT_STORE_UNAVAILABLE`, reason `link`.
    """
    if not items:
        return
    now = datetime.now(UTC)
    lines: dict[str, list[str]] = {"admission": [], "quarantine": []}
    for item in items:
        record = {"recordedAt": now.isoformat(timespec="milliseconds"), "commitSha": commit, **item}
        line = json.dumps(record)
        lines["admission"].append(line)
        if quarantine and item["action"] == "quarantine":
            lines["quarantine"].append(line)
    refuse_links(root)
    directory = os.path.join(root, ".ragit", "security")
    with coded_write_errors():
        for folder, texts in lines.items():
            if not texts:
                continue
            place = os.path.join(directory, folder)
            for path in (directory, place):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path)
                if os.path.islink(path):
                    raise OSError(f"{folder} is a link")
            descriptor = os.open(os.path.join(place, f"{now:%Y-%m-%d}.jsonl"), _APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write("".join(f"{text}\n" for text in texts).encode())

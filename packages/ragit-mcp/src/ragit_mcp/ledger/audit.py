"""Looking for secrets in what ragit keeps: records and logs, the store, the cache, the quarantine.

Everything was masked before it was written, so a finding means an older version, another program, or a rule that is newer
than the file. Findings name the place and the kinds, never the text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below, walk_below
from mcpkit.secrets import find_secrets
from ragit_mcp.corpus import show_path
from ragit_mcp.errors import RagitError
from ragit_mcp.ledger.reading import QUARANTINE_DIR
from ragit_mcp.safety import masked_text
from ragit_mcp.store import open_store

__all__ = ["TARGETS", "AuditFinding", "AuditOutcome", "audit"]

_CONTROL_PLANE: Final = (
    ".ragit/artifacts",
    ".ragit/docs",
    ".ragit/guide",
    ".ragit/log",
    ".ragit/manifest",
    ".ragit/memory",
    ".ragit/reports",
    ".ragit/runtime",
    ".ragit/security",
)
_CACHE: Final = (".ragit/cache",)
#: Directories of each target; the store is read through its own reader.
TARGETS: Final = {
    "control-plane": _CONTROL_PLANE,
    "store": (),
    "cache": _CACHE,
    "quarantine": (QUARANTINE_DIR,),
    "all": (*_CONTROL_PLANE, *_CACHE),
}
_MAX_FILES: Final = 200_000
_MAX_BYTES: Final = 8 << 20
_MAX_FINDINGS: Final = 200
_CHUNKS_AT_A_TIME: Final = 500
_TEXT_SUFFIXES: Final = (".json", ".jsonl", ".md", ".txt", ".toml", ".log", ".lock")


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """A place that holds secrets: a file, or a document of the store."""

    path: str
    count: int
    kinds: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """One entry of `findings`."""
        return {"path": self.path, "count": self.count, "kinds": list(self.kinds)}


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """What an audit found.

    Attributes:
        target: where it looked.
        findings: places with secrets, at most so many.
        scanned_files: files looked at.
        scanned_chunks: chunks of the store looked at.
        skipped: files too large or not readable.
    """

    target: str
    findings: tuple[AuditFinding, ...]
    scanned_files: int
    scanned_chunks: int
    skipped: int

    @property
    def unsafe(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def to_json(self) -> dict[str, Any]:
        """The data of the reply."""
        return {
            "target": self.target,
            "legacyUnsafeState": self.unsafe,
            "findings": [finding.to_json() for finding in self.findings],
            "scannedFiles": self.scanned_files,
            "scannedChunks": self.scanned_chunks,
            "skippedFiles": self.skipped,
        }


def audit(root: str | os.PathLike[str], target: str) -> AuditOutcome:
    """Look for secrets; reads only.

    Args:
        root: the repository's root.
        target: one of `TARGETS`.
    """
    findings: list[AuditFinding] = []
    files = chunks = skipped = 0
    for path in _files(root, TARGETS[target]):
        try:
            text = read_below(root, path, max_bytes=_MAX_BYTES).decode("utf-8", "replace")
        except FileAccessError:
            skipped += 1
            continue
        files += 1
        _look(text, path, findings)
    if target in {"store", "all"}:
        for place, text in _passages(root):
            chunks += 1
            _look(text, place, findings)
    return AuditOutcome(target, tuple(findings[:_MAX_FINDINGS]), files, chunks, skipped)


def _look(text: str, path: str, findings: list[AuditFinding]) -> None:
    found = find_secrets(text)
    # What is masked already, or an example that everybody knows, stays as it is.
    if found and masked_text(text).text != text:
        kinds = tuple(sorted({finding.kind for finding in found}))
        findings.append(AuditFinding(masked_text(show_path(path)).text, len(found), kinds))


def _files(root: str | os.PathLike[str], directories: tuple[str, ...]) -> Iterator[str]:
    for directory in directories:
        try:
            for file in walk_below(root, directory, max_entries=_MAX_FILES):
                if file.path.endswith(_TEXT_SUFFIXES):
                    yield file.path
        except FileAccessError:
            continue


def _passages(root: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Every chunk of the store, as place and text."""
    try:
        with open_store(root) as store:
            count = store.statistics().chunks
            rows = range(1, count + 1)
            for start in range(0, count, _CHUNKS_AT_A_TIME):
                for chunk in store.chunks(rows[start : start + _CHUNKS_AT_A_TIME]):
                    headings = "\n".join(chunk.heading_path)
                    yield f".ragit/store: {chunk.path}", f"{headings}\n{chunk.text}"
    except RagitError:
        return

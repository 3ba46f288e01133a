"""Making `.ragit`, and the starter documents where they are wanted.

Nothing that exists is changed, with one exception that is asked for: `--merge-existing` puts a marked section into an
AGENTS.md that is there already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpkit.files import FileAccessError, locate_below, read_below
from ragit_mcp.config import CONFIG_PATH, SETTINGS, Value, load_config
from ragit_mcp.config.editing import render_default_config
from ragit_mcp.corpus import check_explicit_path
from ragit_mcp.ingest.files import IGNORED
from ragit_mcp.init.scaffold import AGENTS_FILE, agents_section, starter_documents, with_agents_section
from ragit_mcp.init.scanning import INCLUDE_OF_MODE, Scan, scan_repository
from ragit_mcp.workspace_files import write_failed, write_file

__all__ = ["InitOutcome", "InitRequest", "initialise"]

_GUIDE: Final = ".ragit/guide/"
IGNORE_PATH: Final = ".ragit/.gitignore"
_MAX_AGENTS: Final = 4 << 20
_NAME_CHARACTERS: Final = re.compile(r"[^\w .-]")

Action = Literal["create", "keep", "merge"]


@dataclass(frozen=True, slots=True)
class InitRequest:
    """What init is asked for.

    Attributes:
        mode: kind of repository; `auto` looks for itself and keeps the default globs.
        strategy: how much a scaffold holds.
        scaffold: write starter documents.
        merge_existing: put our section into an AGENTS.md that exists.
        dry_run: only say what would be written.
    """

    mode: str = "auto"
    strategy: str = "balanced"
    scaffold: bool = False
    merge_existing: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class InitOutcome:
    """What was done, or would be.

    Attributes:
        scan: what was seen of the repository.
        actions: paths with `create`, `keep` (it exists) or `merge`.
        dry_run: nothing was written.
    """

    scan: Scan
    actions: tuple[tuple[str, Action], ...]
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """The data of the reply."""
        return {
            "dryRun": self.dry_run,
            "scan": self.scan.to_json(),
            "created": [path for path, action in self.actions if action == "create"],
            "merged": [path for path, action in self.actions if action == "merge"],
            "kept": [path for path, action in self.actions if action == "keep"],
        }


def initialise(
    root: str | os.PathLike[str], request: InitRequest, *, environ: Mapping[str, str] | None = None
) -> InitOutcome:
    """Make a repository ready.

    Args:
        root: top directory of the work tree.
        request: what for.
        environ: environment variables; the process's own if None.

    Raises:
        CommandError: `WRITE_FAILED`, also where `.ragit` is a link or a file.
        ConfigError: the repository's configuration, if there is one, cannot be read.
        IngestError: `INGEST_PATH_INVALID`: it names a place for a starter document that is none.
    """
    scan = scan_repository(root)
    actions: list[tuple[str, Action]] = []
    for path, text in _workspace(root, request, scan):
        actions.append((path, _write_new(root, path, text, request)))
    if request.scaffold:
        config = load_config(root, environ=environ)
        documents = list(starter_documents(config.project.name, config.docs, request.strategy))
        for path, _ in documents:
            if not path.startswith(_GUIDE):
                check_explicit_path(path)  # places come from the repository's configuration
        for path, text in documents:
            actions.append((path, _write_new(root, path, text, request)))
        actions.append((AGENTS_FILE, _write_agents(root, request)))
    return InitOutcome(scan, tuple(actions), request.dry_run)


def _workspace(root: str | os.PathLike[str], request: InitRequest, scan: Scan) -> Iterator[tuple[str, str]]:
    values: dict[str, Value] = {"project.mode": request.mode, "init.strategy": request.strategy}
    name = _NAME_CHARACTERS.sub("-", os.path.basename(os.path.realpath(root))).strip(" .-")[:80]
    if name:
        values["project.name"] = name
    if request.mode != "auto":
        values["ingest.include"] = INCLUDE_OF_MODE[request.mode]
    values = {key: value for key, value in values.items() if value != SETTINGS[key].default}
    yield CONFIG_PATH, render_default_config(values)
    yield IGNORE_PATH, IGNORED


def _write_new(root: str | os.PathLike[str], path: str, text: str, request: InitRequest) -> Action:
    if _exists(root, path):
        return "keep"
    if not request.dry_run:
        write_file(root, path, text)
    return "create"


def _write_agents(root: str | os.PathLike[str], request: InitRequest) -> Action:
    if not _exists(root, AGENTS_FILE):
        return _write_new(root, AGENTS_FILE, agents_section(), request)
    if not request.merge_existing:
        return "keep"
    try:
        text = read_below(root, AGENTS_FILE, max_bytes=_MAX_AGENTS).decode("utf-8")
    except FileAccessError as error:
        raise write_failed(AGENTS_FILE, error.reason) from None
    except UnicodeDecodeError:
        raise write_failed(AGENTS_FILE, "is not UTF-8") from None
    merged = with_agents_section(text)
    if merged == text:
        return "keep"
    if not request.dry_run:
        write_file(root, AGENTS_FILE, merged)
    return "merge"


def _exists(root: str | os.PathLike[str], path: str) -> bool:
    """Whether something stands there; a link on the way is refused before anything is written."""
    try:
        locate_below(root, path)
    except FileAccessError as error:
        if error.kind == "not_found":
            return False
        raise write_failed(path, error.reason) from None
    return True

"""What kind of repository it is, from the names in its top directories; no file is opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

from mcpkit.files import FileAccessError, walk_below
from ragit_mcp.corpus import is_markdown

__all__ = ["INCLUDE_OF_MODE", "Mode", "Scan", "scan_repository"]

Mode = Literal["empty", "existing", "monorepo", "docs-heavy"]

#: Documents that each kind of repository indexes by default.
INCLUDE_OF_MODE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "empty": ("README.md", "docs/**"),
    "existing": ("README.md", "docs/**"),
    "monorepo": ("README.md", "docs/**", "*/*/README.md", "*/*/docs/**"),
    "docs-heavy": ("**",),
})

_WORKSPACES: Final = frozenset({
    "cargo.lock",
    "go.work",
    "lerna.json",
    "nx.json",
    "pnpm-workspace.yaml",
    "turbo.json",
})
_PACKAGE_DIRECTORIES: Final = frozenset({"apps", "crates", "libs", "modules", "packages", "services"})
_SKIPPED: Final = frozenset({".git", ".ragit", "node_modules", "dist", ".venv", "target", "build"})
_MAX_ENTRIES: Final = 50_000
_MAX_DEPTH: Final = 8
_MANY_DOCUMENTS: Final = 10


@dataclass(frozen=True, slots=True)
class Scan:
    """What was seen.

    Attributes:
        mode: kind of repository.
        files: files seen, ragit's and git's own left out.
        documents: `.md` and `.mdx` files among them.
        complete: everything was seen; a very large repository is not.
    """

    mode: Mode
    files: int
    documents: int
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """The member `scan` of init's answer."""
        return {
            "mode": self.mode,
            "files": self.files,
            "documents": self.documents,
            "complete": self.complete,
        }


def scan_repository(root: str | os.PathLike[str]) -> Scan:
    """Look at the names in a work tree; bounded, follows no link, never fails."""
    files = documents = 0
    tops: set[str] = set()
    complete = True
    left = _MAX_ENTRIES
    for place in _top_level(root, tops):
        try:
            for file in walk_below(root, place, max_entries=left, max_depth=_MAX_DEPTH):
                files += 1
                documents += is_markdown(file.path)
                left -= 1
        except FileAccessError:
            complete = False
    for name in [name for name in tops if os.path.isfile(os.path.join(root, name))]:
        files += 1
        documents += is_markdown(name)
    return Scan(_mode(tops, files, documents), files, documents, complete)


def _top_level(root: str | os.PathLike[str], tops: set[str]) -> list[str]:
    """Directories below the root; all names are added to `tops`."""
    directories: list[str] = []
    try:
        with os.scandir(root) as scan:
            for entry in scan:
                if entry.name not in _SKIPPED:
                    tops.add(entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(entry.name)
    except OSError:
        return []
    return sorted(directories)


def _mode(tops: set[str], files: int, documents: int) -> Mode:
    lower = {name.lower() for name in tops}
    if not files:
        return "empty"
    if lower & _WORKSPACES or len(lower & _PACKAGE_DIRECTORIES) > 1:
        return "monorepo"
    return "docs-heavy" if documents >= _MANY_DOCUMENTS and documents * 2 > files else "existing"

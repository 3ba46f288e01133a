"""Which files of a commit are documents to be indexed (contract A9), and what to tell about the others.

A document is a file whose name ends with `.md` or `.mdx`, in any case. Unless files are named, those are selected
that `ingest.doc_globs` and `ingest.include` match and `ingest.exclude` does not. Nothing below `.git` and `.ragit` is
ever a document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from ragit_mcp.corpus.globs import GlobSet, split_patterns
from ragit_mcp.errors import IngestError

__all__ = [
    "CandidateFilter",
    "FileChoice",
    "Placement",
    "check_explicit_path",
    "is_markdown",
    "suggest_include",
]

_EXTENSIONS: Final = (".md", ".mdx")
_NEVER_INDEXED: Final = frozenset({".git", ".ragit"})
# Directories that may not be named explicitly either (contract A9).
_NEVER_NAMED: Final = _NEVER_INDEXED | {"node_modules", "dist"}
_EVERYTHING: Final = "**"
_MAX_SUGGESTED: Final = 8
_MAX_PATH_CHARACTERS: Final = 4096
# What may stand between double quotes in a command that somebody copies into a shell.
_SAFE_TO_COPY: Final = re.compile(r"(?![- ])[\w./* -]+(?<! )")


class Placement(StrEnum):
    """Where a file stands."""

    SELECTED = "selected"
    OUTSIDE = "outside"
    """A document that `doc_globs` or `include` leave out: the one that people miss."""
    EXCLUDED = "excluded"
    """A document that `exclude` names, or below a directory whose name begins with a dot."""
    NOT_A_DOCUMENT = "not-a-document"


def is_markdown(path: str) -> bool:
    """Whether a file's name ends with `.md` or `.mdx`, in any case."""
    return path[-4:].lower().endswith(_EXTENSIONS)


class CandidateFilter:
    """The files selected when none are named.

    Args:
        doc_globs: `ingest.doc_globs`.
        include: `ingest.include`.
        exclude: `ingest.exclude`; its wildcards also match names that begin with a dot.

    Raises:
        IngestError: `INGEST_GLOB_INVALID`.
    """

    def __init__(self, *, doc_globs: Iterable[str], include: Iterable[str], exclude: Iterable[str]) -> None:
        # What a document's name looks like; whether a directory with a dot is entered is for `include` to say.
        self._doc_globs = GlobSet(doc_globs, hidden=True)
        self._include = GlobSet(include)
        self._exclude = GlobSet(exclude, hidden=True)

    def place(self, path: str) -> Placement:
        """Where a repository path stands."""
        if not is_markdown(path):
            return Placement.NOT_A_DOCUMENT
        names = path.split("/")
        if names[0] in _NEVER_INDEXED or self._exclude.matches(path):
            return Placement.EXCLUDED
        if self._doc_globs.matches(_with_lower_extension(path)) and self._include.matches(path):
            return Placement.SELECTED
        return Placement.EXCLUDED if any(name.startswith(".") for name in names) else Placement.OUTSIDE


class FileChoice:
    """The files named by `--files`: globs separated by commas, of which those with a `!` in front take away.

    Args:
        text: the option's value.

    Raises:
        IngestError: `INGEST_GLOB_INVALID`, also if there is no glob that adds files.
    """

    def __init__(self, text: str) -> None:
        patterns = [pattern.strip() for pattern in split_patterns(text)]
        wanted = [pattern for pattern in patterns if pattern and not pattern.startswith("!")]
        if not wanted:
            raise IngestError(
                "INGEST_GLOB_INVALID", "--files names no glob that adds files.", details={"reason": "empty"}
            )
        self._wanted = GlobSet(wanted)
        self._unwanted = GlobSet(
            (pattern[1:] for pattern in patterns if pattern.startswith("!")), hidden=True
        )

    def matches(self, path: str) -> bool:
        """Whether a repository path is a document that the option names."""
        return (
            is_markdown(path)
            and not _NEVER_NAMED.intersection(path.split("/")[:-1])
            and self._wanted.matches(path)
            and not self._unwanted.matches(path)
        )


def check_explicit_path(path: str) -> str:
    """The repository path that somebody names with `--path`, in its plain spelling.

    Raises:
        IngestError: `INGEST_PATH_INVALID`; `details.reason` is `empty`, `too_long`, `control_characters`, `absolute`,
            `outside`, `reserved_directory` or `not_markdown`.
    """
    if not path.strip():
        raise _invalid_path("empty", "A path is empty.")
    if len(path) > _MAX_PATH_CHARACTERS:
        raise _invalid_path("too_long", f"A path has at most {_MAX_PATH_CHARACTERS} characters.")
    if any(character < " " or character == "\x7f" for character in path):
        raise _invalid_path("control_characters", "A path holds a control character.")
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        raise _invalid_path("absolute", "A path is relative to the repository's root.")
    names = [name for name in path.split("/") if name not in {"", "."}]
    if ".." in names:
        raise _invalid_path("outside", "A path stays inside the repository: it has no '..'.")
    if _NEVER_NAMED.intersection(names):
        raise _invalid_path(
            "reserved_directory", f"Nothing below {', '.join(sorted(_NEVER_NAMED))} is indexed."
        )
    plain = "/".join(names)
    if not is_markdown(plain) or path.endswith("/"):
        raise _invalid_path("not_markdown", "Only files that end with .md or .mdx are indexed.")
    return plain


def suggest_include(outside: Iterable[str], include: Sequence[str]) -> str | None:
    """The command that adds documents which lie outside the include globs; None if there are none.

    The command is meant to be copied into a shell, and directory names are whatever the repository's author chose:
    where one would not be harmless between double quotes, or where there are many, the suggestion is to include
    everything.

    Args:
        outside: paths placed `OUTSIDE`.
        include: the present `ingest.include`.
    """
    wanted: dict[str, None] = dict.fromkeys(include)
    added = 0
    for path in outside:
        first, slash, _ = path.partition("/")
        pattern = f"{first}/**" if slash else first
        if pattern not in wanted:
            wanted[pattern] = None
            added += 1
        if added > _MAX_SUGGESTED or "," in pattern or not _SAFE_TO_COPY.fullmatch(pattern):
            return _include_command([_EVERYTHING])
    if not added:
        return None
    if not all(_SAFE_TO_COPY.fullmatch(pattern) for pattern in wanted):
        return _include_command([_EVERYTHING])
    return _include_command(list(wanted))


def _include_command(patterns: Sequence[str]) -> str:
    return f'ragit config set ingest.include "{",".join(patterns)}"'


def _invalid_path(reason: str, message: str) -> IngestError:
    return IngestError("INGEST_PATH_INVALID", message, details={"reason": reason})


def _with_lower_extension(path: str) -> str:
    """The path with its extension in lower case, so that `*.md` finds `README.MD` too."""
    stem, dot, extension = path.rpartition(".")
    return f"{stem}{dot}{extension.lower()}"

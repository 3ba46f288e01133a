"""Whether a work tree differs from HEAD, found out without running a program of the repository.

`git status` and `git diff` run clean filters and file system monitors that the repository configures, so they are not
asked. Instead the index is read as data (see `index_file`). A file whose status is exactly the one that the index
remembers, and which is older than the index, has the content that the index names. Any other file is hashed as it
lies there. Line ends are converted here, by git's rules; a file that only a filter, an encoding or a keyword
expansion could compare counts as changed, with a warning.

Three questions are put to git, each proved harmless by a test with traps: its configuration as a list, attributes of
files that differ (`check-attr`), and untracked files (`ls-files --others`); file system monitor and hooks are switched
off. The user's own configuration (`core.excludesFile`, `core.attributesFile`, `core.autocrlf`) is read as data.

What differs is what `git diff HEAD` and `git ls-files --others --exclude-standard` would list. All is bounded: beyond
the time or the bytes allowed a work tree counts as changed, with a warning.

Every file's status is asked for every answer: nothing less notices a change. A caller that asks again and again passes a
`StateMemory`, so that the index is parsed, and a file hashed, only if it has another status than the last time.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from mcpkit.git.environment import NOWHERE
from mcpkit.git.errors import GitError
from mcpkit.git.index_file import Index, IndexEntry, IndexUnreadable
from mcpkit.git.memory import StateMemory
from mcpkit.git.process import Limits, find_git, run_git
from mcpkit.git.repository import Repository

__all__ = [
    "Change",
    "ChangeKind",
    "StateLimits",
    "StateWarning",
    "WorkTreeState",
    "read_work_tree_state",
]

ChangeKind = Literal[
    "added", "conflicted", "deleted", "modified", "submodule", "type_changed", "undecided", "untracked"
]
WarningKind = Literal["filtered", "index", "limits", "unreadable", "untracked_unknown"]

_REASONS: Final[dict[WarningKind, str]] = {
    "filtered": "some files pass through a filter, which is not run, so they count as changed",
    "index": "git's index could not be understood, so the work tree counts as changed",
    "limits": "the work tree is too large to be compared within the limits, so it counts as changed",
    "unreadable": "some files could not be read, so they count as changed",
    "untracked_unknown": "untracked files could not be listed within the limits, so the work tree counts as changed",
}
_WINDOWS: Final = sys.platform == "win32"
_REGULAR: Final = 0o100000
_SYMLINK: Final = 0o120000
_GITLINK: Final = 0o160000
_DIRECTORY: Final = 0o040000
_BLOCK: Final = 1 << 20
_MAX_IN_MEMORY: Final = 64 << 20
_MAX_DEPTH: Final = 4
_CLOCK_EVERY: Final = 128
_ATTRIBUTES: Final = ("text", "crlf", "eol", "filter", "ident", "working-tree-encoding")
_TRUE: Final = frozenset({b"true", b"yes", b"on", b"1", b""})


class Change(NamedTuple):
    """One path that differs from HEAD.

    Attributes:
        path: from the top of the work tree; an untracked repository inside it ends with `/`.
        kind: what differs. `undecided` counts as changed because it cannot be compared.
    """

    path: bytes
    kind: ChangeKind


class StateWarning(NamedTuple):
    """Something that makes the answer less sure than git's.

    Attributes:
        kind: stable name of the case.
        reason: the case in words; holds no path.
    """

    kind: WarningKind
    reason: str


@dataclass(frozen=True, slots=True)
class StateLimits:
    """What finding out may take.

    Attributes:
        seconds: time for the whole answer, submodules included.
        hashed_bytes: bytes of files that are read.
        untracked_bytes: length of the list of untracked files.
    """

    seconds: float = 5.0
    hashed_bytes: int = 512 << 20
    untracked_bytes: int = 16 << 20


@dataclass(frozen=True, slots=True)
class WorkTreeState:
    """The answer.

    Attributes:
        changes: what differs, sorted by path.
        assume_unchanged: paths that differ though the user promised that they do not; git leaves them out.
        warnings: what could not be decided.
        complete: every path was looked at. If not, `changes` is part of the truth and the work tree counts as changed.
    """

    changes: tuple[Change, ...]
    assume_unchanged: tuple[bytes, ...] = ()
    warnings: tuple[StateWarning, ...] = ()
    complete: bool = True

    @property
    def dirty(self) -> bool:
        """The work tree differs from HEAD, or may."""
        return bool(self.changes) or not self.complete


def read_work_tree_state(
    repository: Repository,
    *,
    limits: StateLimits | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    memory: StateMemory | None = None,
    head: str | None = None,
) -> WorkTreeState:
    """Compare a work tree with HEAD.

    Args:
        repository: a repository with a work tree.
        limits: what it may take.
        environ: where the user's own configuration is; the process's environment if None.
        clock: seconds, for the time limit.
        memory: of earlier answers; nothing is remembered if None.
        head: HEAD's commit, where the caller has just asked for it; asked for if None.

    Raises:
        GitError: `bare_repository`; a failing git, but not its running out of time.
    """
    if repository.layout.work_tree is None:
        raise GitError("bare_repository")
    allowed = limits or StateLimits()
    variables = os.environ if environ is None else environ
    budget = _Budget(clock, clock() + allowed.seconds, allowed.hashed_bytes, allowed.untracked_bytes)
    return _Comparison(repository, budget, variables, memory or StateMemory(), depth=0, head=head).state()


class _Exhausted(Exception):
    """The limits are reached."""


@dataclass(slots=True)
class _Budget:
    clock: Callable[[], float]
    deadline: float
    bytes_left: int
    untracked_bytes: int

    def left(self) -> float:
        seconds = self.deadline - self.clock()
        if seconds <= 0:
            raise _Exhausted
        return seconds

    def spend(self, size: int) -> None:
        self.bytes_left -= size
        if self.bytes_left < 0:
            raise _Exhausted
        self.left()


@dataclass(frozen=True, slots=True)
class _Settings:
    """What git's configuration says about comparing."""

    file_mode: bool = True
    symlinks: bool = True
    trust_ctime: bool = True
    autocrlf: bool = False
    excludes_file: str | None = None
    attributes_file: str | None = None


class _Suspect(NamedTuple):
    """A regular file whose raw content does not settle the matter."""

    path: bytes
    wanted: str
    hidden: bool
    same_raw: bool


@dataclass(slots=True)
class _Found:
    changes: dict[bytes, ChangeKind] = field(default_factory=dict)
    hidden: set[bytes] = field(default_factory=set)
    warnings: set[WarningKind] = field(default_factory=set)
    complete: bool = True


class _Comparison:
    def __init__(
        self,
        repository: Repository,
        budget: _Budget,
        environ: Mapping[str, str],
        memory: StateMemory,
        *,
        depth: int,
        head: str | None = None,
    ) -> None:
        self._repository = repository
        self._root = os.fsencode(repository.layout.work_tree or "")
        self._prefix = os.path.join(self._root, b"")
        self._budget = budget
        self._environ = environ
        self._memory = memory
        self._depth = depth
        self._head = head
        self._found = _Found()
        self._parents: dict[bytes, bool] = {b"": True}
        self._settings = _Settings()

    def state(self) -> WorkTreeState:
        found = self._found
        try:
            self._compare()
        except _Exhausted:
            found.complete = False
            found.warnings.add("limits")
        except IndexUnreadable:
            found.complete = False
            found.warnings.add("index")
        except GitError as error:
            if error.kind != "timeout":
                raise
            found.complete = False
            found.warnings.add("limits")
        return WorkTreeState(
            changes=tuple(Change(path, kind) for path, kind in sorted(found.changes.items())),
            assume_unchanged=tuple(sorted(found.hidden)),
            warnings=tuple(StateWarning(kind, _REASONS[kind]) for kind in sorted(found.warnings)),
            complete=found.complete,
        )

    def _compare(self) -> None:
        layout = self._repository.layout
        self._settings = _read_settings(self._bounded(), self._environ)
        index = self._memory.index(layout.git_dir, self._repository.object_format)
        entries = self._expanded(index)
        head = self._head_entries(index, entries)
        suspects = self._compare_entries(entries, head, index.mtime_ns)
        self._decide(suspects)
        self._add_untracked()

    def _bounded(self) -> Repository:
        limits = self._repository.limits
        return self._repository.bounded(
            limits=replace(limits, timeout=min(limits.timeout, self._budget.left()))
        )

    def _expanded(self, index: Index) -> list[IndexEntry]:
        """The entries, directories of a sparse index taken apart."""
        if not any(entry.mode == _DIRECTORY for entry in index.entries):
            return index.entries
        expanded: list[IndexEntry] = []
        for entry in index.entries:
            if entry.mode != _DIRECTORY:
                expanded.append(entry)
                continue
            expanded.extend(
                entry._replace(path=entry.path + below.path, mode=int(below.mode, 8), oid=below.oid)
                for below in self._bounded().list_tree(entry.oid, sizes=False)
            )
        return expanded

    def _head_entries(self, index: Index, entries: list[IndexEntry]) -> Mapping[bytes, tuple[int, str]]:
        """Mode and id of every path in HEAD."""
        try:
            head = self._head or self._bounded().resolve("HEAD")
        except GitError as error:
            if error.kind != "unborn_head":
                raise
            return {}
        if index.root_tree is not None and self._tree(head) == index.root_tree:
            return {entry.path: (entry.mode, entry.oid) for entry in entries if not entry.intent_to_add}
        listed = self._bounded().list_tree(head, sizes=False)
        return {entry.path: (int(entry.mode, 8), entry.oid) for entry in listed}

    def _tree(self, commit: str) -> str:
        return self._memory.tree(commit, lambda oid: self._bounded().commit(oid).tree)

    def _compare_entries(
        self, entries: Iterable[IndexEntry], head: Mapping[bytes, tuple[int, str]], index_mtime: int
    ) -> list[_Suspect]:
        changes = self._found.changes
        suspects: list[_Suspect] = []
        seen: set[bytes] = set()
        for number, entry in enumerate(entries):
            if number % _CLOCK_EVERY == 0:
                self._budget.left()
            seen.add(entry.path)
            if self._is_untouched(entry, head, index_mtime):
                continue
            if entry.stage:
                changes[entry.path] = "conflicted"
                continue
            wanted = head.get(entry.path)
            if wanted is None:
                # Staged and gone again, it is neither here nor there.
                if entry.skip_worktree or entry.assume_unchanged or self._status(entry.path) is not None:
                    changes[entry.path] = "added"
                continue
            outcome = self._compare_entry(entry, wanted, index_mtime)
            if isinstance(outcome, _Suspect):
                suspects.append(outcome)
            elif outcome is not None:
                changes[entry.path] = outcome
        for path in head.keys() - seen:
            changes[path] = "deleted"
        return suspects

    def _is_untouched(
        self, entry: IndexEntry, head: Mapping[bytes, tuple[int, str]], index_mtime: int
    ) -> bool:
        """Whether the common case holds: an ordinary file, staged as it is in HEAD, with the status of the index.

        The rules are those of `_settled`, written out: this runs for every file at every question.
        """
        path, mode, oid, stage, assumed, skipped, intended, known = entry
        if (
            stage
            or assumed
            or skipped
            or intended
            or mode & 0o170000 != _REGULAR
            or head.get(path) != (mode, oid)
        ):
            return False
        if not self._parent_is_directory(path.rpartition(b"/")[0]):
            return False
        try:
            status = os.lstat(self._prefix + path)
        except (OSError, ValueError):
            return False
        modified = status.st_mtime_ns
        if (
            status.st_mode & 0o170000 != _REGULAR
            or status.st_size & 0xFFFFFFFF != known[9]
            or modified != known[2] * 10**9 + known[3]
            or modified >= index_mtime
        ):
            return False
        if _WINDOWS:
            return True
        settings = self._settings
        return (
            status.st_ino & 0xFFFFFFFF == known[5]
            and (not settings.trust_ctime or status.st_ctime_ns == known[0] * 10**9 + known[1])
            and (not settings.file_mode or bool(status.st_mode & 0o100) == bool(mode & 0o100))
        )

    def _compare_entry(
        self, entry: IndexEntry, wanted: tuple[int, str], index_mtime: int
    ) -> ChangeKind | _Suspect | None:
        staged: ChangeKind | None = _difference(wanted, (entry.mode, entry.oid))
        if entry.intent_to_add:
            return "added"
        status = self._status(entry.path)
        if status is None:
            return staged if entry.skip_worktree or entry.assume_unchanged else "deleted"
        if isinstance(status, str):
            self._found.warnings.add("unreadable")
            return "undecided"
        if entry.mode == _GITLINK:
            return staged if entry.assume_unchanged else self._compare_submodule(entry, wanted, status)
        mode = self._mode_of(entry.mode, status)
        if entry.assume_unchanged:
            if mode is None or self._settled(entry, status, index_mtime) is None:
                self._look_behind_promise(entry, mode, status)
            return staged
        if mode is None:
            return "deleted" if stat.S_ISDIR(status.st_mode) else "type_changed"
        if _kind(mode) != _kind(wanted[0]):
            return "type_changed"
        known = self._settled(entry, status, index_mtime)
        if known is not None:
            return _difference(wanted, (mode, known))
        if _kind(mode) == _SYMLINK and stat.S_ISLNK(status.st_mode):
            return _difference(wanted, (mode, self._hash_link(entry.path)))
        found = self._hash_file(entry.path, status)
        if found is None:
            self._found.warnings.add("unreadable")
            return "undecided"
        oid, has_crlf = found
        if mode != wanted[0]:
            return "modified"
        if _kind(mode) == _SYMLINK or (oid == wanted[1] and not has_crlf):
            return _difference(wanted, (mode, oid))
        return _Suspect(entry.path, wanted[1], hidden=False, same_raw=oid == wanted[1])

    def _look_behind_promise(self, entry: IndexEntry, mode: int | None, status: os.stat_result) -> None:
        """Note a file that its user promised not to change, if it did; a filter gives it the benefit of the doubt."""
        if mode is None:
            self._found.hidden.add(entry.path)
        elif _kind(mode) == _REGULAR:
            found = self._hash_file(entry.path, status)
            if found is not None and found[0] != entry.oid:
                self._found.hidden.add(entry.path)

    def _status(self, path: bytes) -> os.stat_result | Literal["denied"] | None:
        """A path's status; None if it is not there, or only behind a link, where git does not look either."""
        if not self._parent_is_directory(path.rpartition(b"/")[0]):
            return None
        try:
            return os.lstat(os.path.join(self._root, path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError):
            return "denied"

    def _parent_is_directory(self, path: bytes) -> bool:
        known = self._parents.get(path)
        if known is None:
            known = False
            if self._parent_is_directory(path.rpartition(b"/")[0]):
                try:
                    known = stat.S_ISDIR(os.lstat(os.path.join(self._root, path)).st_mode)
                except (OSError, ValueError):
                    known = False
            self._parents[path] = known
        return known

    def _mode_of(self, expected: int, status: os.stat_result) -> int | None:
        """The mode git would record for a file; None for what it does not record."""
        if stat.S_ISLNK(status.st_mode):
            return _SYMLINK
        if not stat.S_ISREG(status.st_mode):
            return None
        if not self._settings.symlinks and _kind(expected) == _SYMLINK:
            return _SYMLINK
        if not self._settings.file_mode or _WINDOWS:
            return expected if _kind(expected) == _REGULAR else _REGULAR | 0o644
        return _REGULAR | (0o755 if status.st_mode & 0o100 else 0o644)

    def _settled(self, entry: IndexEntry, status: os.stat_result, index_mtime: int) -> str | None:
        """The content's id, where the file is provably the one that the index saw."""
        remembered = entry.stat
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        if (
            remembered[9] != status.st_size & 0xFFFFFFFF
            or remembered[2] != seconds & 0xFFFFFFFF
            or remembered[3] != nanoseconds
            # Written in the very moment of the index, it may have been written once more since.
            or status.st_mtime_ns >= index_mtime
        ):
            return None
        if not _WINDOWS:
            changed, fraction = divmod(status.st_ctime_ns, 10**9)
            if self._settings.trust_ctime and (remembered[0], remembered[1]) != (
                changed & 0xFFFFFFFF,
                fraction,
            ):
                return None
            if remembered[5] != status.st_ino & 0xFFFFFFFF:
                return None
        return entry.oid

    def _hash_link(self, path: bytes) -> str:
        try:
            target = os.readlink(os.path.join(self._root, path))
        except (OSError, ValueError):
            return ""
        return _blob_id(target, self._repository.object_format)

    def _hash_file(self, path: bytes, status: os.stat_result) -> tuple[str, bool] | None:
        """The id of a file's raw content, and whether it has a line that ends with CR LF; None if unreadable."""
        return self._memory.content(
            os.path.join(self._root, path),
            self._repository.object_format,
            status,
            lambda: self._hash_anew(path, status),
        )

    def _hash_anew(self, path: bytes, status: os.stat_result) -> tuple[str, bool] | None:
        self._budget.spend(status.st_size)
        digest = hashlib.new(self._repository.object_format, usedforsecurity=False)
        digest.update(b"blob %d\0" % status.st_size)
        has_crlf, last, size = False, b"", 0
        try:
            with open(os.path.join(self._root, path), "rb", buffering=0, opener=_open_file) as stream:
                while block := stream.read(_BLOCK):
                    digest.update(block)
                    has_crlf = has_crlf or b"\r\n" in block or (last == b"\r" and block.startswith(b"\n"))
                    last = block[-1:]
                    size += len(block)
                    if size > status.st_size:
                        break
                    self._budget.left()
        except OSError:
            return None
        # A file that is being written is another one than was asked about: certainly not the committed one.
        return (digest.hexdigest() if size == status.st_size else ""), has_crlf

    def _compare_submodule(
        self, entry: IndexEntry, wanted: tuple[int, str], status: os.stat_result
    ) -> ChangeKind | None:
        if wanted[0] != _GITLINK or not stat.S_ISDIR(status.st_mode):
            return "type_changed"
        path = os.path.join(self._root, entry.path)
        if not os.path.lexists(os.path.join(path, b".git")):
            return _difference(wanted, (entry.mode, entry.oid))  # not checked out
        try:
            inner = Repository.open(os.fsdecode(path), limits=self._bounded().limits)
            head = inner.head().oid
        except GitError:
            self._found.warnings.add("unreadable")
            return "undecided"
        if inner.layout.work_tree is None or head is None:
            return _difference(wanted, (entry.mode, entry.oid))
        if head != wanted[1]:
            return "submodule"
        if self._depth >= _MAX_DEPTH:
            raise _Exhausted
        state = _Comparison(
            inner, self._budget, self._environ, self._memory, depth=self._depth + 1, head=head
        ).state()
        self._found.warnings.update(warning.kind for warning in state.warnings)
        return "submodule" if state.dirty else None

    def _decide(self, suspects: list[_Suspect]) -> None:
        """Settle the files whose raw content differs, or has line ends that git might convert."""
        if not suspects:
            return
        attributes = self._attributes([suspect.path for suspect in suspects])
        for suspect in suspects:
            kind = self._decide_one(suspect, attributes.get(suspect.path, {}))
            if kind is not None:
                self._found.changes[suspect.path] = kind

    def _decide_one(self, suspect: _Suspect, attributes: Mapping[str, str]) -> ChangeKind | None:
        opaque = any(
            attributes.get(name, "unspecified") not in {"unspecified", "unset"}
            for name in ("filter", "ident", "working-tree-encoding")
        )
        if opaque:
            if suspect.same_raw:
                return None
            self._found.warnings.add("filtered")
            return "undecided"
        conversion = _conversion(attributes, autocrlf=self._settings.autocrlf)
        if conversion == "none":
            return None if suspect.same_raw else "modified"
        if conversion == "auto" and suspect.same_raw:
            return None  # what was committed with CR LF is left as it is
        content = self._content(suspect.path)
        if content is None:
            self._found.warnings.add("unreadable")
            return "undecided"
        if conversion == "auto" and _looks_binary(content):
            return None if suspect.same_raw else "modified"
        converted = _blob_id(content.replace(b"\r\n", b"\n"), self._repository.object_format)
        return None if converted == suspect.wanted else "modified"

    def _content(self, path: bytes) -> bytes | None:
        try:
            with open(os.path.join(self._root, path), "rb", opener=_open_file) as stream:
                # Not the limit itself: that much memory would be set aside for every small file.
                size = os.fstat(stream.fileno()).st_size
                content = stream.read(min(size, _MAX_IN_MEMORY) + 1)
        except OSError:
            return None
        self._budget.spend(len(content))
        if len(content) > _MAX_IN_MEMORY:
            raise _Exhausted
        return content

    def _attributes(self, paths: list[bytes]) -> dict[bytes, dict[str, str]]:
        answer = self._ask(
            [("core.attributesFile", self._settings.attributes_file)],
            "check-attr", "-z", "--stdin", *_ATTRIBUTES, "--",
            data=b"".join(path + b"\0" for path in paths),
        )  # fmt: skip
        fields = answer.split(b"\0")
        found: dict[bytes, dict[str, str]] = {}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
            found.setdefault(path, {})[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
        return found

    def _add_untracked(self) -> None:
        try:
            answer = self._ask(
                [("core.excludesFile", self._settings.excludes_file)],
                "ls-files", "--others", "--exclude-standard", "-z",
            )  # fmt: skip
        except GitError as error:
            if error.kind not in {"output_too_large", "timeout", "git_failed", "missing_object"}:
                raise
            self._found.complete = False
            self._found.warnings.add("untracked_unknown")
            return
        for path in answer.split(b"\0")[:-1]:
            self._found.changes.setdefault(path, "untracked")

    def _ask(self, files: list[tuple[str, str | None]], *command: str, data: bytes | None = None) -> bytes:
        """Run one of the two commands that look at the work tree, with the real work tree and index."""
        repository = self._bounded()
        repository = repository.bounded(
            limits=replace(repository.limits, output_bytes=self._budget.untracked_bytes)
        )
        switches = [word for name, path in files for word in ("-c", f"{name}={path or NOWHERE}")]
        named = {
            "GIT_WORK_TREE": os.fsdecode(self._root),
            "GIT_INDEX_FILE": os.path.join(repository.layout.git_dir, "index"),
        }
        return repository.run_checked(*switches, *command, data=data, environment=named)


def _difference(wanted: tuple[int, str], found: tuple[int, str]) -> ChangeKind | None:
    if wanted == found:
        return None
    return "modified" if _kind(wanted[0]) == _kind(found[0]) else "type_changed"


def _kind(mode: int) -> int:
    return mode & 0o170000


def _blob_id(content: bytes, object_format: str) -> str:
    digest = hashlib.new(object_format, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest()


def _open_file(path: str, flags: int) -> int:
    extra = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.open(path, flags | extra | getattr(os, "O_BINARY", 0))


def _conversion(attributes: Mapping[str, str], *, autocrlf: bool) -> Literal["always", "auto", "none"]:
    """How git converts line ends on the way into the repository (gitattributes(5), `text`, `eol`, and older `crlf`)."""
    text = attributes.get("text", "unspecified")
    if text == "unspecified":
        text = attributes.get("crlf", "unspecified")
        text = "set" if text == "input" else text
    if text == "unset":
        return "none"
    if text == "auto":
        return "auto"
    if text == "set" or attributes.get("eol", "unspecified") in {"lf", "crlf"}:
        return "always"
    return "auto" if autocrlf else "none"


def _looks_binary(content: bytes) -> bool:
    """Whether git takes a file for something other than text, so that it leaves its line ends alone.

    Text has no NUL, no CR alone, and 128 printable characters for each that is not.
    """
    if b"\0" in content or content.count(b"\r") != content.count(b"\r\n"):
        return True
    plain = content.removesuffix(b"\x1a")
    unprintable = len(plain) - len(plain.translate(None, _UNPRINTABLE))
    line_ends = content.count(b"\r\n") * 2 + content.replace(b"\r\n", b"").count(b"\n")
    return ((len(plain) - unprintable - line_ends) >> 7) < unprintable


# Control characters but backspace, tab, line feed, form feed, carriage return and escape; and DEL.
_UNPRINTABLE: Final = bytes(code for code in (*range(32), 127) if code not in {8, 9, 10, 12, 13, 27})


def _read_settings(repository: Repository, environ: Mapping[str, str]) -> _Settings:
    values: dict[str, bytes] = {}
    for path in _user_files(environ):
        try:
            found = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(found.st_mode):
            values.update(_file_settings(path, found.st_mtime_ns, found.st_size))
    listed = repository.run_checked("config", "--list", "--null", "--show-scope", "--includes")
    fields = listed.split(b"\0")
    for scope, item in zip(fields[::2], fields[1::2], strict=False):
        if scope in {b"local", b"worktree"}:
            values.update([_setting(item)])
    return _Settings(
        file_mode=_boolean(values.get("core.filemode"), default=True),
        symlinks=_boolean(values.get("core.symlinks"), default=True),
        trust_ctime=_boolean(values.get("core.trustctime"), default=True),
        autocrlf=values.get("core.autocrlf", b"false").lower() == b"input"
        or _boolean(values.get("core.autocrlf"), default=False),
        excludes_file=_named_file(values.get("core.excludesfile"), environ, "ignore"),
        attributes_file=_named_file(values.get("core.attributesfile"), environ, "attributes"),
    )


def _user_files(environ: Mapping[str, str]) -> Iterator[str]:
    """Configuration files of the machine and of the user, in git's order: a later one outranks an earlier one."""
    if environ.get("GIT_CONFIG_NOSYSTEM", "").lower().encode() not in _TRUE - {b""}:
        named = environ.get("GIT_CONFIG_SYSTEM")
        if named:
            yield named
        else:
            beside = os.path.dirname(os.path.dirname(find_git()))
            yield from dict.fromkeys(("/etc/gitconfig", os.path.join(beside, "etc", "gitconfig")))
    if "GIT_CONFIG_GLOBAL" in environ:
        yield environ["GIT_CONFIG_GLOBAL"]
        return
    place = _configuration_home(environ)
    if place:
        yield os.path.join(place, "git", "config")
    home = _home(environ)
    if home:
        yield os.path.join(home, ".gitconfig")


@functools.lru_cache(maxsize=32)
def _file_settings(path: str, _mtime_ns: int, _size: int) -> dict[str, bytes]:
    """The settings of one file; read by git, since the format has its corners, and remembered until it changes."""
    limits = Limits(timeout=5, output_bytes=4 << 20)
    try:
        answer = run_git(["config", "--file", path, "--list", "--null", "--includes"], limits=limits)
    except GitError as error:
        if error.kind in {"git_missing", "gitpython_missing"}:
            raise
        return {}
    if answer.code != 0:
        return {}
    return dict(_setting(item) for item in answer.output.split(b"\0")[:-1])


def _setting(item: bytes) -> tuple[str, bytes]:
    """A key in lower case and its value; a key without a value means yes."""
    key, separator, value = item.partition(b"\n")
    return key.decode("utf-8", "replace").lower(), value if separator else b"true"


def _boolean(value: bytes | None, *, default: bool) -> bool:
    if value is None:
        return default
    number = value.removeprefix(b"-")
    return value.lower() in _TRUE - {b""} or (number.isdigit() and number.strip(b"0") != b"")


def _named_file(value: bytes | None, environ: Mapping[str, str], default: str) -> str | None:
    """The file that a setting names, or the one in the user's configuration; None if it is no regular file.

    A repository may name any file; it is only ever read for patterns, and never one that could block.
    """
    if value is None:
        place = _configuration_home(environ)
        path = os.path.join(place, "git", default) if place else ""
    else:
        path = os.fsdecode(value)
        home = _home(environ)
        if path.startswith("~/") and home:
            path = os.path.join(home, path[2:])
    if not os.path.isabs(path) or not os.path.isfile(path):
        return None
    return path


def _home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME") or (environ.get("USERPROFILE", "") if _WINDOWS else "")


def _configuration_home(environ: Mapping[str, str]) -> str:
    home = _home(environ)
    return environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else "")

"""What a checkout changed, as a review wants it: a diff and the changed files as they are at `head`.

Contract section 4 with section 11, items 10 and 11: everything comes from the object database, nothing from the work
tree, so neither a link that was exchanged nor a dirty tree can change what is sent. A path is admitted by its place in
the repository: inside the sandbox root and outside Mergestorm's own configuration. No program of the repository runs
(`mcpkit.git`).

Blocking: call it in a thread.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcpkit.git import CancelCheck, DiffEntry, GitError, Repository
from mergestorm_mcp.checkout import git_refusal, github_repository, open_checkout
from mergestorm_mcp.config import Environment, config_directory
from mergestorm_mcp.errors import CommandError, usage
from mergestorm_mcp.sandbox import lies_below, sandbox_root
from mergestorm_mcp.steady import steady
from mergestorm_mcp.trunk import branch_commit, trunk_of

__all__ = ["MAX_DIFF_BYTES", "MAX_FILES", "MAX_FILE_BYTES", "Changes", "collect_changes", "discover_trunk"]

MAX_DIFF_BYTES: Final = 1_000_000
"""The service's limit for a diff."""

MAX_FILES: Final = 40
MAX_FILE_BYTES: Final = 400_000

_MAX_NAMES: Final = 50_000
_MAX_THREAD: Final = 120
_REGULAR: Final = frozenset({"100644", "100755"})
_ODD: Final = re.compile(r"[^A-Za-z0-9._/-]")
# As git decides what is binary: a NUL among the first bytes.
_PROBE: Final = 8000


@dataclass(frozen=True, slots=True)
class Changes:
    """What there is to review.

    Attributes:
        branch: the branch checked out; "HEAD" where none is.
        thread: the thread's default name.
        repo: `owner/name` on GitHub, None where origin is elsewhere.
        base_label: name of the base.
        head_label: name of the head.
        diff: unified diff from their merge base to the head; blank if nothing changed.
        files: paths and contents at the head.
        notes: what was left out and why, for people.
    """

    branch: str
    thread: str
    repo: str | None
    base_label: str
    head_label: str
    diff: str
    files: list[dict[str, str]]
    notes: list[str]


def collect_changes(
    environment: Environment,
    *,
    cwd: str | None,
    base: str | None,
    head: str | None,
    cancel: CancelCheck | None = None,
) -> Changes:
    """Compare `head` with its merge base with `base`.

    Args:
        environment: sandbox and working directory.
        cwd: a directory of the checkout.
        base: revision; the trunk unless told.
        head: revision; HEAD unless told.
        cancel: asked while git runs.

    Raises:
        CommandError: `usage`, `not_a_repo`, `outside_sandbox` or `sandbox_root_required`, all exit 2.
    """
    repository = open_checkout(environment, cwd, cancel)
    try:
        with steady(repository):
            return _collect(environment, repository, base, head or "HEAD")
    except GitError as error:
        raise git_refusal(error) from None


def discover_trunk(
    environment: Environment, cwd: str | None, cancel: CancelCheck | None = None
) -> str | None:
    """Name of the trunk of the checkout at `cwd`; None where there is none that may be read."""
    try:
        return trunk_of(open_checkout(environment, cwd, cancel))
    except CommandError:
        return None
    except GitError as error:
        if error.kind == "cancelled":
            raise
        return None


def _collect(environment: Environment, repository: Repository, base: str | None, head: str) -> Changes:
    base_label = base or trunk_of(repository)
    if base_label is None:
        raise usage("The checkout has no main or master and no default branch of origin; pass base.")
    base_commit = _resolve(repository, base_label, "base")
    head_commit = _resolve(repository, head, "head")
    branch = repository.head().branch or "HEAD"
    url = github_repository(repository.config_value("remote.origin.url") or "")
    changes = Changes(
        branch=branch,
        thread=_ODD.sub("-", f"local/{branch}")[:_MAX_THREAD],
        repo="/".join(url) if url is not None else None,
        base_label=base_label,
        head_label=head,
        diff="",
        files=[],
        notes=[],
    )
    origin = repository.merge_base(base_commit, head_commit)
    if origin is None:
        raise usage(
            "base and head share no history here; fetch more of it, or name a base that head was made from."
        )
    entries = _changed(repository, origin, head_commit)
    admitted = _admitted(environment, repository, entries)
    if not admitted:
        return changes
    notes = []
    if len(admitted) < len(entries):
        notes.append(f"{_count(len(entries) - len(admitted))} outside the sandbox root, left out")
    paths = None if len(admitted) == len(entries) else [entry.path for entry in admitted]
    diff = _diff(repository, origin, head_commit, paths)
    if not diff.strip():
        return changes
    files, more = _files(repository, admitted)
    return dataclasses.replace(changes, diff=diff, files=files, notes=notes + more)


def _resolve(repository: Repository, revision: str, argument: str) -> str:
    """The commit of a revision; a branch that only origin has counts too."""
    try:
        return repository.resolve(revision)
    except GitError as error:
        match error.kind:
            case "unborn_head":
                raise usage("The checkout has no commit yet; commit first.") from None
            case "unknown_revision":
                found = _branch_of_origin(repository, revision)
                if found is not None:
                    return found
                raise usage(
                    f"{argument} names no commit of this checkout; fetch it or name another."
                ) from None
            case "bad_argument" | "ambiguous_revision":
                raise usage(f"{argument} cannot be used: {error.reason}.") from None
            case _:
                raise


def _branch_of_origin(repository: Repository, name: str) -> str | None:
    try:
        return branch_commit(repository, name)
    except GitError as error:
        if error.kind == "bad_argument":
            return None
        raise


def _changed(repository: Repository, old: str, new: str) -> list[DiffEntry]:
    bounded = repository.bounded(limits=dataclasses.replace(repository.limits, entries=_MAX_NAMES))
    try:
        return bounded.diff_names(old, new)
    except GitError as error:
        if error.kind in {"too_many_entries", "output_too_large"}:
            raise usage(f"More than {_MAX_NAMES} files changed; review a smaller range.") from None
        raise


def _admitted(environment: Environment, repository: Repository, entries: list[DiffEntry]) -> list[DiffEntry]:
    """Entries whose place in the repository lies inside the sandbox and outside Mergestorm's configuration."""
    root = sandbox_root(environment)
    top = repository.layout.work_tree or root
    private = os.path.realpath(config_directory(environment)) if environment.home else None

    def allowed(entry: DiffEntry) -> bool:
        place = os.path.normpath(os.path.join(top, os.fsdecode(entry.path)))
        return lies_below(place, root) and (private is None or not lies_below(place, private))

    return [entry for entry in entries if allowed(entry)]


def _diff(repository: Repository, old: str, new: str, paths: list[bytes] | None) -> str:
    bounded = repository.bounded(limits=dataclasses.replace(repository.limits, output_bytes=MAX_DIFF_BYTES))
    too_large = usage(
        f"The diff is larger than {MAX_DIFF_BYTES:,} bytes; name a base or head nearer to each other."
    )
    try:
        text = bounded.diff_patch(old, new, paths=paths).decode("utf-8", "replace")
    except GitError as error:
        if error.kind == "output_too_large":
            raise too_large from None
        raise
    if len(text.encode()) > MAX_DIFF_BYTES:
        raise too_large
    return text


def _files(repository: Repository, entries: list[DiffEntry]) -> tuple[list[dict[str, str]], list[str]]:
    """Contents of the first files at the head, text only, and what was left out."""
    first = [entry for entry in entries[:MAX_FILES] if entry.new_mode in _REGULAR]
    files: list[dict[str, str]] = []
    large = binary = 0
    with repository.blobs(max_bytes=MAX_FILE_BYTES) as reader:
        contents = reader.read_many(entry.new_oid for entry in first)
        for entry, (_, content) in zip(first, contents, strict=True):
            if isinstance(content, GitError):
                if content.kind != "object_too_large":
                    raise content
                large += 1
                continue
            path, text = _text(entry.path), None if b"\0" in content[:_PROBE] else _text(content)
            if path is None or text is None:
                binary += 1
            else:
                files.append({"path": path, "content": text})
    counted: Iterable[tuple[int, str]] = (
        (large, f"over {MAX_FILE_BYTES:,} bytes, in the diff only"),
        (binary, "not text, in the diff only"),
        (len(entries) - MAX_FILES, f"beyond the first {MAX_FILES}, in the diff only"),
    )
    return files, [f"{_count(number)} {why}" for number, why in counted if number > 0]


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _count(number: int) -> str:
    return f"{number} changed file{'' if number == 1 else 's'}"

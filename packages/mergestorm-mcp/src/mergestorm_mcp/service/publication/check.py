"""A request against its limits and against itself. Nothing is looked up for it, so a wrong one costs nothing."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mcpkit.git import GitError
from mcpkit.git.objects import check_ref
from mergestorm_mcp.service.github.packing import GitObject, object_id
from mergestorm_mcp.service.github.trees import SUBMODULE, TreeChange
from mergestorm_mcp.service.publication import limits
from mergestorm_mcp.service.publication.commit_object import CommitObject, Person, encode, parse
from mergestorm_mcp.service.publication.paths import is_publishable_path
from mergestorm_mcp.service.publication.request import PublishBody, SentChange, SentCommit, SentPerson
from mergestorm_mcp.service.refusals import Refusal, invalid_input

__all__ = ["CheckedCommit", "CheckedPublication", "check", "check_branch_name"]

_MODES: Final = frozenset({"100644", "100755", "120000"})
_RESERVED: Final = re.compile(r"mg-(?:stack|park)-", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CheckedCommit:
    """A commit that agrees with itself.

    Attributes:
        local: its id where it was made.
        tree: the tree it claims.
        changes: to its parent's tree.
        raw: its bytes without a signature, its parent still the local one.
    """

    local: str
    tree: str
    changes: tuple[TreeChange, ...]
    raw: bytes


@dataclass(frozen=True, slots=True)
class CheckedPublication:
    """A publication that agrees with itself: a line of commits from `base_sha`, and every content they need."""

    body: PublishBody
    commits: tuple[CheckedCommit, ...]
    blobs: tuple[GitObject, ...]


def check(body: PublishBody) -> CheckedPublication:
    """Check everything that can be checked without the repository.

    Raises:
        Refusal: 400, by code: `reserved_branch`, `no_commits`, `too_many_commits`, `too_many_paths`, `file_too_large`,
            `payload_too_large`, `submodule`, `bad_path`, `merge_commit`, `unverifiable_commit`, `tree_mismatch`,
            `invalid_input`.
    """
    for name in (body.branch, body.base):
        check_branch_name(name)
        if _RESERVED.match(name):
            raise _refused(
                "reserved_branch", "Branches named mg-stack-* and mg-park-* are the service's own."
            )
    if body.branch == body.base:
        raise _refused("reserved_branch", "A branch cannot be published onto itself.")
    _check_words(body)
    if not body.commits:
        raise _refused("no_commits", "There is no commit to publish.")
    if len(body.commits) > limits.MAX_COMMITS:
        raise _refused(
            "too_many_commits", f"At most {limits.MAX_COMMITS} commits can be published at a time."
        )
    _check_paths(change for commit in body.commits for change in commit.changes)
    blobs = _contents(body)
    commits = tuple(_commit(commit, blobs) for commit in body.commits)
    _check_line(body)
    used = {change.blob for commit in commits for change in commit.changes if change.blob is not None}
    if set(blobs) != used:
        raise invalid_input("blobs holds contents that no commit uses.")
    return CheckedPublication(body, commits, tuple(blobs.values()))


def check_branch_name(name: str) -> None:
    """Refuse a name that no branch can have.

    Raises:
        Refusal: 400 `invalid_input`.
    """
    try:
        encoded = name.encode("utf-8")
        check_ref(f"refs/heads/{name}")
    except (UnicodeEncodeError, GitError):
        raise invalid_input("This is not the name of a branch.") from None
    if name.startswith("-") or name == "HEAD" or len(encoded) > limits.MAX_BRANCH:
        raise invalid_input("This is not the name of a branch.")


def _check_words(body: PublishBody) -> None:
    if not body.title.strip() or len(body.title) > limits.MAX_TITLE:
        raise invalid_input(f"title must have between 1 and {limits.MAX_TITLE} characters.")
    if len(body.body) > limits.MAX_BODY:
        raise invalid_input(f"body must have at most {limits.MAX_BODY} characters.")
    for text in (body.title, body.body):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise invalid_input("title or body is not Unicode text.") from None


def _check_paths(changes: Iterable[SentChange]) -> None:
    paths: set[str] = set()
    for change in changes:
        if change.mode == SUBMODULE:
            raise _refused("submodule", "Submodules cannot be published.")
        wanted = change.op == "put"
        if (change.blob is not None) != wanted or (change.mode is not None) != wanted:
            raise invalid_input("A put names mode and blob, a delete neither.")
        if wanted and change.mode not in _MODES:
            raise invalid_input("A file's mode is 100644, 100755 or 120000.")
        if not is_publishable_path(change.path):
            raise _refused("bad_path", "A changed path cannot be stored.")
        paths.add(change.path)
        if len(paths) > limits.MAX_PATHS:
            raise _refused("too_many_paths", f"At most {limits.MAX_PATHS} paths can be changed.")


def _contents(body: PublishBody) -> dict[str, GitObject]:
    """The contents by id; sizes are looked at before anything is decoded."""
    total = 0
    for blob in body.blobs.values():
        # What was sent counts, not what is said of it.
        size = len(blob.base64) // 4 * 3 - blob.base64[-2:].count("=")
        if max(size, blob.size) > limits.MAX_FILE_BYTES:
            raise _refused("file_too_large", f"A file is larger than {limits.MAX_FILE_BYTES} bytes.")
        total += max(size, 0)
    if total > limits.MAX_TOTAL_BYTES:
        raise _refused(
            "payload_too_large", f"The files are larger than {limits.MAX_TOTAL_BYTES} bytes in all."
        )
    found: dict[str, GitObject] = {}
    for oid, blob in body.blobs.items():
        item = GitObject("blob", _decoded(blob.base64))
        if len(item.content) != blob.size:
            raise invalid_input("A blob has another size than it says.")
        if object_id(item) != oid:
            raise invalid_input("A blob has another id than it says.")
        found[oid] = item
    return found


def _commit(sent: SentCommit, blobs: dict[str, GitObject]) -> CheckedCommit:
    changes: dict[bytes, TreeChange] = {}
    for change in sent.changes:
        path = change.path.encode("utf-8")
        if path in changes:
            raise invalid_input("A commit changes a path twice.")
        if change.blob is not None and change.blob not in blobs:
            raise invalid_input("A commit needs a content that blobs does not hold.")
        changes[path] = TreeChange(path, change.mode, change.blob)
    return CheckedCommit(sent.sha, sent.tree, tuple(changes.values()), _raw(sent))


def _raw(sent: SentCommit) -> bytes:
    """The commit's bytes, which say what its fields say."""
    told = CommitObject(
        tree=sent.tree,
        parents=(sent.parent,),
        author=_person(sent.author),
        committer=_person(sent.committer),
        message=sent.message,
        signed=False,
    )
    try:
        raw = encode(told) if sent.raw_base64 is None else _decoded(sent.raw_base64)
        if len(raw) > limits.MAX_COMMIT_BYTES:
            raise _refused("payload_too_large", f"A commit is larger than {limits.MAX_COMMIT_BYTES} bytes.")
        found = parse(raw)
    except ValueError:
        raise _refused("unverifiable_commit", f"Commit {sent.sha[:12]} is not well formed.") from None
    if len(found.parents) != 1:
        raise _refused("merge_commit", f"Commit {sent.sha[:12]} does not have one parent.")
    if found.signed:
        raise _refused("unverifiable_commit", f"Commit {sent.sha[:12]} carries a signature.")
    if found.tree != sent.tree:
        raise _refused(
            "tree_mismatch", f"The bytes of commit {sent.sha[:12]} name another tree than it says."
        )
    if found != told:
        raise invalid_input(f"The bytes of commit {sent.sha[:12]} say something else than its fields.")
    return raw


def _check_line(body: PublishBody) -> None:
    before = body.base_sha
    seen = {before}
    for commit in body.commits:
        if commit.parent != before:
            raise invalid_input("The commits are no line that begins at base_sha.")
        before = commit.sha
        if before in seen:
            raise invalid_input("A commit is sent twice.")
        seen.add(before)
    if before != body.head_sha:
        raise invalid_input("head_sha is not the last commit.")
    if body.tree_sha != body.commits[-1].tree:
        raise _refused("tree_mismatch", "tree_sha is not the tree of the last commit.")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid_input("A content is not base64.") from None


def _person(sent: SentPerson) -> Person:
    return Person(sent.name, sent.email, sent.date)


def _refused(code: str, message: str) -> Refusal:
    return Refusal(400, code, message)

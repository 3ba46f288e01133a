"""Which commits a branch has beyond its base: a straight line of at most twenty (contract 5.1).

Only refs and commits are looked at here. Blocking: call it in a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcpkit.git import CommitInfo, GitError, Repository, parse_commit
from mergestorm_mcp.errors import usage
from mergestorm_mcp.publication.limits import MAX_COMMIT_BYTES, MAX_COMMITS
from mergestorm_mcp.publication.refusals import refused
from mergestorm_mcp.trunk import branch_commit, trunk_of

__all__ = ["BranchRange", "branch_head", "branch_name", "read_range"]

_RESERVED: Final = ("mg-stack-", "mg-park-")


@dataclass(frozen=True, slots=True)
class BranchRange:
    """The commits to publish.

    Attributes:
        branch: name of the branch.
        base: name of the branch it goes onto.
        base_oid: where the two part.
        commits: oldest first; each one's only parent is the one before, the first one's is `base_oid`.
    """

    branch: str
    base: str
    base_oid: str
    commits: tuple[CommitInfo, ...]

    @property
    def head(self) -> CommitInfo:
        """The newest commit."""
        return self.commits[-1]


def branch_name(repository: Repository, branch: str | None) -> str:
    """The branch that is meant: the one named, else the one checked out.

    Raises:
        CommandError: `detached_head`; `usage` for a name no branch can have.
        GitError: git cannot be asked.
    """
    name = branch if branch is not None else repository.head().branch
    if name is None:
        raise refused("detached_head")
    if not name or name.startswith("-") or any("\ud800" <= char <= "\udfff" for char in name):
        raise usage("branch is not a name that can be published; pass the short name of a local branch.")
    return name


def branch_head(repository: Repository, branch: str) -> str | None:
    """The commit of a local branch; None if there is none.

    Raises:
        CommandError: `usage` for a name no branch can have.
        GitError: git cannot be asked.
    """
    try:
        ref = f"refs/heads/{branch}"
        return repository.resolve(ref) if repository.read_ref(ref) is not None else None
    except GitError as error:
        if error.kind == "bad_argument":
            raise usage("branch is not the name of a branch.") from None
        if error.kind == "unknown_revision":
            return None
        raise


def read_range(repository: Repository, branch: str | None = None, base: str | None = None) -> BranchRange:
    """The commits of a branch beyond its base.

    Args:
        repository: the checkout.
        branch: short name; the branch checked out unless told.
        base: short name; the trunk unless told. Origin's is preferred to the local one.

    Raises:
        CommandError: exit 2, with one of the codes of `refusals`, or `usage` for a branch that is not there.
        GitError: git cannot read what it should.
    """
    if repository.object_format != "sha1":
        raise refused("unsupported_object_format")
    name = branch_name(repository, branch)
    if name.startswith(_RESERVED):
        raise refused("reserved_branch")
    head = branch_head(repository, name)
    if head is None:
        if repository.head().ref == f"refs/heads/{name}":
            raise refused("no_commits")
        raise usage("There is no local branch of that name; check it out, or pass another branch.")
    target, tip = _base(repository, base)
    if name in {target, trunk_of(repository)}:
        raise refused("reserved_branch")
    ancestors = repository.merge_bases(tip, head)
    if not ancestors:
        raise refused("shallow_history" if repository.shallow else "unrelated_history")
    if len(ancestors) > 1:
        raise refused("ambiguous_base")
    return BranchRange(name, target, ancestors[0], _straight_line(repository, ancestors[0], head))


def _base(repository: Repository, base: str | None) -> tuple[str, str]:
    name = base if base is not None else trunk_of(repository)
    if not name or name.startswith("-"):
        raise refused("base_not_found")
    try:
        tip = branch_commit(repository, name, remote_first=True)
    except GitError as error:
        if error.kind != "bad_argument":
            raise
        tip = None
    if tip is None:
        raise refused("base_not_found")
    return name, tip


def _straight_line(repository: Repository, start: str, head: str) -> tuple[CommitInfo, ...]:
    listed = repository.rev_list([head], exclude=[start], max_count=MAX_COMMITS + 1, oldest_first=True)
    if not listed:
        raise refused("no_commits")
    for oid, parents in listed:
        if len(parents) > 1:
            raise refused("merge_commit", oid[:12])
    if len(listed) > MAX_COMMITS:
        raise refused("too_many_commits")
    commits: list[CommitInfo] = []
    with repository.blobs(max_bytes=MAX_COMMIT_BYTES) as reader:
        for oid, raw in reader.read_many((oid for oid, _ in listed), expect="commit"):
            if isinstance(raw, GitError):
                if raw.kind == "object_too_large":
                    raise refused("payload_too_large", f"the message of commit {oid[:12]}")
                raise raw
            commits.append(_parsed(oid, raw))
    before = start
    for commit in commits:
        # A shallow clone shows commits at its edge without the parents that they have.
        if commit.parents != (before,):
            raise refused("shallow_history" if repository.shallow else "merge_commit", commit.oid[:12])
        before = commit.oid
    return tuple(commits)


def _parsed(oid: str, raw: bytes) -> CommitInfo:
    try:
        return parse_commit(oid, raw)
    except GitError as error:
        if error.kind == "bad_object":
            raise refused("unverifiable_commit", oid[:12]) from None
        raise

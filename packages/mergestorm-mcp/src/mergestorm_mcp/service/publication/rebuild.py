"""The objects of a publication: its trees, verified, and the copies of its commits.

The copy of a commit is its bytes without a signature, and with the copy of its parent as parent. So the copies of unsigned
commits have the ids of the originals, and those from the first signed one on have others, always the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.github.packing import GitObject, object_id
from mergestorm_mcp.service.github.trees import EditedTree, TreeConflict
from mergestorm_mcp.service.publication.check import CheckedPublication
from mergestorm_mcp.service.publication.commit_object import with_parent
from mergestorm_mcp.service.refusals import Refusal

__all__ = ["CopiedCommit", "Rebuilt", "rebuild"]


@dataclass(frozen=True, slots=True)
class CopiedCommit:
    """A commit: its id where it was made, its id here, its tree."""

    local: str
    oid: str
    tree: str


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The line of copies, oldest first, and every object they need that the base does not have."""

    copies: tuple[CopiedCommit, ...]
    objects: tuple[GitObject, ...]

    @property
    def head(self) -> CopiedCommit:
        """The newest copy."""
        return self.copies[-1]


def rebuild(bare: Bare, publication: CheckedPublication) -> Rebuilt:
    """Build a publication's objects upon its base, without storing any.

    Args:
        bare: holds the base.
        publication: the checked request.

    Raises:
        Refusal: 400 `tree_mismatch` or `submodule`.
        GitError: the base cannot be read.
    """
    objects: list[GitObject] = list(publication.blobs)
    copies: list[CopiedCommit] = []
    parent = publication.body.base_sha
    with bare.repository.blobs() as reader:
        tree = EditedTree(reader, bare.tree_of(parent))
        for commit in publication.commits:
            try:
                tree.apply(commit.changes)
            except TreeConflict as conflict:
                if conflict.kind == "submodule":
                    raise Refusal(400, "submodule", "A submodule cannot be changed.") from None
                raise _mismatch(commit.local) from None
            oid, made = tree.store()
            if oid != commit.tree:
                raise _mismatch(commit.local)
            copy = GitObject("commit", with_parent(commit.raw, parent))
            parent = object_id(copy)
            objects += [*made, copy]
            copies.append(CopiedCommit(commit.local, parent, oid))
    return Rebuilt(tuple(copies), tuple(objects))


def _mismatch(commit: str) -> Refusal:
    return Refusal(
        400, "tree_mismatch", f"The changes of commit {commit[:12]} do not give the tree that it names."
    )

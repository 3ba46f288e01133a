"""One bare repository: refs, commits, merges, replays and differences. No work tree, no index, no hook.

Ids are full lower-case ones; branches are short names. Everything raises `GitError` where git cannot be asked.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from mcpkit.git import CommitInfo, GitError, Limits, Repository, git_version
from mcpkit.git.process import run_git
from mcpkit.git.writing import Writer
from mergestorm_mcp.service.github.packing import GitObject, object_id, store_objects
from mergestorm_mcp.service.github.people import SURGE, CommitAuthor
from mergestorm_mcp.service.github.trees import EditedTree, TreeChange

__all__ = ["Bare", "FileContent", "MergeResult"]

#: `merge-tree --write-tree`, which merges without a work tree, came with 2.38.
_NEEDED_GIT: Final = (2, 38)
_LIMITS: Final = Limits(timeout=30.0, output_bytes=64 << 20, entries=200_000)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file to be stored: its bytes and mode (`100644`, `100755`, `120000`)."""

    data: bytes
    mode: str = "100644"


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge would give.

    Attributes:
        tree: the merged tree; None where there are conflicts or no common history.
        conflicts: paths in conflict, sorted.
    """

    tree: str | None
    conflicts: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """The merge has no conflict."""
        return self.tree is not None


class Bare:
    """A bare repository on disk, opened; usable from several threads.

    Args:
        path: its directory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repository = Repository.open(path, bare=True, limits=_LIMITS)

    @classmethod
    def create(cls, path: Path, default_branch: str) -> Bare:
        """Make an empty one. A directory that a killed service left behind half-made is made anew.

        Raises:
            GitError: `git_too_old`, `git_failed`.
        """
        if git_version() < _NEEDED_GIT:
            raise GitError("git_too_old", "the local service needs git 2.38 or newer; update git")
        unfinished = path.with_name(f".{path.name}.new")
        for left in (unfinished, path):
            if left.exists():
                shutil.rmtree(left)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        options = [
            "--bare",
            "--quiet",
            "--template=",
            "--object-format=sha1",
            f"--initial-branch={default_branch}",
        ]
        answer = run_git(["init", *options, "--", str(unfinished)])
        if answer.code != 0:
            raise GitError("git_failed", detail=answer.errors)
        os.replace(unfinished, path)
        return cls(path)

    # Refs

    def head(self, branch: str) -> str | None:
        """The commit a branch stands at; None if there is no such branch."""
        return self.repository.read_ref(f"refs/heads/{branch}")

    def branch_head(self, name: str) -> str | None:
        """As `head`, for a name that nobody checked: one that no branch can have is not there."""
        try:
            return self.head(name)
        except GitError as error:
            if error.kind == "bad_argument":
                return None
            raise

    def branches(self) -> dict[str, str]:
        """All branches and their commits."""
        return {
            ref.removeprefix("refs/heads/"): oid for ref, oid in self.repository.refs("refs/heads").items()
        }

    def move(self, branch: str, new: str | None, old: str | None) -> None:
        """Move a branch from `old` to `new`; `old` None makes it, `new` None deletes it.

        Raises:
            GitError: `ref_changed` if it does not stand at `old`; `bad_argument` for a name no branch can have;
                `git_failed`, for instance where `a` exists and `a/b` is wanted.
        """
        writer = Writer(self.repository)
        ref = f"refs/heads/{branch}"
        if new is None:
            if old is not None:
                writer.delete_ref(ref, old)
            return
        writer.update_ref(ref, new, old)

    # Objects

    def has_commit(self, oid: str) -> bool:
        """Whether the object database holds this commit."""
        try:
            with self.repository.blobs() as reader:
                return reader.header(oid).type == "commit"
        except GitError as error:
            if error.kind == "missing_object":
                return False
            raise

    def commit(self, oid: str) -> CommitInfo:
        """One commit."""
        return self.repository.commit(oid)

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return self.commit(commit).tree

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether the first commit is the second or in its history."""
        return self.repository.is_ancestor(ancestor, descendant)

    def merge_base(self, one: str, other: str) -> str | None:
        """A best common ancestor; None for unrelated histories."""
        return self.repository.merge_base(one, other)

    def commits_between(self, base: str, head: str) -> list[CommitInfo]:
        """Commits of `head` that `base` lacks, oldest first."""
        return list(self.repository.log(head, exclude=[base], max_count=None))[::-1]

    def file(self, commit: str, path: str) -> bytes | None:
        """Content of a file (or target of a link) in a commit; None if it is not there."""
        wanted = path.encode()
        for entry in self.repository.list_tree(commit, sizes=False, path=wanted):
            if entry.path == wanted and entry.type == "blob":
                with self.repository.blobs() as reader:
                    return reader.read(entry.oid)
        return None

    def files(self, commit: str) -> list[str]:
        """All paths of a commit; what is not UTF-8 is shown with replacement characters."""
        return [
            entry.path.decode("utf-8", "replace") for entry in self.repository.list_tree(commit, sizes=False)
        ]

    # Differences

    def changed_paths(self, old: str, new: str) -> list[str]:
        """Paths in which two commits differ."""
        return [entry.path.decode("utf-8", "replace") for entry in self.repository.diff_names(old, new)]

    def patch(self, old: str, new: str) -> bytes:
        """The difference of two commits as a unified diff."""
        return self.repository.diff_patch(old, new)

    def line_counts(self, old: str, new: str) -> tuple[int, int]:
        """Added and deleted lines between two commits; binary files count nothing."""
        output = self.repository.run_checked(
            "diff-tree",
            "-r",
            "--numstat",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            old,
            new,
            "--",
        )
        added = deleted = 0
        for record in output.split(b"\0"):
            found = re.match(rb"(\d+)\t(\d+)\t", record)
            if found is not None:
                added += int(found[1])
                deleted += int(found[2])
        return added, deleted

    # Writing

    def store(self, objects: Sequence[GitObject]) -> None:
        """Store objects, all or none."""
        store_objects(self.repository, objects)

    def commit_files(
        self,
        parents: Sequence[str],
        files: Mapping[str, FileContent | bytes | None],
        *,
        message: str,
        author: CommitAuthor = SURGE,
        when: datetime,
    ) -> str:
        """Store a commit that changes files of its first parent, and return its id. No ref moves.

        Args:
            parents: ids; none for a first commit.
            files: path to content (bytes are an ordinary file), or None to delete it.
            message: of the commit.
            author: author and committer.
            when: date of both, in UTC.

        Raises:
            TreeConflict: a change does not fit the tree.
        """
        objects: list[GitObject] = []
        changes: list[TreeChange] = []
        for path, content in files.items():
            if content is None:
                changes.append(TreeChange(path.encode()))
                continue
            file = content if isinstance(content, FileContent) else FileContent(content)
            blob = GitObject("blob", file.data)
            objects.append(blob)
            changes.append(TreeChange(path.encode(), file.mode, object_id(blob)))
        with self.repository.blobs() as reader:
            edited = EditedTree(reader, self.tree_of(parents[0]) if parents else None)
            edited.apply(changes)
            tree, made = edited.store()
        commit = _commit_object(tree, parents, message=message, author=author, when=when)
        self.store([*objects, *made, commit])
        return object_id(commit)

    # Merging

    def merge(self, ours: str, theirs: str) -> MergeResult:
        """What merging `theirs` into `ours` gives. Stores trees and moves nothing."""
        answer = self.repository.run(
            "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs
        )
        if answer.code not in {0, 1}:
            if "unrelated histories" in answer.errors:
                return MergeResult(None)
            self.repository.checked(answer)
        tree, *conflicts = answer.output.rstrip(b"\0").split(b"\0")
        if answer.code == 0:
            return MergeResult(tree.decode("ascii"))
        return MergeResult(None, tuple(sorted({name.decode("utf-8", "replace") for name in conflicts})))

    def merge_commit(
        self, ours: str, theirs: str, *, message: str, when: datetime, author: CommitAuthor = SURGE
    ) -> str | MergeResult:
        """Store a commit with both parents; the conflicts instead where there are some. No ref moves."""
        result = self.merge(ours, theirs)
        if result.tree is None:
            return result
        return self.commit_tree(result.tree, [ours, theirs], message=message, when=when, author=author)

    def commit_tree(
        self,
        tree: str,
        parents: Sequence[str],
        *,
        message: str,
        when: datetime,
        author: CommitAuthor = SURGE,
    ) -> str:
        """Store a commit of a tree that is stored already (a squash names one parent), and return its id."""
        commit = _commit_object(tree, parents, message=message, author=author, when=when)
        self.store([commit])
        return object_id(commit)

    def replay(
        self, commits: Sequence[CommitInfo], onto: str, *, when: datetime, committer: CommitAuthor = SURGE
    ) -> str | MergeResult:
        """Store copies of commits, one upon the other, on another commit, as a rebase does. No ref moves.

        Args:
            commits: oldest first, each with one parent.
            onto: where they go.
            when: date of the committer.
            committer: who made the copies; the authors stay.

        Returns:
            Id of the last copy, or the conflicts of the first that does not apply.
        """
        for commit in commits:
            # merge-tree takes the merge base from history, so history is given the shape that has the wanted one: a
            # stand-in with the content of the new parent, and the commit's own parent as its parent.
            stand_in = self.commit_tree(
                self.tree_of(onto), [commit.parents[0]], message="stand-in", when=when
            )
            result = self.merge(stand_in, commit.oid)
            if result.tree is None:
                return result
            head, _, message = commit.raw.partition(b"\n\n")
            author = next(line for line in head.split(b"\n") if line.startswith(b"author "))
            raw = b"tree %s\nparent %s\n%s\ncommitter %s\n\n%s" % (
                result.tree.encode(), onto.encode(), author, committer.line(when), message,
            )  # fmt: skip
            copy = GitObject("commit", raw)
            self.store([copy])
            onto = object_id(copy)
        return onto


def _commit_object(
    tree: str, parents: Sequence[str], *, message: str, author: CommitAuthor, when: datetime
) -> GitObject:
    person = author.line(when)
    lines = [b"tree " + tree.encode()]
    lines += [b"parent " + parent.encode() for parent in parents]
    lines += [b"author " + person, b"committer " + person]
    text = message if message.endswith("\n") else message + "\n"
    return GitObject("commit", b"\n".join(lines) + b"\n\n" + text.encode())

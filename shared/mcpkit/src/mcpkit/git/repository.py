"""Reading a repository: revisions, trees, history and differences, all from the object database.

Nothing here writes, takes a lock or looks at the work tree. Arguments from outside are checked before git sees them;
object ids are always full ones, as `resolve` gives them.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from mcpkit.git.batch import DEFAULT_MAX_BYTES, BlobReader
from mcpkit.git.errors import GitError
from mcpkit.git.layout import RepositoryLayout, discover
from mcpkit.git.objects import (
    CommitInfo,
    DiffEntry,
    TreeEntry,
    check_oid,
    check_ref,
    check_revision,
    empty_tree,
    parse_commit,
    parse_raw_diff,
    parse_tree_listing,
)
from mcpkit.git.process import Completed, Limits, git_version, run_git
from mcpkit.threads import CancelCheck

_MAX_COMMIT_BYTES: Final = 16 << 20
# Bytes of path arguments in one command; Windows takes 32,767 characters in all.
_ARGUMENT_BYTES: Final = 24_000
_MISSING: Final = re.compile(
    r"missing|bad object|unable to read|could not read|not a valid object|promisor", re.IGNORECASE
)


@dataclasses.dataclass(frozen=True, slots=True)
class Head:
    """What HEAD is.

    Attributes:
        oid: the commit; None while the branch has no commit.
        ref: full name of the branch; None when detached.
    """

    oid: str | None
    ref: str | None

    @property
    def detached(self) -> bool:
        """HEAD names a commit and no branch."""
        return self.ref is None

    @property
    def unborn(self) -> bool:
        """The branch has no commit yet."""
        return self.oid is None

    @property
    def branch(self) -> str | None:
        """Short name of the branch."""
        return self.ref.removeprefix("refs/heads/") if self.ref is not None else None


@dataclasses.dataclass(frozen=True, slots=True)
class Repository:
    """One repository, opened by `open`. Immutable and usable from several threads.

    Attributes:
        layout: where it keeps what.
        object_format: `sha1` or `sha256`.
        shallow: its history was cut off.
        limits: what one git process may take.
        cancel: asked while git runs.
    """

    layout: RepositoryLayout
    object_format: str
    shallow: bool
    limits: Limits = dataclasses.field(default_factory=Limits)
    cancel: CancelCheck | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        bare: bool = False,
        within: Sequence[str | os.PathLike[str]] | None = None,
        limits: Limits | None = None,
        cancel: CancelCheck | None = None,
    ) -> Repository:
        """Find the repository that holds `path` and make sure git can read it.

        git's ownership check does not apply, since the repository is named and not met: the switches of `environment`
        are what protects the caller, whoever owns the files.

        Args:
            path: a directory or file in a work tree.
            bare: `path` may itself be a bare repository.
            within: directories that must hold all of the repository, see `layout`.
            limits: for every later call.
            cancel: for every later call.

        Raises:
            GitError: `not_a_repository`, `bare_repository`, `outside_root`, `unsupported_repository`, `git_missing`,
                `git_too_old`, `gitpython_missing`.
        """
        layout = discover(path, bare=bare, within=within)
        git_version()
        found = cls(layout, "sha1", shallow=False, limits=limits or Limits(), cancel=cancel)
        answer = found.run("rev-parse", "--show-object-format", "--is-shallow-repository")
        lines = answer.output.decode("ascii", "replace").split()
        if answer.code != 0 or len(lines) != 2 or lines[0] not in {"sha1", "sha256"}:
            raise GitError("unsupported_repository", detail=answer.errors)
        return dataclasses.replace(found, object_format=lines[0], shallow=lines[1] == "true")

    def bounded(self, *, limits: Limits | None = None, cancel: CancelCheck | None = None) -> Repository:
        """The same repository with other limits or another cancel check."""
        return dataclasses.replace(self, limits=limits or self.limits, cancel=cancel or self.cancel)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name this repository to git, and keep its work tree and index out of the answers.

        A work tree is named although none is looked at, because `core.worktree` could otherwise name any directory.
        """
        named = {
            "GIT_DIR": self.layout.git_dir,
            "GIT_WORK_TREE": self.layout.git_dir,
            "GIT_INDEX_FILE": os.path.join(self.layout.git_dir, "mcpkit-reads-no-index"),
        }
        if self.layout.common_dir != self.layout.git_dir:
            named["GIT_COMMON_DIR"] = self.layout.common_dir
        return named

    @property
    def empty_tree(self) -> str:
        """Id of the empty tree, what a root commit is compared with."""
        return empty_tree(self.object_format)

    def run(
        self, *arguments: str, data: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> Completed:
        """Run a git command on this repository; for this package, whose callers checked the arguments."""
        named = {**self.environment, **(environment or {})}
        return run_git(arguments, environment=named, data=data, limits=self.limits, cancel=self.cancel)

    def run_checked(
        self, *arguments: str, data: bytes | None = None, environment: Mapping[str, str] | None = None
    ) -> bytes:
        """Output of a git command that has to succeed; GitError `missing_object` or `git_failed` if it does not."""
        return self.checked(self.run(*arguments, data=data, environment=environment))

    def checked(self, answer: Completed) -> bytes:
        """Output of a command that has succeeded; its failure as a GitError otherwise."""
        if answer.code != 0:
            # The locale is fixed, so git's wording is too; a wording not known here is only less precise.
            raise GitError(
                "missing_object" if _MISSING.search(answer.errors) else "git_failed", detail=answer.errors
            )
        return answer.output

    def blobs(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> BlobReader:
        """A reader for many objects; use it in a `with` statement."""
        return BlobReader(
            self.environment,
            self.object_format,
            timeout=self.limits.timeout,
            cancel=self.cancel,
            max_bytes=max_bytes,
        )

    def head(self) -> Head:
        """What HEAD is, without checking that the commit it names is there.

        Raises:
            GitError: `unsupported_repository` if HEAD is neither a branch nor a commit.
        """
        # Both in one process; git refuses this for a branch without a commit, and says HEAD again where it is detached.
        answer = self.run("rev-parse", "--revs-only", "HEAD", "--symbolic-full-name", "HEAD", "--")
        lines = answer.output.split(b"\n")
        if answer.code == 0 and len(lines) == 3 and lines[1].startswith(b"refs/"):
            return Head(
                check_oid(lines[0].decode("ascii", "replace"), self.object_format), os.fsdecode(lines[1])
            )
        ref = self.symbolic_ref("HEAD")
        oid = self._oid_of("HEAD")
        if ref is None and oid is None:
            raise GitError("unsupported_repository", "HEAD names neither a branch nor a commit")
        return Head(oid, ref)

    def symbolic_ref(self, name: str) -> str | None:
        """The ref a symbolic ref such as `HEAD` or `refs/remotes/origin/HEAD` points to; None if it is none."""
        answer = self.run("symbolic-ref", "--quiet", "HEAD" if name == "HEAD" else check_ref(name))
        return os.fsdecode(answer.output.rstrip(b"\n")) if answer.code == 0 else None

    def read_ref(self, ref: str) -> str | None:
        """The object id a full ref name stands for; None if there is no such ref."""
        return self._oid_of(check_ref(ref))

    def refs(self, prefix: str = "refs/heads") -> dict[str, str]:
        """All refs below a prefix such as `refs/heads`, with the ids they stand for.

        Raises:
            GitError: `too_many_entries`, `bad_argument`.
        """
        check_ref(prefix.rstrip("/") + "/x")
        answer = self.run_checked(
            "for-each-ref", f"--count={self.limits.entries + 1}", "--format=%(objectname) %(refname)", prefix
        )
        lines = answer.splitlines()
        if len(lines) > self.limits.entries:
            raise GitError("too_many_entries")
        return {
            os.fsdecode(name): oid.decode("ascii")
            for oid, _, name in (line.partition(b" ") for line in lines)
        }

    def resolve(self, revision: str = "HEAD") -> str:
        """Full id of the commit a revision names; tags are followed to their commit.

        Raises:
            GitError: `bad_argument`, `unknown_revision`, `ambiguous_revision`; `unborn_head` for HEAD without a commit.
        """
        check_revision(revision)
        answer = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        oid = answer.output.decode("ascii", "replace").strip()
        if answer.code == 0 and oid:
            return check_oid(oid, self.object_format)
        if revision == "HEAD" and self._oid_of("HEAD") is None:
            raise GitError("unborn_head")
        if re.fullmatch(r"[0-9a-fA-F]{4,63}", revision) and len(self.commits_with_prefix(revision)) > 1:
            raise GitError("ambiguous_revision")
        raise GitError("unknown_revision", detail=answer.errors)

    def commits_with_prefix(self, prefix: str) -> list[str]:
        """All commits whose id begins with 4 or more hexadecimal digits, sorted."""
        if not re.fullmatch(r"[0-9a-fA-F]{4,64}", prefix):
            raise GitError("bad_argument", "between 4 and 64 hexadecimal digits are needed")
        answer = self.run_checked("rev-parse", f"--disambiguate={prefix.lower()}")
        candidates = sorted(set(answer.decode("ascii").split()))
        with self.blobs() as reader:
            return [oid for oid in candidates if reader.header(oid).type == "commit"]

    def list_tree(self, commit: str, *, sizes: bool = True, path: bytes | None = None) -> list[TreeEntry]:
        """Every file of a commit (or tree), in git's order.

        Args:
            commit: full id.
            sizes: look each blob's size up; a little slower.
            path: only this file or what lies below this directory, byte for byte.

        Raises:
            GitError: `missing_object`, `wrong_type`, `too_many_entries`, `output_too_large`, `bad_argument`.
        """
        arguments = ["ls-tree", "-r", "-z", "--full-tree", *(["-l"] if sizes else [])]
        arguments.append(check_oid(commit, self.object_format))
        if path is not None:
            arguments += ["--", self._path_argument(path)]
        answer = self.run(*arguments)
        if answer.code != 0:
            with self.blobs() as reader:  # git says the same of a missing object and of a wrong one
                if reader.header(commit).type in {"blob", "tag"}:
                    raise GitError("wrong_type", "a commit or a tree is needed", detail=answer.errors)
        return parse_tree_listing(self.checked(answer), limit=self.limits.entries, sized=sizes)

    def is_tracked(self, path: bytes | str, *, commit: str | None = None, ignore_case: bool = False) -> bool:
        """Whether a commit (HEAD by default) holds this file, or anything below this directory.

        Args:
            path: from the top of the work tree, `/`-separated.
            commit: full id; without it HEAD, and an unborn HEAD tracks nothing.
            ignore_case: a path that differs only in case counts too, as on a file system that folds case.
        """
        wanted = (os.fsencode(path) if isinstance(path, str) else path).rstrip(b"/")
        oid = commit or self.head().oid
        if oid is None:
            return False
        if not ignore_case:
            return bool(self.list_tree(oid, sizes=False, path=wanted))
        folded = os.fsdecode(wanted).casefold()
        listed = (os.fsdecode(entry.path).casefold() for entry in self.list_tree(oid, sizes=False))
        return any(name == folded or name.startswith(folded + "/") for name in listed)

    def commit(self, oid: str) -> CommitInfo:
        """One commit; GitError `missing_object`, `wrong_type`, `bad_object`."""
        with self.blobs(max_bytes=_MAX_COMMIT_BYTES) as reader:
            return parse_commit(oid, reader.read(oid, expect="commit"))

    def rev_list(
        self,
        include: Sequence[str],
        *,
        exclude: Sequence[str] = (),
        max_count: int | None = None,
        first_parent: bool = False,
        oldest_first: bool = False,
        order: str = "topo",
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Commits reachable from `include` and not from `exclude`, each with its parents.

        Args:
            include: full ids to begin with.
            exclude: full ids whose history is left out.
            max_count: the first so many, counted before `oldest_first` turns them round.
            first_parent: follow first parents only.
            oldest_first: turn the order round.
            order: `topo` (no parent before its children) or `date`.

        Raises:
            GitError: `missing_object`, `too_many_entries`, `output_too_large`.
        """
        limit = self.limits.entries
        arguments = ["rev-list", "--parents", f"--{'topo' if order == 'topo' else 'date'}-order"]
        arguments.append(f"--max-count={limit + 1 if max_count is None else min(max_count, limit)}")
        if first_parent:
            arguments.append("--first-parent")
        if oldest_first:
            arguments.append("--reverse")
        arguments += [check_oid(oid, self.object_format) for oid in include]
        arguments += ["^" + check_oid(oid, self.object_format) for oid in exclude]
        lines = self.run_checked(*arguments, "--").decode("ascii").splitlines()
        if len(lines) > limit:
            raise GitError("too_many_entries")
        return [(oid, tuple(parents)) for oid, *parents in map(str.split, lines)]

    def log(
        self, oid: str, *, max_count: int | None, exclude: Sequence[str] = (), first_parent: bool = False
    ) -> Iterator[CommitInfo]:
        """Commits from `oid` backwards in topological order: `max_count` at most, or all for None."""
        listed = self.rev_list([oid], exclude=exclude, max_count=max_count, first_parent=first_parent)
        with self.blobs(max_bytes=_MAX_COMMIT_BYTES) as reader:
            for found, raw in reader.read_many((name for name, _ in listed), expect="commit"):
                if isinstance(raw, GitError):
                    raise raw
                yield parse_commit(found, raw)

    def merge_bases(self, one: str, other: str) -> list[str]:
        """All best common ancestors of two commits; empty for unrelated (or too shallow) histories."""
        answer = self.run(
            "merge-base", "--all", *(check_oid(oid, self.object_format) for oid in (one, other))
        )
        if answer.code == 1 and not answer.output:
            return []
        return self.checked(answer).decode("ascii").split()

    def merge_base(self, one: str, other: str) -> str | None:
        """One best common ancestor, as `git diff a...b` takes it; None for unrelated histories."""
        return next(iter(self.merge_bases(one, other)), None)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether the first commit is the second or among its ancestors."""
        pair = (check_oid(oid, self.object_format) for oid in (ancestor, descendant))
        answer = self.run("merge-base", "--is-ancestor", *pair)
        if answer.code == 1:
            return False
        self.checked(answer)
        return True

    def diff_names(
        self, old: str, new: str, *, find_renames: bool = False, paths: Sequence[bytes] | None = None
    ) -> list[DiffEntry]:
        """Paths in which two commits (or trees) differ, with modes and ids.

        Args:
            old: full id; `empty_tree` for the content of a root commit.
            new: full id.
            find_renames: pair deleted and added paths of like content.
            paths: only these files and what lies below these directories.

        Raises:
            GitError: `missing_object`, `too_many_entries`, `output_too_large`, `bad_argument`.
        """
        output = self._diff(old, new, ["--raw", "-z", "--no-abbrev", _renames(find_renames)], paths)
        return parse_raw_diff(output, limit=self.limits.entries)

    def diff_patch(
        self,
        old: str,
        new: str,
        *,
        find_renames: bool = True,
        paths: Sequence[bytes] | None = None,
        context: int = 3,
    ) -> bytes:
        """The difference of two commits (or trees) as a unified diff, with no configured program involved.

        Arguments as `diff_names`. Many paths are compared in several runs, so a rename is found only among paths of the
        same run (some hundreds).

        Raises:
            GitError: as `diff_names`.
        """
        options = ["--patch", f"--unified={max(0, min(context, 1000))}", _renames(find_renames)]
        return self._diff(old, new, options, paths)

    def config_value(self, key: str) -> str | None:
        """The last value of a key in the repository's own configuration, as data; None if it is not set.

        The value is somebody else's text (a remote URL may hold credentials). Files it includes are read too.
        """
        if not re.fullmatch(
            r"[A-Za-z][A-Za-z0-9-]*\.(?:[^\x00-\x1f\x7f]{1,200}\.)?[A-Za-z][A-Za-z0-9-]*", key
        ):
            raise GitError("bad_argument", "this is not the name of a configuration key")
        answer = self.run("config", "--local", "--includes", "--null", "--get", key)
        if answer.code != 0:
            return None
        return answer.output.removesuffix(b"\0").decode("utf-8", "surrogateescape")

    def _diff(self, old: str, new: str, options: list[str], paths: Sequence[bytes] | None) -> bytes:
        command = [
            "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--no-relative",
            "--src-prefix=a/", "--dst-prefix=b/", *options,
            check_oid(old, self.object_format), check_oid(new, self.object_format), "--",
        ]  # fmt: skip
        # Attributes (what is binary, where a function begins) come from the new side, never from the work tree; git
        # before 2.41 does not know how and uses none.
        source = {"GIT_ATTR_SOURCE": new}
        if paths is None:
            return self.run_checked(*command, environment=source)
        output = bytearray()
        for group in _argument_groups([self._path_argument(path) for path in paths]):
            output += self.run_checked(*command, *group, environment=source)
            if len(output) > self.limits.output_bytes:
                raise GitError("output_too_large")
        return bytes(output)

    def _path_argument(self, path: bytes) -> str:
        if not path or b"\0" in path or path.startswith(b"/"):
            raise GitError("bad_argument", "a path from the top of the repository is needed")
        return os.fsdecode(path)

    def _oid_of(self, name: str) -> str | None:
        answer = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        oid = answer.output.decode("ascii", "replace").strip()
        return check_oid(oid, self.object_format) if answer.code == 0 and oid else None


def _renames(wanted: bool) -> str:
    return "--find-renames" if wanted else "--no-renames"


def _argument_groups(paths: Sequence[str]) -> Iterator[list[str]]:
    group: list[str] = []
    size = 0
    for path in paths:
        size += len(os.fsencode(path)) + 3
        if group and size > _ARGUMENT_BYTES:
            yield group
            group, size = [], len(os.fsencode(path)) + 3
        group.append(path)
    if group:
        yield group

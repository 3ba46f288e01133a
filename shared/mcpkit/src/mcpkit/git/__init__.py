"""Git, asked without being obeyed: the only room that starts git.

A repository is data written by somebody else, and its configuration can name programs: hooks, filters, text
converters, file system monitors, pagers, credential and transport helpers. None of them runs from here. Content is read
from the object database and never from the work tree, in an environment that takes nothing from the caller's, with
every size and time bounded.

    environment   what git is told by environment and switches, and why
    process       starts git: caps, deadlines, cancellation, no process left behind
    layout        finds a repository without asking git
    objects       commits, trees and differences as values
    batch         many objects through one process
    repository    reading: revisions, trees, history, differences
    worktree      whether the work tree differs from HEAD; reads index_file; imported by name
    memory        what is remembered of work trees between questions; imported by name
    writing       program-free writing of objects and refs; imported by name only, so that a reader cannot reach it

GitPython supplies the way a process is started (`git.cmd.safer_popen`, which keeps Windows from running a `git.exe`
that lies in the current directory). Its porcelain and its repository object are not used: several of their reads run
what the repository configured. It is imported when the first git process is started, not before.

Every error is a `GitError` with a stable `kind`. The functions are synchronous and safe to call from several threads;
asynchronous code calls them through `mcpkit.threads`, whose cancel check they take.
"""

from mcpkit.git.batch import BlobReader, ObjectHeader
from mcpkit.git.environment import MINIMUM_GIT_VERSION
from mcpkit.git.errors import GitError, GitErrorKind
from mcpkit.git.layout import RepositoryKind, RepositoryLayout, discover
from mcpkit.git.objects import (
    CommitInfo,
    DiffEntry,
    Signature,
    TreeEntry,
    parse_commit,
    without_signature,
)
from mcpkit.git.process import Limits, git_version
from mcpkit.git.repository import Head, Repository
from mcpkit.threads import CancelCheck

__all__ = [
    "MINIMUM_GIT_VERSION",
    "BlobReader",
    "CancelCheck",
    "CommitInfo",
    "DiffEntry",
    "GitError",
    "GitErrorKind",
    "Head",
    "Limits",
    "ObjectHeader",
    "Repository",
    "RepositoryKind",
    "RepositoryLayout",
    "Signature",
    "TreeEntry",
    "discover",
    "git_version",
    "parse_commit",
    "without_signature",
]

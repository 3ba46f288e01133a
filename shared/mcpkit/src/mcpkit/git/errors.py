"""The one exception of the git room."""

from __future__ import annotations

from typing import Final, Literal

GitErrorKind = Literal[
    "ambiguous_revision",
    "bad_argument",
    "bad_object",
    "bare_repository",
    "cancelled",
    "git_failed",
    "git_missing",
    "git_too_old",
    "gitpython_missing",
    "missing_object",
    "not_a_repository",
    "object_too_large",
    "outside_root",
    "output_too_large",
    "ref_changed",
    "timeout",
    "too_many_entries",
    "unborn_head",
    "unknown_revision",
    "unsupported_repository",
    "wrong_type",
]

_REASONS: Final[dict[GitErrorKind, str]] = {
    "ambiguous_revision": "the abbreviated object id fits several commits; give more of its digits",
    "bad_argument": "the value is not acceptable to git here",
    "bad_object": "the object is not well formed",
    "bare_repository": "this is a bare repository or the inside of one; name a work tree",
    "cancelled": "the operation was cancelled",
    "git_failed": "git could not complete the operation",
    "git_missing": "git was not found; install it and make sure it is on PATH",
    "git_too_old": "the installed git is too old; install a newer one",
    "gitpython_missing": "GitPython is not installed; install the 'git' extra of mcpkit-core",
    "missing_object": "the object database does not hold an object that is needed; the clone may be partial or shallow",
    "not_a_repository": "the directory is not inside a git repository",
    "object_too_large": "the object is larger than the limit",
    "outside_root": "the repository keeps data outside the allowed directory",
    "output_too_large": "git's answer is larger than the limit",
    "ref_changed": "the ref no longer has the expected value; read it again",
    "timeout": "git did not finish in time",
    "too_many_entries": "the answer has more entries than the limit",
    "unborn_head": "the repository has no commit yet",
    "unknown_revision": "no commit has this name",
    "unsupported_repository": "git cannot work with this repository",
    "wrong_type": "the object is of another type",
}


class GitError(Exception):
    """A question to git was refused, failed or took too much.

    Args:
        kind: stable name of the case.
        reason: what happened and what to do, fit for a client; never holds a path, a revision or git's own words.
        detail: git's own words, for the operator's log only.
    """

    def __init__(self, kind: GitErrorKind, reason: str | None = None, *, detail: str | None = None) -> None:
        self.kind: GitErrorKind = kind
        self.reason: str = reason or _REASONS[kind]
        self.detail = detail
        super().__init__(self.reason)

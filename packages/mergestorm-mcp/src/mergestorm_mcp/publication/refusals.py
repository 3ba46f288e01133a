"""Why a publication is refused before anything is sent: a code, and exit 2 (contract 5.7)."""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.errors import EXIT_USAGE, CommandError

__all__ = ["SERVICE_CODES", "PublicationRefused", "refused"]

_MESSAGES: Final = {
    "ambiguous_base": "branch and base have several equally good common ancestors; rebase the branch onto its base.",
    "bad_path": "A changed path cannot be stored on GitHub: it is not UTF-8, or has a part named '.', '..' or '.git'.",
    "base_not_found": "The base branch is not in this checkout; fetch it, or name another base.",
    "detached_head": "No branch is checked out; pass branch.",
    "file_too_large": "A changed file is larger than 2 MiB, which is the most that can be published.",
    "merge_commit": "The branch holds a merge commit; rebase it onto its base, so that every commit has one parent.",
    "no_commits": "The branch has no commit that its base lacks; commit first.",
    "payload_too_large": "The changed files are larger than 8 MiB in all; publish in smaller steps.",
    "reserved_branch": "This branch name is Mergestorm's or the base's own; publish from a branch of another name.",
    "shallow_history": "The clone is shallow and does not reach back to where the branch began; deepen it first.",
    "submodule": "The branch changes a submodule, which cannot be published.",
    "too_many_commits": "The branch has more than 20 commits beyond its base; publish fewer at a time.",
    "too_many_paths": "The branch changes more than 500 paths; publish fewer at a time.",
    "unrelated_history": "branch and base share no history; name the base that the branch was made from.",
    "unsupported_object_format": "The repository uses SHA-256 object ids, which GitHub does not take.",
    "unverifiable_commit": "A commit of the branch is not well formed, so its copy could not be verified.",
}
"""Codes of refusals made here, and what to do about each."""

SERVICE_CODES: Final = frozenset({
    *_MESSAGES,
    "busy",
    "cyclone_not_connected",
    "cyclone_not_installed",
    "cyclone_permission_missing",
    "forbidden",
    "github_unreadable",
    "head_changed",
    "implicit_stack",
    "invalid_input",
    "not_found",
    "tree_mismatch",
})
"""Codes of the service that are passed on."""


class PublicationRefused(CommandError):
    """A refusal that says more than a message.

    Attributes:
        details: members for the result beside `error`: where GitHub and the local branch stand, or that the state is
            unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None,
        exit_code: int,
        reason: str | None = None,
        retry_after_seconds: float | None = None,
        details: dict[str, str | None] | None = None,
    ) -> None:
        super().__init__(
            message, exit_code=exit_code, code=code, reason=reason, retry_after_seconds=retry_after_seconds
        )
        self.details = details or {}


def refused(code: str, what: str = "") -> CommandError:
    """The refusal of a code.

    Args:
        code: one of those above.
        what: the commit, path or size it is about, fit to be shown.
    """
    message = _MESSAGES[code]
    return CommandError(f"{message} ({what})" if what else message, exit_code=EXIT_USAGE, code=code)

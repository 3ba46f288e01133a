"""The checkout an agent points at: opened inside the sandbox, and whose repository on GitHub it is.

Needs mcpkit's git room, so it is imported when a call needs it.
"""

from __future__ import annotations

import re
from typing import Final

from mcpkit.git import CancelCheck, GitError, Repository
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import EXIT_USAGE, CommandError, usage
from mergestorm_mcp.sandbox import directory_inside, git_directories

__all__ = ["git_refusal", "github_repository", "open_checkout", "origin_repository"]

# https, ssh (with or without a user and port) and scp forms, each with an optional `.git` and slash.
_FORMS: Final = (
    re.compile(
        r"(?:https|ssh)://(?:[^@/\s]+@)?(?:www\.)?github\.com(?::\d+)?/(?P<owner>[^/\s]+)/(?P<repo>[^/\s]+?)/?",
        re.IGNORECASE,
    ),
    re.compile(r"(?:[^@/:\s]+@)?github\.com:(?P<owner>[^/\s]+)/(?P<repo>[^/\s]+?)/?", re.IGNORECASE),
)
_OWNER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,98})")
_REPO: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")


def open_checkout(environment: Environment, cwd: str | None, cancel: CancelCheck | None = None) -> Repository:
    """The repository that holds `cwd`, all of it inside the sandbox. Blocking: call it in a thread.

    Raises:
        CommandError: `not_a_repo`, `outside_sandbox`, `usage`, `sandbox_root_required` (all exit 2), or without a
            code where git cannot be used.
    """
    place = directory_inside(environment, cwd)
    try:
        return Repository.open(place, within=git_directories(environment), cancel=cancel)
    except GitError as error:
        raise git_refusal(error) from None


def git_refusal(error: GitError) -> CommandError:
    """What a tool says when git cannot do what it was asked."""
    if error.kind in {"not_a_repository", "bare_repository"}:
        return CommandError(
            "cwd is not in a git checkout; name a directory of one.", exit_code=EXIT_USAGE, code="not_a_repo"
        )
    if error.kind == "outside_root":
        return CommandError(
            "The repository keeps data outside the sandbox root. The host can allow it: MERGESTORM_SANDBOX_GIT_DIRS "
            "names further directories.",
            exit_code=EXIT_USAGE,
            code="outside_sandbox",
        )
    return CommandError(
        f"git cannot read the repository: {error.reason}.", exit_code=EXIT_USAGE, code="usage"
    )


def origin_repository(
    environment: Environment, cwd: str | None, cancel: CancelCheck | None = None
) -> tuple[str, str]:
    """Owner and name of the GitHub repository that `cwd`'s `origin` names. Blocking: call it in a thread.

    Raises:
        CommandError: as `open_checkout`; `usage` where origin is missing or not on GitHub.
    """
    repository = open_checkout(environment, cwd, cancel)
    try:
        url = repository.config_value("remote.origin.url")
    except GitError as error:
        raise git_refusal(error) from None
    found = github_repository(url or "")
    if found is None:
        raise usage("origin of the checkout is not a GitHub repository; pass owner and repo.")
    return found


def github_repository(url: str) -> tuple[str, str] | None:
    """Owner and name in a GitHub remote's address; None for any other."""
    for form in _FORMS:
        match = form.fullmatch(url.strip())
        if match is not None:
            owner, repo = match["owner"], match["repo"].removesuffix(".git")
            if _OWNER.fullmatch(owner) and _REPO.fullmatch(repo) and repo.strip("."):
                return owner, repo
    return None

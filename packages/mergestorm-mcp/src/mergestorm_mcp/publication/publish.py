"""One publication: read here, sent once, verified; and how far an earlier one got (contract 5.4 to 5.6).

Publishing again is safe and is how a later commit or a lost answer is dealt with: the service goes on where it was.
The client itself sends once. What it checks at the end is arithmetic, not trust: the tree on GitHub is the local tree,
and the commit there has the id that a copy of the local commit must have (`commits`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.git import CancelCheck, GitError, Repository
from mcpkit.git.worktree import StateLimits, read_work_tree_state
from mcpkit.threads import run_in_thread
from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.publications import get_publication, publish
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal
from mergestorm_mcp.checkout import git_refusal, github_repository, open_checkout
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import EXIT_GENERIC, CommandError, ConnectionFailed, RequestTimeout, usage
from mergestorm_mcp.publication.commits import CopiedCommit, copies, message_text
from mergestorm_mcp.publication.limits import MAX_BODY, MAX_TITLE
from mergestorm_mcp.publication.range import BranchRange, branch_head, branch_name, read_range
from mergestorm_mcp.publication.reading import read_blobs, read_changes
from mergestorm_mcp.publication.refusals import SERVICE_CODES, PublicationRefused
from mergestorm_mcp.publication.wire import Answer, Options, publication_body, read_answer
from mergestorm_mcp.retry import is_transient_status
from mergestorm_mcp.stacks.obligation import open_watch
from mergestorm_mcp.steady import steady
from mergestorm_mcp.text import one_line, plain

__all__ = [
    "Publication",
    "PublishRequest",
    "StatusRequest",
    "prepare_publication",
    "publication_status",
    "publish_branch",
]

_OID: Final = re.compile(r"[0-9a-fA-F]{40}")
_DIRTY_SECONDS: Final = 2.0
_READ_FIRST: Final = (
    "How far it got is unknown: read stack_publish_status, then call stack_publish again with the same arguments, which "
    "goes on where it was."
)


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What the caller wants published; None leaves a choice to the rules."""

    cwd: str | None = None
    owner: str | None = None
    repo: str | None = None
    branch: str | None = None
    base: str | None = None
    title: str | None = None
    body: str | None = None
    replace_head: str | None = None
    auto_land: bool | None = None


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """Whose publication is asked for; None leaves a choice to the rules."""

    cwd: str | None = None
    owner: str | None = None
    repo: str | None = None
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """A branch ready to be sent.

    Attributes:
        line: its commits.
        made: the copies they will have.
        options: the rest of the request.
        body: the request's body.
        dirty: whether the work tree holds what is not committed; None where that was not found out.
    """

    line: BranchRange
    made: list[CopiedCommit]
    options: Options
    body: dict[str, Any]
    dirty: bool | None


def prepare_publication(
    environment: Environment, request: PublishRequest, cancel: CancelCheck | None = None
) -> Publication:
    """Read everything a publication sends. Blocking: call it in a thread.

    Raises:
        CommandError: exit 2: a code of `publication.refusals`, `not_a_repo`, `outside_sandbox`,
            `sandbox_root_required` or `usage`.
    """
    named = _named_repository(request.owner, request.repo)
    if request.replace_head is not None and not _OID.fullmatch(request.replace_head.strip()):
        raise usage("replace_head must be the whole id of the head on GitHub, 40 hexadecimal digits.")
    if request.title is not None and not request.title.strip():
        raise usage("title is blank; leave it out to take the newest commit's.")
    repository = open_checkout(environment, request.cwd, cancel)
    try:
        with steady(repository):
            owner, repo = named or _origin(repository)
            line = read_range(repository, request.branch, request.base)
            changes = read_changes(repository, line)
            blobs = read_blobs(repository, changes)
        dirty = _dirty(repository, line.branch, environment.variables)
    except GitError as error:
        raise git_refusal(error) from None
    title, body = _words(line, request.title, request.body)
    options = Options(
        owner=owner,
        repo=repo,
        title=title,
        body=body,
        auto_land=request.auto_land,
        replace_head=request.replace_head.strip().lower() if request.replace_head is not None else None,
    )
    made = copies(line.commits)
    return Publication(line, made, options, publication_body(line, made, changes, blobs, options), dirty)


async def publish_branch(api: Api, publication: Publication) -> dict[str, Any]:
    """Send a publication, once, and verify what became of it.

    Returns:
        `state`, `created`, `resumed`, `owner`, `repo`, `branch`, `base`, `head`, `commits`, `pull`, `stack`, `dirty`,
        `watch`.

    Raises:
        CommandError: a refusal of the service; `tree_mismatch` where GitHub holds something else than was sent;
            `PublicationRefused` with `state: unknown` where no usable answer came.
    """
    line = publication.line
    try:
        reply = await publish(api, publication.body)
    except (RequestTimeout, ConnectionFailed) as error:
        raise _unknown(error.message, error.code) from None
    if reply.status not in {200, 201}:
        raise _refusal(reply, line.head.oid)
    answer = read_answer(reply.body, absent=False)
    if answer is None:
        raise _unknown("Mergestorm answered with something that is no publication.", None)
    _verify_trees(answer, publication)
    expected = publication.made[-1].oid
    verified = answer.head_sha == expected
    return {
        "state": answer.state,
        "created": answer.created,
        "resumed": answer.resumed,
        "owner": publication.options.owner,
        "repo": publication.options.repo,
        "branch": line.branch,
        "base": line.base,
        "head": {"sha": answer.head_sha, "tree": answer.head_tree, "verified": verified},
        "commits": [
            {
                "local_sha": copy.original.oid,
                "github_sha": _on_github(answer, copy, verified=verified),
                "tree": copy.original.tree,
                "signed": copy.original.signed,
            }
            for copy in publication.made
        ],
        "pull": answer.pull,
        "stack": answer.stack,
        "dirty": publication.dirty,
        "watch": _watch(answer.stack),
    }


async def publication_status(api: Api, environment: Environment, request: StatusRequest) -> dict[str, Any]:
    """How far the publication of a branch got. Changes nothing.

    Returns:
        `state`, `owner`, `repo`, `branch`, `head`, `local_head`, `in_sync`, `pull`, `stack`, `watch`.

    Raises:
        CommandError: as `prepare_publication` for the checkout; a refusal of the service.
    """
    local = await run_in_thread(lambda cancel: _local_branch(environment, request, cancel))
    reply = await get_publication(api, owner=local.owner, repo=local.repo, branch=local.branch)
    if not reply.ok:
        raise _refusal(reply, local.head, reading=True)
    answer = read_answer(reply.body, absent=True)
    if answer is None:
        raise CommandError(
            "Mergestorm answered with something that is no publication; call again in a while."
        )
    head = None if answer.state == "absent" else {"sha": answer.head_sha, "tree": answer.head_tree}
    in_sync: bool | None = None
    if local.head is not None:
        in_sync = head is not None and answer.head_sha == local.head
        if head is not None and not in_sync and local.repository is not None:
            in_sync = answer.head_sha == await run_in_thread(lambda cancel: _copy_of(local, cancel))
    return {
        "state": answer.state,
        "owner": local.owner,
        "repo": local.repo,
        "branch": local.branch,
        "head": head,
        "local_head": local.head,
        "in_sync": in_sync,
        "pull": answer.pull,
        "stack": answer.stack,
        "watch": _watch(answer.stack),
    }


@dataclass(frozen=True, slots=True)
class _LocalBranch:
    owner: str
    repo: str
    branch: str
    head: str | None = None
    repository: Repository | None = None


def _local_branch(environment: Environment, request: StatusRequest, cancel: CancelCheck) -> _LocalBranch:
    """The branch that is meant, and where it stands here if it is here."""
    named = _named_repository(request.owner, request.repo)
    try:
        repository = open_checkout(environment, request.cwd, cancel)
        origin = github_repository(repository.config_value("remote.origin.url") or "")
        if (
            named is not None
            and request.cwd is None
            and request.branch is not None
            and not _same(named, origin)
        ):
            return _LocalBranch(*named, request.branch)  # the server happens to stand in another repository
        owner, repo = named or _origin(repository)
        branch = branch_name(repository, request.branch)
        return _LocalBranch(owner, repo, branch, branch_head(repository, branch), repository)
    except GitError as error:
        failure = git_refusal(error)
        if error.kind == "cancelled":
            raise failure from None
    except CommandError as error:
        failure = error
    # With everything named, a checkout is a help and no condition.
    if named is not None and request.cwd is None and request.branch is not None:
        return _LocalBranch(*named, request.branch)
    raise failure


def _copy_of(local: _LocalBranch, cancel: CancelCheck) -> str | None:
    """The id that the local head has on GitHub where a commit is signed; None if that cannot be said."""
    if local.repository is None:
        return None
    try:
        line = read_range(local.repository.bounded(cancel=cancel), local.branch)
    except (CommandError, GitError):  # what could not be published was not
        return None
    return copies(line.commits)[-1].oid


def _named_repository(owner: str | None, repo: str | None) -> tuple[str, str] | None:
    if (owner is None) != (repo is None):
        raise usage("owner and repo go together; leave both out to take the origin of cwd.")
    if owner is None or repo is None:
        return None
    if not owner.strip() or not repo.strip():
        raise usage("owner and repo must name a repository.")
    return owner.strip(), repo.strip()


def _origin(repository: Repository) -> tuple[str, str]:
    found = github_repository(repository.config_value("remote.origin.url") or "")
    if found is None:
        raise usage("origin of the checkout is not a GitHub repository; pass owner and repo.")
    return found


def _same(one: tuple[str, str], other: tuple[str, str] | None) -> bool:
    return other is not None and [part.casefold() for part in one] == [part.casefold() for part in other]


def _dirty(repository: Repository, branch: str, environ: Mapping[str, str]) -> bool | None:
    """Whether the work tree has changes that are not committed; None if the branch is not the one checked out."""
    if repository.head().branch != branch:
        return None
    try:
        limits = StateLimits(seconds=_DIRTY_SECONDS)
        return read_work_tree_state(repository, limits=limits, environ=environ).dirty
    except GitError as error:
        if error.kind == "cancelled":
            raise
        return None  # a remark, not a condition


def _words(line: BranchRange, title: str | None, body: str | None) -> tuple[str, str]:
    """Title and body of the pull request: as given, else from the newest commit's message."""
    first, _, rest = message_text(line.head).strip().partition("\n")
    wanted = one_line(title if title is not None else first, MAX_TITLE) or line.branch[:MAX_TITLE]
    text = body if body is not None else plain(rest.strip(), MAX_BODY)
    return wanted, text[:MAX_BODY]


def _verify_trees(answer: Answer, publication: Publication) -> None:
    wrong = answer.head_tree != publication.line.head.tree or any(
        pair[1] is not None and pair[1] != copy.original.tree
        for copy in publication.made
        if (pair := answer.commits.get(copy.original.oid)) is not None
    )
    if wrong:
        raise PublicationRefused(
            "The branch on GitHub does not hold the tree of the local branch. Do not build on it: tell the human, and "
            "read stack_publish_status.",
            code="tree_mismatch",
            exit_code=EXIT_GENERIC,
            details={"github_head": answer.head_sha, "local_head": publication.line.head.oid},
        )


def _on_github(answer: Answer, copy: CopiedCommit, *, verified: bool) -> str | None:
    told = answer.commits.get(copy.original.oid, (None, None))[0]
    return told or (copy.oid if verified else None)


def _watch(stack: dict[str, Any] | None) -> dict[str, Any] | None:
    return open_watch(stack["id"], reason="unread", fresh=True) if stack is not None else None


def _unknown(message: str, code: str | None) -> PublicationRefused:
    return PublicationRefused(
        f"{message} {_READ_FIRST}", code=code, exit_code=EXIT_GENERIC, details={"state": "unknown"}
    )


def _refusal(reply: Reply, local_head: str | None, *, reading: bool = False) -> CommandError:
    """The error for an answer that is no publication."""
    try:
        raise_rate_limit(reply)
    except CommandError as limited:
        return limited
    surge = surge_refusal(reply)
    if surge is not None:
        return surge
    code = reply.text("error")
    if code == "head_changed":
        return _head_changed(reply, local_head)
    if code in SERVICE_CODES:
        reason = reply.text("reason")
        return PublicationRefused(
            service_words(reply) or "Mergestorm refused it without saying more; nothing was published.",
            code=code,
            exit_code=EXIT_GENERIC,
            reason=one_line(reason, 100) if reason is not None else None,
            retry_after_seconds=reply.retry_after,
        )
    failed = failed_to("read the publication" if reading else "publish the branch", reply)
    if not reading and is_transient_status(reply.status):
        return _unknown(failed.message, None)
    return failed


def _head_changed(reply: Reply, local_head: str | None) -> CommandError:
    told = (reply.text("github_head") or "").strip().lower()
    head = told if _OID.fullmatch(told) else None
    return PublicationRefused(
        f"The branch on GitHub{f' is at {head} and' if head else ''} holds work that the local branch lacks; nothing was "
        "changed. Look at that work first. If it may be dropped, call again with replace_head naming exactly that head.",
        code="head_changed",
        exit_code=EXIT_GENERIC,
        details={"github_head": head, "local_head": local_head},
    )

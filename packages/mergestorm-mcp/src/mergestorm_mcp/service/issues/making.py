"""Who may have an issue made, and how a second request finds the first one's issue."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from mergestorm_mcp.service.accounts.keys import Caller
from mergestorm_mcp.service.github.access import require_surge, require_write, visible_repository
from mergestorm_mcp.service.github.hub import GitHubIssue, GitHubRepository
from mergestorm_mcp.service.github.people import SURGE_LOGIN
from mergestorm_mcp.service.pace import iso
from mergestorm_mcp.service.refusals import Refusal
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.world import World

__all__ = ["make_issue"]


def make_issue(
    world: World,
    connection: sqlite3.Connection,
    caller: Caller,
    *,
    owner: str,
    repo: str,
    title: str,
    body: str,
    labels: Sequence[str],
) -> dict[str, Any]:
    """Make an issue, or find the open one of that title that this account had made before.

    Args:
        world: the service.
        connection: of a write.
        caller: who asks; named in the issue's body.
        owner: of the repository.
        repo: its name.
        title: told apart by everything but blanks around it.
        body: what the caller writes.
        labels: must exist on the repository, whatever their case.

    Returns:
        The issue, with `created`.

    Raises:
        Refusal: 404 for a repository the caller cannot see, 403 without write access, 400 without the Surge App or for a
            label that does not exist.
    """
    repository = visible_repository(world, connection, caller, owner, repo)
    require_surge(world, connection, caller, repository)
    require_write(world, connection, caller, repository)
    found = world.hub.find_open_issue(connection, repository.id, title, account_id=caller.account_id)
    if found is not None:
        return _shown(world, repository, found, created=False)
    made = world.hub.open_issue(
        connection,
        repository.id,
        title=title,
        body=_signed(body, caller),
        labels=_existing(world, connection, repository, labels),
        author=SURGE_LOGIN,
        account_id=caller.account_id,
        at=iso(world.pace.now()),
    )
    line = f"Issue {repository.full_name}#{made.number}: {made.title}"
    record(world, connection, "issue", line, account_id=caller.account_id)
    return _shown(world, repository, made, created=True)


def _existing(
    world: World, connection: sqlite3.Connection, repository: GitHubRepository, asked: Sequence[str]
) -> list[str]:
    """The labels as the repository spells them, each once."""
    known = {label.lower(): label for label in world.hub.labels(connection, repository.id)}
    missing = [label for label in asked if label.lower() not in known]
    if missing:
        raise Refusal(
            400,
            "label_not_found",
            f"The repository has no label {', '.join(repr(label) for label in missing[:5])}; labels are not made here.",
        )
    return list(dict.fromkeys(known[label.lower()] for label in asked))


def _signed(body: str, caller: Caller) -> str:
    signature = f"Created by Mergestorm for @{caller.login}."
    return f"{body.rstrip()}\n\n{signature}\n" if body.strip() else f"{signature}\n"


def _shown(
    world: World, repository: GitHubRepository, issue: GitHubIssue, *, created: bool
) -> dict[str, Any]:
    return {
        "created": created,
        "number": issue.number,
        "url": world.hub.issue_url(repository, issue.number),
        "title": issue.title,
        "labels": list(issue.labels),
        "owner": repository.owner,
        "repo": repository.name,
    }

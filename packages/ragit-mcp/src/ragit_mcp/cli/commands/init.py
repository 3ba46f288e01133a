"""`ragit init`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mcpkit.git import GitError, discover
from mcpkit.git.process import run_git
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.wording import counted
from ragit_mcp.errors import CommandError, SnapshotError
from ragit_mcp.init import InitRequest, initialise
from ragit_mcp.snapshots.repository import coded_git_errors

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Make the repository ready."""
    line = context.invocation
    made = _git_init(context) if line.has("git-init") else False
    request = InitRequest(
        mode=line.text("mode") or "auto",
        strategy=line.text("strategy") or "balanced",
        scaffold=line.has("scaffold"),
        merge_existing=line.has("merge-existing"),
        dry_run=line.has("dry-run"),
    )
    try:
        root = context.root
    except SnapshotError as error:
        if error.details.get("reason") == "not_a_repository":
            error.recovery = "ragit init --git-init"
        raise
    if _asks(context):
        planned = initialise(
            root,
            InitRequest(
                request.mode, request.strategy, request.scaffold, request.merge_existing, dry_run=True
            ),
            environ=context.environ,
        )
        if not _agreed([path for path, action in planned.actions if action != "keep"]):
            return Answer({**planned.to_json(), "declined": True, "gitInit": made}, _draw)
    outcome = initialise(root, request, environ=context.environ)
    return Answer({**outcome.to_json(), "declined": False, "gitInit": made}, _draw)


def _asks(context: Context) -> bool:
    """Whether somebody is there to be asked and wants to be."""
    line = context.invocation
    answered = any(line.has(flag) for flag in ("yes", "non-interactive", "dry-run"))
    streams = (sys.stdin, sys.stderr)
    return not answered and all(stream is not None and stream.isatty() for stream in streams)


def _agreed(paths: list[str]) -> bool:
    if not paths:
        return True
    sys.stderr.write("ragit init will write:\n" + "".join(f"  {path}\n" for path in paths) + "Go on? [Y/n] ")
    sys.stderr.flush()
    answer = sys.stdin.readline(100)
    return answer.endswith("\n") and answer.strip().lower() in {
        "",
        "y",
        "yes",
    }  # an end of input is no consent


def _git_init(context: Context) -> bool:
    try:
        discover(context.place)
    except GitError as error:
        if error.kind != "not_a_repository":
            return False  # whatever it is, it is not ours to replace; opening it says what is wrong
    else:
        return False
    if context.invocation.has("dry-run"):
        raise CommandError(
            "CLI_USAGE",
            "Without a repository there is nothing to try out; run git init first.",
            details={"reason": "no_repository"},
            recovery="git init",
        )
    with coded_git_errors():
        # No template: nothing but what git needs, and no program of anybody's.
        answer = run_git([
            "init",
            "--quiet",
            "--template=",
            "--initial-branch=main",
            os.path.abspath(context.place),
        ])
        if answer.code != 0:
            raise GitError("git_failed", detail=answer.errors)
    return True


def _draw(screen: Screen, data: Any) -> None:
    if data["declined"]:
        screen.line("Nothing was written.")
        return
    if data["gitInit"]:
        screen.line(("made     ", "good"), "a git repository")
    word = "would write " if data["dryRun"] else "wrote    "
    for path in data["created"]:
        screen.line((word, "good"), path)
    for path in data["merged"]:
        screen.line(("added to ", "good"), path)
    for path in data["kept"]:
        screen.line(("kept     ", "faint"), path)
    scan = data["scan"]
    screen.line(
        f"{counted(scan['documents'], 'Markdown document')} among {counted(scan['files'], 'file')} ({scan['mode']})."
    )
    if not data["dryRun"]:
        screen.line(
            "Next: commit .ragit, then ",
            ("ragit ingest", "name"),
            " and ",
            ("ragit hooks install", "name"),
            ".",
        )

"""`ragit hooks run`: what an installed hook calls. It ends with success whatever happens."""

from __future__ import annotations

import sys
import time
from typing import Any

from mcpkit.terminal.visible import one_line
from ragit_mcp.cli.commands.ingest import ingest_and_record
from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.cli.parsing import usage_error
from ragit_mcp.cli.wording import counted
from ragit_mcp.errors import RagitError
from ragit_mcp.hooks.running import run_hook
from ragit_mcp.hooks.script import HOOK_NAMES
from ragit_mcp.snapshots.repository import coded_git_errors

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Bring the index up to HEAD; a failure is one line on stderr."""
    name = context.invocation.arguments[0]
    if name not in HOOK_NAMES:
        raise usage_error(
            f"There is no hook of that name; there are {', '.join(HOOK_NAMES)}.", reason="bad_value"
        )
    started = time.monotonic()
    data: dict[str, Any] = {"hook": name, "done": False, "commitSha": None}
    try:
        with coded_git_errors():
            result = run_hook(
                context.repository,
                name,
                lambda request: ingest_and_record(context, request).result,
                environ=context.environ,
            )
        if result is not None:
            data |= {"done": True, "commitSha": result.commit_sha, "newDocuments": result.new_documents}
            data["seconds"] = round(time.monotonic() - started, 3)
            if result.new_documents and not context.quiet:
                _tell(
                    f"indexed {result.commit_sha[:10]}, {counted(result.new_documents, 'new document')}, {data['seconds']:.1f} s"
                )
    except RagitError as error:
        _tell(f"{one_line(error.message)} Next: {one_line(error.recovery)}")
    # Drawn by nobody: the drawing library would take longer to load than the line to say.
    return Answer(data, None)


def _tell(text: str) -> None:
    try:
        sys.stderr.write(f"ragit: {text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return  # nobody is there to be told

"""`ragit hooks install`, `uninstall` and `status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.hooks import HooksDirectory, find_hooks_directory, read_hooks
from ragit_mcp.hooks.installing import install_hook, uninstall_hook
from ragit_mcp.hooks.script import HOOK_NAMES
from ragit_mcp.snapshots.repository import coded_git_errors

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Cell, Screen

__all__ = ["run"]

_SETTINGS = {"post-commit": "hooks.post_commit", "post-merge": "hooks.post_merge"}


def run(context: Context) -> Answer:
    """Do what the last word of the command says."""
    with coded_git_errors():
        directory = find_hooks_directory(context.repository, context.environ)
    action = context.invocation.command.name.rpartition(" ")[2]
    changed: list[str] = []
    warnings: list[str] = []
    if action == "install":
        wanted = [name for name in HOOK_NAMES if context.config.values[_SETTINGS[name]]]
        before = {state.name: state for state in read_hooks(directory)}
        changed.extend(name for name in wanted if install_hook(directory, name) != before[name])
        warnings = _warnings(directory)
        if not context.config.repository_file:
            warnings.append(
                "There is no .ragit/config.toml yet, so the hooks do nothing; run: ragit init --yes"
            )
    elif action == "uninstall":
        changed = [name for name in HOOK_NAMES if uninstall_hook(directory, name)]
    data = {
        "directory": directory.path,
        "source": directory.source,
        "shared": directory.shared,
        "changed": changed,
        "hooks": [state.to_json() for state in read_hooks(directory)],
    }
    return Answer(data, _draw, tuple(warnings))


def _warnings(directory: HooksDirectory) -> list[str]:
    found: list[str] = []
    if directory.shared:
        found.append(
            "core.hooksPath is set for all your repositories, so these hooks run in each of them; they do nothing where "
            "there is no .ragit/config.toml."
        )
    if directory.in_work_tree:
        found.append(
            "core.hooksPath lies in the work tree: the hooks name this machine's Python, so think twice before you commit "
            "them."
        )
    return found


def _draw(screen: Screen, data: Any) -> None:
    screen.line(("hooks in ", "faint"), data["directory"], (f" ({data['source']})", "faint"))
    rows: list[list[Cell]] = []
    for hook in data["hooks"]:
        words = "another program's" if hook["state"] == "foreign" else hook["state"]
        told: Cell = (words, "good") if hook["state"] == "installed" else words
        rows.append([
            (hook["name"], "name"),
            (words, "bad") if hook["state"] == "broken" else told,
            "beside another hook" if hook["chained"] else "",
            hook["reason"] or "",
        ])
    screen.table(["", "", "", ""], rows)

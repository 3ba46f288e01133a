"""Git hooks that keep the index up to date after a commit and after a merge.

    location     the directory from which git runs hooks: core.hooksPath, linked worktrees
    script       the lines that ragit puts into a hook
    state        what is installed; reading only
    installing   install and uninstall
    running      what an installed hook does

A hook that is there already stays in force: a shell script gets a marked block, any other program is called by ours.
Hooks never fail the git command that runs them.
"""

from __future__ import annotations

from ragit_mcp.hooks.location import HooksDirectory, find_hooks_directory
from ragit_mcp.hooks.state import HookState, read_hook, read_hooks

__all__ = ["HookState", "HooksDirectory", "find_hooks_directory", "read_hook", "read_hooks"]

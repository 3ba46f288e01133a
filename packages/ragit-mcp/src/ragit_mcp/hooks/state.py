"""What is installed: reading only."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Any, Final, Literal

from mcpkit.files import FileAccessError, read_regular
from ragit_mcp.hooks.location import HooksDirectory
from ragit_mcp.hooks.script import BEFORE_SUFFIX, HOOK_NAMES, find_block, program_in

__all__ = ["HookState", "read_content", "read_hook", "read_hooks"]

_MAX_BYTES: Final = 1 << 20
_WINDOWS: Final = os.name == "nt"

State = Literal["absent", "foreign", "installed", "broken"]


@dataclass(frozen=True, slots=True)
class HookState:
    """One hook.

    Attributes:
        name: its name.
        state: `absent` (no hook), `foreign` (a hook without ragit), `installed`, or `broken`: installed, but git would not
            run it or the program it starts is gone.
        reason: what is broken.
        chained: another hook stays in force beside ragit.
        program: the interpreter that it starts.
    """

    name: str
    state: State
    reason: str | None = None
    chained: bool = False
    program: str | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `hooks status`."""
        return {
            "name": self.name,
            "state": self.state,
            "reason": self.reason,
            "chained": self.chained,
            "program": self.program,
        }


def read_hooks(directory: HooksDirectory) -> list[HookState]:
    """The state of every hook that ragit installs; never fails."""
    return [read_hook(directory, name) for name in HOOK_NAMES]


def read_hook(directory: HooksDirectory, name: str) -> HookState:
    """The state of one hook; never fails."""
    path = os.path.join(directory.path, name)
    content = read_content(path)
    if content is None:
        return HookState(name, "foreign" if os.path.lexists(path) else "absent")
    block = find_block(content)
    if block is None:
        return HookState(name, "foreign")
    program = program_in(block)
    bare = content.replace(block, b"", 1).strip()
    chained = bare not in {b"", b"#!/bin/sh"}
    if BEFORE_SUFFIX.encode() in bare:
        chained = os.path.lexists(path + BEFORE_SUFFIX)
    if not _is_executable(path):
        return HookState(name, "broken", "git does not run it: it is not executable", chained, program)
    if program is None or not os.access(program, os.X_OK):
        reason = "the Python it starts is gone; run: ragit hooks install"
        return HookState(name, "broken", reason, chained, program)
    return HookState(name, "installed", None, chained, program)


def read_content(path: str) -> bytes | None:
    """Content of a hook; None if there is none, or none that can be read as a script."""
    try:
        return read_regular(path, max_bytes=_MAX_BYTES)
    except FileAccessError:
        return None


def _is_executable(path: str) -> bool:
    return _WINDOWS or bool(os.stat(path).st_mode & stat.S_IXUSR)

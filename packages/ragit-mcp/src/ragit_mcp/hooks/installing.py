"""Putting ragit into git's hooks, and taking it out again so that the hook is byte for byte what it was.

    no hook                       a script of ours
    a shell script                our block after its first line
    any other program, a link,    a copy beside it (`<name>.before-ragit`), called by a script of ours; a hook that git
    or a hook that is switched    does not run because it is not executable stays switched off
    off

This module writes into git's directory of hooks and nowhere else.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from typing import Final

from mcpkit.files import FileAccessError, atomic_write
from ragit_mcp.errors import CommandError
from ragit_mcp.hooks.location import HooksDirectory
from ragit_mcp.hooks.script import (
    BEFORE_SUFFIX,
    chaining_script,
    find_block,
    is_ours_alone,
    is_shell_script,
    new_script,
    render_block,
    with_block,
    without_block,
)
from ragit_mcp.hooks.state import HookState, read_content, read_hook

__all__ = ["install_hook", "uninstall_hook"]

_MODE: Final = 0o755


def install_hook(directory: HooksDirectory, name: str, *, python: str = sys.executable) -> HookState:
    """Install one hook, or bring an installed one up to date.

    Args:
        directory: of `find_hooks_directory`.
        name: one of `HOOK_NAMES`.
        python: interpreter that the hook starts.

    Returns:
        Its state now.

    Raises:
        CommandError: `WRITE_FAILED`; the hook is what it was.
    """
    path = os.path.join(directory.path, name)
    block = render_block(name, python)
    content = read_content(path)
    if not os.path.lexists(path):
        _make_directory(directory.path)
        _write(path, new_script(block), _MODE)
    elif content is not None and find_block(content) is not None:
        if content != with_block(content, block):
            _write(path, with_block(content, block), _mode_of(path))
    elif content is not None and is_shell_script(content) and not os.path.islink(path) and _runs(path):
        _write(path, with_block(content, block), _mode_of(path))
    else:
        _keep_aside(path, name)
        _write(path, chaining_script(name, block), _MODE)
    return read_hook(directory, name)


def uninstall_hook(directory: HooksDirectory, name: str) -> bool:
    """Take ragit out of one hook.

    Returns:
        Whether it was there.

    Raises:
        CommandError: `WRITE_FAILED`; the hook is what it was.
    """
    path = os.path.join(directory.path, name)
    content = read_content(path)
    if content is None or find_block(content) is None:
        return False
    rest = without_block(content)
    before = path + BEFORE_SUFFIX
    try:
        if not is_ours_alone(rest, name):
            _write(path, rest, _mode_of(path))
        elif os.path.lexists(before):
            os.replace(before, path)
        else:
            os.unlink(path)
    except OSError as error:
        raise _failed(name, error) from error
    return True


def _keep_aside(path: str, name: str) -> None:
    before = path + BEFORE_SUFFIX
    if os.path.lexists(before):
        raise CommandError(
            "WRITE_FAILED",
            f"The hook {name} cannot be kept aside: {name}{BEFORE_SUFFIX} exists already. Move it away, then retry.",
            details={"path": f"{name}{BEFORE_SUFFIX}"},
        )
    try:
        if os.path.isdir(path):
            raise IsADirectoryError
        # Copied, not moved: the hook is in force at every moment.
        shutil.copy2(path, before, follow_symlinks=False)
    except OSError as error:
        raise _failed(name, error) from error


def _make_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise _failed("hooks", error) from error


def _write(path: str, content: bytes, mode: int) -> None:
    try:
        atomic_write(path, content, mode)
    except FileAccessError as error:
        name = os.path.basename(path)
        raise CommandError(
            "WRITE_FAILED", f"The hook {name} {error.reason}.", details={"path": name}
        ) from None


def _failed(name: str, error: OSError) -> CommandError:
    words = os.strerror(error.errno) if error.errno else "it is not a file"
    return CommandError(
        "WRITE_FAILED", f"The hook {name} cannot be changed: {words}.", details={"path": name}
    )


def _mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def _runs(path: str) -> bool:
    """Whether git runs the hook: on POSIX only if it is executable."""
    return os.name == "nt" or bool(os.stat(path).st_mode & stat.S_IXUSR)

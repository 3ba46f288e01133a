"""The lines that ragit puts into a hook, and how they are found again.

A block stands between two marks, directly after the first line of a shell script. It runs in a subshell of its own,
reads nothing, and ends with success whatever happens; the script around it goes on as if it were not there.
"""

from __future__ import annotations

import re
import shlex
from typing import Final

__all__ = [
    "HOOK_NAMES",
    "chaining_script",
    "find_block",
    "is_shell_script",
    "new_script",
    "program_in",
    "render_block",
    "with_block",
    "without_block",
]

#: Hooks that ragit installs, with the setting that switches each off.
HOOK_NAMES: Final = ("post-commit", "post-merge")

BEFORE_SUFFIX: Final = ".before-ragit"
_FIRST_LINE: Final = b"#!/bin/sh\n"
_BEGIN: Final = "# >>> ragit >>>"
_END: Final = "# <<< ragit <<<"
_BLOCK: Final = re.compile(
    rb"^# >>> ragit >>>[^\n]*\n.*?^# <<< ragit <<<[^\n]*(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
_PROGRAM: Final = re.compile(r"^\s*ragit_python=(.*)$", re.MULTILINE)
_SHELLS: Final = re.compile(
    rb"#![ \t]*(?:[^\s]*/)?(?:env[ \t]+)?(?:[^\s]*/)?(?:sh|bash|dash|ash|zsh|ksh)(?:[ \t][^\n]*)?\n"
)


def render_block(name: str, python: str) -> bytes:
    """The block of one hook.

    Args:
        name: one of `HOOK_NAMES`.
        python: absolute path of the interpreter in whose environment ragit is installed. It is started directly, so that
            no environment needs to be active; if it is gone, the `ragit` on PATH is.
    """
    quoted = shlex.quote(python.replace("\\", "/"))
    lines = [
        f"{_BEGIN} keeps the index up to date; 'ragit hooks uninstall' removes these lines",
        "( [ -f .ragit/config.toml ] || exit 0",
        f"  ragit_python={quoted}",
        '  if [ -x "$ragit_python" ]; then',
        # -P: a file of the repository that is named like one of our modules must not be imported.
        f'    "$ragit_python" -P -m ragit_mcp.cli hooks run {name}',
        "  elif command -v ragit >/dev/null 2>&1; then",
        f"    ragit hooks run {name}",
        "  else",
        "    echo 'ragit: not found, so the index was not updated; run: ragit hooks install' >&2",
        "  fi ) </dev/null || :",
        f"{_END}",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def new_script(block: bytes) -> bytes:
    """A hook that holds nothing but the block."""
    return _FIRST_LINE + block


def chaining_script(name: str, block: bytes) -> bytes:
    """A hook that runs the block, then becomes the program that was there before."""
    return _FIRST_LINE + block + _chain_of(name)


def _chain_of(name: str) -> bytes:
    return (
        "# The hook that was here before ragit.\n"
        f'[ ! -x "$(dirname "$0")/{name}{BEFORE_SUFFIX}" ] || exec "$(dirname "$0")/{name}{BEFORE_SUFFIX}" "$@"\n'
    ).encode("ascii")


def is_shell_script(content: bytes) -> bool:
    """Whether a hook is a script of a POSIX-like shell, into which the block can be put."""
    return _SHELLS.match(content) is not None


def with_block(content: bytes, block: bytes) -> bytes:
    """A shell script with the block after its first line; a block that is there already is replaced."""
    bare = without_block(content)
    first, newline, rest = bare.partition(b"\n")
    return first + newline + block + rest


def without_block(content: bytes) -> bytes:
    """The script without the block."""
    return _BLOCK.sub(b"", content, count=1)


def find_block(content: bytes) -> bytes | None:
    """The block in a script."""
    found = _BLOCK.search(content)
    return None if found is None else found[0]


def is_ours_alone(content: bytes, name: str) -> bool:
    """Whether a script without its block holds nothing that is not from here."""
    return content in {_FIRST_LINE, _FIRST_LINE + _chain_of(name)}


def program_in(block: bytes) -> str | None:
    """The interpreter that a block starts."""
    found = _PROGRAM.search(block.decode("utf-8", "surrogateescape"))
    try:
        words = shlex.split(found[1]) if found is not None else []
    except ValueError:
        return None
    return words[0] if len(words) == 1 else None

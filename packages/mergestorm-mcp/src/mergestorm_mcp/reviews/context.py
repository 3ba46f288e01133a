"""Context an agent adds to a review: a text, and files that lie inside the sandbox.

Contract section 4. Files are opened by walking down from the sandbox root with every directory held open, so that
exchanging one for a link between check and read gains nothing (`mcpkit.files`). Links that stay inside the root are
followed, once. Git's own data, Mergestorm's configuration and what the kernel shows as files (an environment with a key
in it, for one) are refused under whatever name they are reached.

Blocking: call it in a thread.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Final

from mcpkit.files import FileAccessError, locate_below, open_below
from mcpkit.git.layout import is_git_directory
from mergestorm_mcp.config import Environment, config_directory
from mergestorm_mcp.errors import CommandError, usage
from mergestorm_mcp.sandbox import lies_below, sandbox_root
from mergestorm_mcp.text import one_line

__all__ = [
    "MAX_CONTEXT",
    "MAX_CONTEXT_FILE",
    "MAX_CONTEXT_FILES",
    "context_text",
    "read_context_files",
    "refuse_standard_input",
]

MAX_CONTEXT: Final = 60_000
"""Characters of the text, and of all files together."""

MAX_CONTEXT_FILE: Final = 16_000
MAX_CONTEXT_FILES: Final = 10

# No character of UTF-8 takes more bytes.
_BYTES: Final = 4


def refuse_standard_input(given: str | None) -> None:
    """Refuse `-`, which a command line replaces by its input before it comes here.

    Raises:
        CommandError: `usage`, exit 2.
    """
    if given is not None and given.strip() == "-":
        raise usage('context "-" means standard input, which a tool does not have; pass the text itself.')


def context_text(given: str | None) -> str | None:
    """The text without surrounding blanks.

    Raises:
        CommandError: `usage` (exit 2) for a blank or a long text.
    """
    if given is None:
        return None
    text = given.strip()
    if not text:
        raise usage("context is blank; leave it out or say something.")
    if len(text) > MAX_CONTEXT:
        raise usage(f"context has more than {MAX_CONTEXT:,} characters; shorten it.")
    return text


def read_context_files(
    environment: Environment, cwd: str | None, names: Iterable[str]
) -> list[dict[str, str]]:
    """Paths and contents of files the agent named, relative names from `cwd`.

    Returns:
        `path` (from cwd where the file lies below it, else from the sandbox root) and `content` of each.

    Raises:
        CommandError: `usage` (exit 2) for every file that may not or cannot be read, or is too long;
            `sandbox_root_required`.
    """
    wanted = list(names)
    if not wanted:
        return []
    if len(wanted) > MAX_CONTEXT_FILES:
        raise usage(f"At most {MAX_CONTEXT_FILES} context_files can be sent.")
    root = sandbox_root(environment)
    stand = os.path.realpath(os.path.join(environment.working_directory, cwd or ""))
    private = _Private(environment, root)
    files: list[dict[str, str]] = []
    total = 0
    for number, name in enumerate(wanted, 1):
        shown = f"context_files[{number - 1}] ({one_line(name, 80)})"
        path, content = _read(root, stand, name, shown, private)
        total += len(content)
        if total > MAX_CONTEXT:
            raise usage(f"context_files have more than {MAX_CONTEXT:,} characters in all; send fewer.")
        files.append({"path": path, "content": content})
    return files


class _Private:
    """What is never read, whatever it is called."""

    def __init__(self, environment: Environment, root: str) -> None:
        self._root = root
        self._directory = os.path.realpath(config_directory(environment)) if environment.home else None
        self._files = set(_identities(self._directory)) if self._directory is not None else set()
        self._devices = set(_kernel_devices())

    def holds(self, place: str, status: os.stat_result) -> bool:
        """Whether a file found at `place` below the root is git's, Mergestorm's or the kernel's own."""
        parts = place.split("/")
        if status.st_dev in self._devices:
            return True
        if any(part.casefold() == ".git" for part in parts) or (status.st_dev, status.st_ino) in self._files:
            return True
        path = os.path.join(self._root, *parts)
        if self._directory is not None and lies_below(path, self._directory):
            return True
        above = os.path.dirname(path)
        while lies_below(above, self._root):  # a git directory by another name
            if is_git_directory(above):
                return True
            above, below = os.path.dirname(above), above
            if above == below:
                break
        return False


def _kernel_devices() -> Iterator[int]:
    """Device numbers of file systems whose files are answers of the kernel; they matter to a root like `/`."""
    for place in ("/proc", "/sys"):
        with contextlib.suppress(OSError):
            if os.path.ismount(place):
                yield os.stat(place).st_dev


def _identities(directory: str) -> Iterator[tuple[int, int]]:
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                status = os.stat(entry.path)
                yield status.st_dev, status.st_ino
    except OSError:
        return  # nothing there to protect, or nothing that may be seen


def _read(root: str, stand: str, name: str, shown: str, private: _Private) -> tuple[str, str]:
    if not name.strip():
        raise usage(f"{shown} is blank; name a file.")
    try:
        found = locate_below(root, _under_its_root(root, os.path.join(stand, name)), follow_links=True)
        # The place found, and no further link: a file exchanged since then is refused.
        with open_below(root, found.path, max_bytes=MAX_CONTEXT_FILE * _BYTES) as stream:
            if private.holds(found.path, os.fstat(stream.fileno())):
                raise usage(f"{shown} is git's, Mergestorm's or the system's own and is never sent.")
            data = stream.read(MAX_CONTEXT_FILE * _BYTES + 1)
    except FileAccessError as error:
        if error.kind == "too_large":
            raise _too_long(shown) from None
        hint = " (the host sets it: MERGESTORM_SANDBOX_ROOT)" if error.kind == "outside_root" else ""
        raise usage(f"{shown} {error.reason}{hint}.") from None
    except OSError:
        raise usage(f"{shown} could not be read.") from None
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError:
        raise usage(f"{shown} is not UTF-8 text.") from None
    if "\0" in content:
        raise usage(f"{shown} is not text.")
    if len(content) > MAX_CONTEXT_FILE:
        raise _too_long(shown)
    path = os.path.join(root, *found.path.split("/"))
    origin = stand if lies_below(path, stand) else root
    return os.path.relpath(path, origin).replace(os.sep, "/"), content


def _under_its_root(root: str, path: str) -> str:
    """The path as a place below the real root, where a link outside of it gives the root (or a part) another name.

    Whatever this says is looked at again from the root, so a link that is exchanged meanwhile gains nothing.
    """
    if "\0" in path or lies_below(path, root):
        return path
    beginning, parts = os.path.splitdrive(path)[0] + os.sep, path.split(os.sep)[1:]
    for number, part in enumerate(parts, 1):
        beginning = os.path.join(beginning, part)
        if not os.path.lexists(beginning):
            break
        place = os.path.realpath(beginning)
        if lies_below(place, root):
            return os.path.join(place, *parts[number:])
    return path


def _too_long(shown: str) -> CommandError:
    return usage(f"{shown} has more than {MAX_CONTEXT_FILE:,} characters; send a part of it as context.")

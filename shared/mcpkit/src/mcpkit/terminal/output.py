"""Writing to stdout and stderr in a way that holds under every locale, with readers that leave and disks that are full.

Standard library only, a handful of modules: `--version` and `--help` write through this.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

__all__ = ["OutputFailure", "abandon_output", "speak_utf8", "write_error", "write_output"]


class OutputFailure(Exception):
    """stdout could not take the output; the text says why and fits into brackets."""


def write_output(text: str) -> None:
    """Write to stdout as UTF-8, whatever the console's code page is, and flush.

    A reader that has gone away is no failure: it has seen enough.

    Raises:
        OutputFailure: stdout is closed, the disk is full, or the device failed.
    """
    stream: Any = sys.stdout
    if stream is None:
        raise OutputFailure("it is closed")
    data = text.encode("utf-8", "backslashreplace")
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except OSError as error:
        abandon_output()
        # Windows reports a closed pipe as an invalid argument.
        if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
            return
        raise OutputFailure(os.strerror(error.errno) if error.errno else "input/output error") from None


def write_error(text: str) -> None:
    """Write lines to stderr; if it is gone there is nobody to tell."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return


def abandon_output() -> None:
    """Point stdout at nothing, so that the interpreter's own flush at exit can neither complain nor wait."""
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
    except (AttributeError, OSError, ValueError):
        return


def speak_utf8() -> None:
    """Have `print` and others that write text to stdout and stderr write UTF-8, unpaired surrogates as escapes.

    For programs that write piece by piece; `write_output` needs no such preparation.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

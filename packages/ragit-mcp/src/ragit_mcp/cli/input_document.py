"""`--input`: a request as JSON, from a file of the repository or from stdin (contract B).

The file has to lie inside the repository and is reached through no link. Sizes and depth are bounded; duplicate members
and numbers that are no JSON are refused, because two readers would understand them differently.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final, NoReturn

from mcpkit.files import FileAccessError, read_below
from ragit_mcp.artifacts.input import input_invalid
from ragit_mcp.errors import CommandError

__all__ = ["MAX_INPUT_BYTES", "read_input"]

MAX_INPUT_BYTES: Final = 16 << 20


def read_input(root: str, place: str, named: str) -> Any:
    """The document that `--input` names.

    Args:
        root: the repository's root.
        place: directory that a relative name is meant from.
        named: the flag's value; `-` for stdin.

    Raises:
        CommandError: `INPUT_INVALID`.
    """
    data = _stdin() if named == "-" else _file(root, place, named)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise input_invalid("the document", "is not UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise input_invalid("the document", "is not valid JSON, or is nested too deeply") from None


def _stdin() -> bytes:
    stream = getattr(sys.stdin, "buffer", None)
    data: bytes = b"" if stream is None else stream.read(MAX_INPUT_BYTES + 1)
    if len(data) > MAX_INPUT_BYTES:
        raise input_invalid("the document", f"is larger than {MAX_INPUT_BYTES} bytes")
    return data


def _file(root: str, place: str, named: str) -> bytes:
    path = os.path.normpath(os.path.join(os.path.realpath(place), named))
    try:
        return read_below(root, path, max_bytes=MAX_INPUT_BYTES)
    except FileAccessError as error:
        if error.kind == "outside_root":
            raise CommandError(
                "INPUT_INVALID",
                "Input: the file must lie inside the repository.",
                details={"field": "input", "reason": "outside_root"},
            ) from None
        raise CommandError(
            "INPUT_INVALID",
            f"Input: the file {error.reason}.",
            details={"field": "input", "reason": error.kind},
        ) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a member stands twice")
    return value


def _no_number(_: str) -> NoReturn:
    raise ValueError("no JSON number")

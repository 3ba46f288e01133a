"""Finds a scenario, bundled or a file of one's own, and checks it."""

from __future__ import annotations

import os
from importlib import resources
from typing import Final

from pydantic import ValidationError

from mcpkit.files import FileAccessError, read_regular
from mergestorm_mcp.service.scenarios.form import Scenario
from mergestorm_mcp.service.scenarios.text import MAX_BYTES, TextError, read

__all__ = ["ScenarioError", "load", "names", "parse"]

_SUFFIX: Final = ".yaml"


class ScenarioError(Exception):
    """A scenario that cannot be used. Its text names the file, the line where there is one, and what is wrong.

    Attributes:
        line: where, counted from 1; None where no place can be named.
    """

    def __init__(self, source: str, line: int | None, reason: str) -> None:
        super().__init__(f"{source}{f':{line}' if line is not None else ''}: {reason}")
        self.line = line


def names() -> list[str]:
    """Names of the bundled scenarios."""
    files = resources.files(__package__).joinpath("bundled").iterdir()
    return sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))


def load(source: str | os.PathLike[str]) -> Scenario:
    """A bundled scenario by its name, or one in a file.

    Args:
        source: a bundled name; anything with a path separator or the suffix `.yaml` or `.yml` is a file.

    Raises:
        ScenarioError: there is none, or it says something no scenario can.
    """
    wanted = os.fspath(source)
    if wanted in names():
        file = resources.files(__package__).joinpath("bundled", wanted + _SUFFIX)
        return parse(file.read_text(encoding="utf-8"), wanted)
    if not wanted.endswith((_SUFFIX, ".yml")) and os.sep not in wanted and "/" not in wanted:
        raise ScenarioError(wanted, None, f"there is no such scenario; bundled are {', '.join(names())}")
    try:
        content = read_regular(wanted, max_bytes=MAX_BYTES)
        return parse(content.decode("utf-8"), wanted)
    except UnicodeDecodeError:
        raise ScenarioError(wanted, None, "the file is not UTF-8") from None
    except (FileAccessError, OSError):
        raise ScenarioError(wanted, None, "the file cannot be read, or is too large") from None


def parse(text: str, source: str = "scenario") -> Scenario:
    """A scenario from its text.

    Args:
        text: YAML.
        source: what errors call it.

    Raises:
        ScenarioError: it says something no scenario can.
    """
    try:
        document = read(text)
    except TextError as error:
        raise ScenarioError(source, error.line, error.reason) from None
    try:
        return Scenario.model_validate(document.value)
    except ValidationError as error:
        [first, *_] = error.errors(include_url=False, include_input=False)
        place = ".".join(str(part) for part in first["loc"])
        reason = f"{place}: {first['msg']}" if place else first["msg"]
        raise ScenarioError(source, document.line_of(first["loc"]), reason) from None

"""Changing the repository's configuration file: `config set`, and the file that `init` writes.

An edit touches the one value and leaves every other character as it is: comments, order, line ends. Whatever the edit
does is read again before it is written; if anything but the one setting would have changed its meaning, nothing is
written. The new file takes the place of the old one at once, and never through a link.

This module writes; nothing that serves reading imports it.
"""

from __future__ import annotations

import copy
import difflib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, FoundFile, atomic_write_below, locate_below, read_below
from mcpkit.secrets import find_secrets
from ragit_mcp.config import toml_text
from ragit_mcp.config.reading import CONFIG_PATH, not_toml, unreadable, value_from_text
from ragit_mcp.config.schema import SECTIONS, SETTINGS, Setting, Value, ValueRefused, check_value
from ragit_mcp.config.view import Origin
from ragit_mcp.errors import ConfigError

__all__ = ["SetOutcome", "render_default_config", "set_value", "write_default_config"]

_FILE_MODE: Final = 0o644
_HEADER: Final = """\
# Configuration of ragit for this repository; `ragit config list` explains every setting.
# Which hosts text may be sent to is not decided here but in the user's own configuration.
"""
# Left to the defaults of whichever version reads the file, or not a repository's to set.
_NOT_IN_A_NEW_FILE: Final = frozenset({
    "embedding.timeout_ms",
    "retrieval.alpha",
    "trust.hosts",
    "trust.model_dirs",
})


@dataclass(frozen=True, slots=True)
class SetOutcome:
    """What `config set` did.

    Attributes:
        key: the setting.
        value: its value now.
        changed: whether the file was written; False if it had that value.
    """

    key: str
    value: Value
    changed: bool


def set_value(root: str | os.PathLike[str], key: str, text: str) -> SetOutcome:
    """Set one setting in the repository's file.

    Args:
        root: the repository's root.
        key: `section.name`.
        text: the value as a person writes it; see `value_from_text`.

    Raises:
        ConfigError: `CONFIG_KEY_UNKNOWN`, `CONFIG_VALUE_INVALID`, `CONFIG_NOT_INITIALIZED` (no `.ragit`),
            `CONFIG_INVALID` or `CONFIG_UNREADABLE` (the file as it is), `CONFIG_EDIT_UNSUPPORTED` (a way of writing
            that can only be changed by hand) or `CONFIG_WRITE_FAILED`. The file is unchanged then.
    """
    setting = _known(key)
    try:
        value = value_from_text(setting, text)
    except ValueRefused as refused:
        raise ConfigError(
            "CONFIG_VALUE_INVALID", f"{setting.key} {refused.reason}.", details={"key": setting.key}
        ) from None
    if find_secrets(text):
        raise ConfigError(
            "CONFIG_VALUE_INVALID",
            f"{setting.key} may not hold a secret: the file is committed. Keys belong in the environment.",
            details={"key": setting.key},
        )
    before, mode = _present(root)
    after = edit_text(before, setting, value)
    if after != before:
        _write(root, after, mode)
    return SetOutcome(setting.key, value, after != before)


def write_default_config(root: str | os.PathLike[str], values: Mapping[str, Value] | None = None) -> None:
    """Write a new configuration file; `.ragit` must exist. An older file is replaced.

    Raises:
        ConfigError: `CONFIG_VALUE_INVALID` or `CONFIG_WRITE_FAILED`.
    """
    _write(root, render_default_config(values), _FILE_MODE)


def render_default_config(values: Mapping[str, Value] | None = None) -> str:
    """The text of a new file: every setting of a repository's with its default.

    Args:
        values: settings that differ from their defaults.

    Raises:
        ConfigError: `CONFIG_KEY_UNKNOWN` or `CONFIG_VALUE_INVALID`.
    """
    given = {key: _checked(_known(key), value) for key, value in (values or {}).items()}
    lines = [_HEADER]
    for section in SECTIONS:
        settings = [
            setting
            for setting in SETTINGS.values()
            if setting.section == section and (setting.key in given or setting.key not in _NOT_IN_A_NEW_FILE)
        ]
        shown = [
            f"{setting.name} = {toml_text.render_value(value)}\n"
            for setting in settings
            if (value := given.get(setting.key, setting.default)) is not None
        ]
        if shown:
            lines.append(f"\n[{section}]\n")
            lines.extend(shown)
    return "".join(lines)


def edit_text(text: str, setting: Setting, value: Value) -> str:
    """A configuration file's text with one setting changed.

    Raises:
        ConfigError: `CONFIG_INVALID` or `CONFIG_EDIT_UNSUPPORTED`.
    """
    try:
        tables = toml_text.parse(text)
    except toml_text.TomlRefused as error:
        raise not_toml(Origin.REPOSITORY, error) from None
    wanted = copy.deepcopy(tables)
    section = wanted.setdefault(setting.section, {})
    if isinstance(section, dict):
        present = section.get(setting.name)
        section[setting.name] = list(value) if isinstance(value, tuple) else value
        if type(present) is type(section[setting.name]) and present == section[setting.name]:
            return text
        edited = _edited(text, setting, toml_text.render_value(value))
        if edited is not None and _parsed(edited) == wanted:
            return edited
    raise ConfigError(
        "CONFIG_EDIT_UNSUPPORTED",
        f"{setting.key} is written in {CONFIG_PATH} in a way that can only be changed by hand.",
        details={"key": setting.key},
    )


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return toml_text.parse(text)
    except toml_text.TomlRefused:
        return None


def _edited(text: str, setting: Setting, rendered: str) -> str | None:
    """The text with the value in its place, without a promise that it means what it should."""
    try:
        statements = toml_text.find_statements(text)
    except toml_text.TomlRefused:
        return None
    line_end = "\r\n" if "\r\n" in text else "\n"
    full = (setting.section, setting.name)
    in_section: int | None = None  # where the section's last statement ends
    for statement in statements:
        if statement.key and (*statement.table, *statement.key) == full:
            return text[: statement.value_start] + rendered + text[statement.value_end :]
        if statement.table == (setting.section,):
            in_section = statement.end
    line = f"{setting.name} = {rendered}{line_end}"
    if in_section is not None:
        return _ended(text[:in_section], line_end) + line + text[in_section:]
    head = _ended(text, line_end)
    blank = line_end if head.strip() and not head.endswith(line_end * 2) else ""
    return f"{head}{blank}[{setting.section}]{line_end}{line}"


def _ended(text: str, line_end: str) -> str:
    """The text, its last line ended."""
    return text if not text or text.endswith("\n") else text + line_end


def _known(key: str) -> Setting:
    setting = SETTINGS.get(key)
    if setting is not None and not setting.user_only:
        return setting
    if setting is not None:
        raise ConfigError(
            "CONFIG_KEY_UNKNOWN",
            f"{setting.key} cannot be set in a repository: use your own configuration or {setting.variable}.",
            details={"key": setting.key},
        )
    near = difflib.get_close_matches(key[:100], SETTINGS, n=1)
    hint = f"; perhaps {near[0]}" if near else ""
    raise ConfigError(
        "CONFIG_KEY_UNKNOWN",
        f"There is no such setting: a key is section.name, and `ragit config list` shows all of them{hint}.",
        details={"suggestion": near[0]} if near else {},
    )


def _checked(setting: Setting, value: Value) -> Value:
    try:
        return check_value(setting, value)
    except ValueRefused as refused:
        raise ConfigError(
            "CONFIG_VALUE_INVALID", f"{setting.key} {refused.reason}.", details={"key": setting.key}
        ) from None


def _present(root: str | os.PathLike[str]) -> tuple[str, int]:
    """The file's text and mode; those of a new file if there is a `.ragit` without one."""
    found = _found(root, CONFIG_PATH)
    if found is None:
        directory = _found(root, os.path.dirname(CONFIG_PATH))
        if directory is None or not stat.S_ISDIR(directory.stat.st_mode):
            raise ConfigError(
                "CONFIG_NOT_INITIALIZED", "This repository has no .ragit yet: initialize it first."
            )
        return render_default_config(), _FILE_MODE
    try:
        data = read_below(root, CONFIG_PATH, max_bytes=toml_text.MAX_BYTES)
        return toml_text.decode(data), stat.S_IMODE(found.stat.st_mode)
    except FileAccessError as error:
        raise unreadable(Origin.REPOSITORY, error) from None
    except toml_text.TomlRefused as error:
        raise not_toml(Origin.REPOSITORY, error) from None


def _found(root: str | os.PathLike[str], path: str) -> FoundFile | None:
    try:
        return locate_below(root, path)
    except FileAccessError as error:
        if error.kind == "not_found":
            return None
        raise unreadable(Origin.REPOSITORY, error) from None


def _write(root: str | os.PathLike[str], text: str, mode: int) -> None:
    data = text.encode("utf-8")
    if len(data) > toml_text.MAX_BYTES:
        raise ConfigError(
            "CONFIG_WRITE_FAILED", f"{CONFIG_PATH} would be larger than {toml_text.MAX_BYTES} bytes."
        )
    try:
        atomic_write_below(root, CONFIG_PATH, data, mode)
    except FileAccessError as error:
        raise ConfigError(
            "CONFIG_WRITE_FAILED", f"{CONFIG_PATH} {error.reason}.", details={"reason": error.kind}
        ) from None

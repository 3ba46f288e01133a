"""Reading the configuration: defaults, the user's file, the repository's file, the environment.

Each source overrides the one before it, setting by setting, with two exceptions that belong to safety: of the
`[security]` settings the strictest value of all sources counts, and `[trust]` is read from the user's file and the
environment only. A setting is in the environment as `RAGIT_` and its key (`RAGIT_RETRIEVAL_TOP_K`); lists are
separated by commas, `RAGIT_TRUST_MODEL_DIRS` like PATH.

A value that does not fit its setting is an error that names source, key and line, never the value, unless the
contract wants an older file to go on working: then the setting's fallback and a warning. Names that are unknown are
warned of and passed over. Reading writes nothing and follows no link inside the repository.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcpkit.files import FileAccessError, read_below, read_regular
from ragit_mcp.config import toml_text
from ragit_mcp.config.schema import SECTIONS, SETTINGS, Setting, Value, ValueRefused, check_value
from ragit_mcp.config.trust import Trust
from ragit_mcp.config.view import Config, ConfigWarning, Origin, build_config
from ragit_mcp.corpus.globs import split_patterns
from ragit_mcp.errors import ConfigError

__all__ = ["CONFIG_PATH", "load_config", "user_config_path", "value_from_text"]

#: The repository's configuration, below its root.
CONFIG_PATH: Final = ".ragit/config.toml"
USER_FILE_VARIABLE: Final = "RAGIT_USER_CONFIG"

# Providers whose usual environment variable names a service; see the embedding contract (A11).
_URL_VARIABLES: Final[Mapping[str, str]] = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_BASE_URL"}
_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_MAX_WARNINGS: Final = 50


@dataclass(frozen=True, slots=True)
class _Source:
    """The settings that one source names, checked."""

    origin: Origin
    values: Mapping[str, Value]
    warnings: tuple[ConfigWarning, ...] = ()


def load_config(
    root: str | os.PathLike[str] | None,
    *,
    environ: Mapping[str, str] | None = None,
    platform: str = sys.platform,
) -> Config:
    """The configuration that holds for a repository.

    Args:
        root: the repository's root; None where there is no repository.
        environ: environment variables; the process's own if None.
        platform: `sys.platform` of the conventions for the user's file.

    Raises:
        ConfigError: `CONFIG_INVALID` (no TOML, a value that does not fit) or `CONFIG_UNREADABLE` (a link, no regular
            file, not permitted). `details` has `source` and, where known, `key` and `line`.
    """
    variables = os.environ if environ is None else environ
    sources = [_environment_source(variables)]
    repository = _repository_data(root) if root is not None else None
    if repository is not None:
        sources.append(_file_source(repository, Origin.REPOSITORY))
    user = _user_data(user_config_path(variables, platform))
    if user is not None:
        sources.append(_file_source(user, Origin.USER))
    return _merge(sources, variables, repository_file=repository is not None)


def user_config_path(environ: Mapping[str, str], platform: str = sys.platform) -> str | None:
    """Where the user's own configuration is looked for; None if the environment does not say.

    `RAGIT_USER_CONFIG` names the file itself. Else it is `ragit/config.toml` below `XDG_CONFIG_HOME` or the
    platform's place: `~/.config`, on macOS `~/Library/Application Support`, on Windows `%APPDATA%`. Relative places
    are ignored: they would mean a different file in every directory, a hostile repository's among them.
    """
    named = environ.get(USER_FILE_VARIABLE, "")
    if named:
        return named if os.path.isabs(named) else None
    home = environ.get("USERPROFILE" if platform == "win32" else "HOME", "")
    if platform == "win32":
        platform_place = environ.get("APPDATA") or (home and os.path.join(home, "AppData", "Roaming"))
    elif platform == "darwin":
        platform_place = home and os.path.join(home, "Library", "Application Support")
    else:
        platform_place = home and os.path.join(home, ".config")
    for place in (environ.get("XDG_CONFIG_HOME"), platform_place):
        if place and os.path.isabs(place):
            return os.path.join(place, "ragit", "config.toml")
    return None


def value_from_text(setting: Setting, text: str) -> Value:
    """The value that a person wrote in a command or an environment variable (contract A6).

    Lists are separated by commas outside braces, or written as in TOML.

    Raises:
        ValueRefused: the text is no valid value of the setting.
    """
    text = text.strip()
    if setting.kind == "boolean":
        return check_value(setting, {"true": True, "false": False}.get(text, text))
    if setting.kind in {"integer", "number"}:
        return check_value(setting, _number_from_text(text))
    if setting.kind in {"globs", "strings"}:
        return check_value(setting, _list_from_text(text))
    return check_value(setting, text)


def _number_from_text(text: str) -> object:
    # One notation, as in JSON: `1_000`, `0x10`, `Infinity` and digits of other scripts are refused.
    if len(text) > 40 or not re.fullmatch(
        r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", text, re.ASCII
    ):
        return None
    return int(text) if re.fullmatch(r"-?[0-9]+", text, re.ASCII) else float(text)


def _list_from_text(text: str) -> object:
    if text.startswith("[") and text.endswith("]"):
        try:
            return toml_text.parse(f"x = {text}")["x"]
        except (toml_text.TomlRefused, KeyError):
            pass  # a glob may begin and end with brackets too
    return split_patterns(text)


def _repository_data(root: str | os.PathLike[str]) -> bytes | None:
    try:
        return read_below(root, CONFIG_PATH, max_bytes=toml_text.MAX_BYTES)
    except FileAccessError as error:
        if error.kind == "not_found":
            return None
        raise unreadable(Origin.REPOSITORY, error) from None


def _user_data(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        # A user's own file may be a link: dotfiles are often kept elsewhere.
        return read_regular(path, max_bytes=toml_text.MAX_BYTES)
    except FileAccessError as error:
        if error.kind == "not_found":
            return None
        raise unreadable(Origin.USER, error) from None


def unreadable(origin: Origin, error: FileAccessError) -> ConfigError:
    """The error for a file that cannot be opened."""
    return ConfigError(
        "CONFIG_UNREADABLE",
        f"The configuration file of the {origin} {error.reason}.",
        details={"source": str(origin), "reason": error.kind},
    )


def not_toml(origin: Origin, error: toml_text.TomlRefused) -> ConfigError:
    """The error for a file that cannot be read as TOML."""
    details: dict[str, Any] = {"source": str(origin), "reason": "toml"}
    place = ""
    if error.line is not None:
        details["line"] = error.line
        place = f" (line {error.line})"
    return ConfigError(
        "CONFIG_INVALID", f"The configuration file of the {origin}{place} {error.reason}.", details=details
    )


def _file_source(data: bytes, origin: Origin) -> _Source:
    try:
        text = toml_text.decode(data)
        tables = toml_text.parse(text)
    except toml_text.TomlRefused as error:
        raise not_toml(origin, error) from None
    return _Reader(text, origin).read(tables)


class _Reader:
    """Takes the settings out of the tables of one file."""

    def __init__(self, text: str, origin: Origin) -> None:
        self._text = text
        self._origin = origin
        self._values: dict[str, Value] = {}
        self._warnings: list[ConfigWarning] = []

    def read(self, tables: Mapping[str, Any]) -> _Source:
        for section, table in tables.items():
            if section not in SECTIONS:
                what = "is no section of ragit's and is ignored"
                self._warn(
                    section, what if isinstance(table, dict) else "stands outside any section and is ignored"
                )
            elif not isinstance(table, dict):
                self._warn(section, "is a section, not a setting, and is ignored")
            else:
                for name, value in table.items():
                    self._take(section, name, value)
        return _Source(self._origin, self._values, tuple(self._warnings))

    def _take(self, section: str, name: str, value: object) -> None:
        setting = SETTINGS.get(f"{section}.{name}")
        if setting is None:
            shown = f"{section}.{name}" if _SHOWABLE.fullmatch(name) else section
            self._warn(shown, "is unknown and is ignored" if shown != section else "has an unknown setting")
        elif setting.user_only and self._origin is Origin.REPOSITORY:
            self._warn(setting.key, "is ignored: only user configuration and environment can allow this")
        else:
            try:
                self._values[setting.key] = check_value(setting, value)
            except ValueRefused as refused:
                if not setting.has_fallback:
                    raise self._invalid(setting, refused) from None
                self._values[setting.key] = setting.fallback
                self._warn(
                    setting.key, f"{refused.reason}; read as {toml_text.render_value(setting.fallback)}"
                )

    def _warn(self, key: str, message: str) -> None:
        if len(self._warnings) < _MAX_WARNINGS:
            shown = key if all(map(_SHOWABLE.fullmatch, key.split("."))) else "a name"
            self._warnings.append(ConfigWarning(shown, self._origin, message))

    def _invalid(self, setting: Setting, refused: ValueRefused) -> ConfigError:
        details: dict[str, Any] = {"source": str(self._origin), "key": setting.key, "reason": "value"}
        line = self._line_of(setting)
        place = ""
        if line is not None:
            details["line"] = line
            place = f" (line {line})"
        return ConfigError(
            "CONFIG_INVALID",
            f"{setting.key} in the configuration file of the {self._origin}{place} {refused.reason}.",
            details=details,
        )

    def _line_of(self, setting: Setting) -> int | None:
        wanted = (setting.section, setting.name)
        try:
            statements = toml_text.find_statements(self._text)
        except toml_text.TomlRefused:
            return None
        for statement in statements:
            if statement.key and (*statement.table, *statement.key)[:2] == wanted:
                return self._text.count("\n", 0, statement.start) + 1
        return None


def _environment_source(environ: Mapping[str, str]) -> _Source:
    values: dict[str, Value] = {}
    for setting in SETTINGS.values():
        text = environ.get(setting.variable, "")
        if not text.strip():
            continue
        try:
            if setting.key == "trust.model_dirs":
                values[setting.key] = check_value(setting, [part for part in text.split(os.pathsep) if part])
            else:
                values[setting.key] = value_from_text(setting, text)
        except ValueRefused as refused:
            # Strict for every setting: whoever sets a variable is there to correct it.
            raise ConfigError(
                "CONFIG_INVALID",
                f"The environment variable {setting.variable} {refused.reason}.",
                details={"source": str(Origin.ENVIRONMENT), "key": setting.key, "reason": "value"},
            ) from None
    return _Source(Origin.ENVIRONMENT, values)


def _merge(sources: list[_Source], environ: Mapping[str, str], *, repository_file: bool) -> Config:
    """Put the sources together, the one that overrides all others first."""
    values: dict[str, Value] = {}
    origins: dict[str, Origin] = {}
    for setting in SETTINGS.values():
        naming = [source for source in sources if setting.key in source.values]
        if not naming:
            values[setting.key] = _default(setting, repository_file=repository_file)
            origins[setting.key] = Origin.DEFAULT
            continue
        chosen = naming[0]
        if setting.strictest:
            chosen = max(naming, key=lambda source: setting.strictest.index(source.values[setting.key]))
        values[setting.key] = chosen.values[setting.key]
        origins[setting.key] = chosen.origin
    return build_config(
        values,
        origins,
        trust=_trust(sources, environ),
        warnings=tuple(warning for source in sources for warning in source.warnings),
        repository_file=repository_file,
    )


def _default(setting: Setting, *, repository_file: bool) -> Value:
    # A file from before the setting existed must not begin to leave documents out (contract A6).
    if setting.key == "security.admission_mode" and repository_file:
        return "report-only"
    return setting.default


def _trust(sources: list[_Source], environ: Mapping[str, str]) -> Trust:
    """What the sources outside the repository allow, taken together."""
    hosts: list[str] = []
    model_dirs: list[str] = []
    urls = [(provider, environ.get(variable)) for provider, variable in _URL_VARIABLES.items()]
    for source in sources:
        if source.origin is Origin.REPOSITORY:
            continue
        hosts.extend(_strings(source.values.get("trust.hosts")))
        model_dirs.extend(_strings(source.values.get("trust.model_dirs")))
        url, provider = source.values.get("embedding.base_url"), source.values.get("embedding.provider")
        if isinstance(url, str):
            # Beside a provider it is that provider's address; alone it is whichever provider's is used.
            named = [str(provider)] if provider is not None else list(_URL_VARIABLES)
            urls.extend((name, url) for name in named)
    return Trust.build(hosts=hosts, model_dirs=model_dirs, urls=urls)


def _strings(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()

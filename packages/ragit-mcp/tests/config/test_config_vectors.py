"""The recorded vectors of the configuration file and of `config set`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ragit_mcp.config import CONFIG_PATH, Config
from ragit_mcp.config.editing import set_value
from ragit_mcp.errors import ConfigError

Load = Callable[..., Config]
Write = Callable[[str], Path]


def assert_values(config: Config, expected: Mapping[str, Any]) -> None:
    for key, value in expected.items():
        read = config.values[key]
        found = list(read) if isinstance(read, tuple) else read
        assert (key, found, type(found)) == (key, value, type(value))


def test_reading_and_setting_give_what_the_vector_says(
    config_case: dict[str, Any], repository: Path, written: Write, load: Load
) -> None:
    path = written(config_case["text"])
    before = path.read_bytes()
    expected = config_case.get("expect")

    if expected is None:
        # Open: any outcome with a code will do, as long as what is refused is not written.
        with contextlib.suppress(ConfigError):
            if "set" in config_case:
                set_value(repository, *config_case["set"])
                load()
                return
            load()
        assert path.read_bytes() == before
        return
    if "error" in expected:
        with pytest.raises(ConfigError) as caught:
            set_value(repository, *config_case["set"])
        assert caught.value.exit_code == 1
        assert path.read_bytes() == before
        return
    if "set" in config_case:
        set_value(repository, *config_case["set"])
    assert_values(load(), expected["values"])


def test_every_refusal_of_an_open_case_names_key_or_line(
    config_case: dict[str, Any], written: Write, load: Load
) -> None:
    written(config_case["text"])
    try:
        load()
    except ConfigError as error:
        details = error.details
    else:
        return
    assert details.get("key") or details.get("line")


def test_the_path_is_the_contracts() -> None:
    assert CONFIG_PATH == ".ragit/config.toml"

"""The configuration file: who may read it, where its key may go, what happens when it is damaged."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from mergestorm_mcp.config import (
    HOSTED_API,
    Environment,
    config_path,
    delete_config,
    key_display,
    load_config,
    resolve_access,
    save_config,
)
from mergestorm_mcp.errors import CommandError

KEY = "msk_live_canary_0123456789abcdef"
POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")


@pytest.fixture
def home(folders: dict[str, str]) -> Environment:
    return Environment({}, folders["home"], folders["work"])


def with_variables(home: Environment, **variables: str) -> Environment:
    return Environment(variables, home.home, home.working_directory)


def write(home: Environment, text: str, mode: int = 0o600) -> Path:
    path = Path(config_path(home))
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_what_was_saved_is_what_is_read(home: Environment) -> None:
    save_config(home, api_key=KEY, api_base="https://storm.example")
    stored = load_config(home)
    assert (stored.api_key, stored.api_base, stored.fault) == (KEY, "https://storm.example", None)
    text = Path(config_path(home)).read_text(encoding="utf-8")
    assert text.endswith("}\n")
    assert json.loads(text) == {"apiKey": KEY, "apiBase": "https://storm.example"}


@POSIX
def test_a_saved_file_is_its_owners_alone_whatever_it_was(home: Environment) -> None:
    path = write(home, "{}", 0o666)
    save_config(home, api_key=KEY, api_base=HOSTED_API)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@POSIX
def test_reading_takes_other_users_rights_away(home: Environment) -> None:
    path = write(home, json.dumps({"apiKey": KEY}), 0o644)
    assert load_config(home).api_key == KEY
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@POSIX
def test_a_linked_file_stays_a_link(home: Environment, tmp_path: Path) -> None:
    target = tmp_path / "synchronised.json"
    target.write_text("{}", encoding="utf-8")
    Path(config_path(home)).parent.mkdir()
    os.symlink(target, config_path(home))
    save_config(home, api_key=KEY, api_base=HOSTED_API)
    assert os.path.islink(config_path(home))
    assert load_config(home).api_key == KEY


@pytest.mark.parametrize(
    "text",
    ['{"apiKey": ', "[]", '"x"', '{"apiKey": 7}', '{"apiBase": []}', "\x00", "[" * 100_000, "x" * 70_000],
)
def test_a_damaged_file_reads_as_no_key_and_is_named(home: Environment, text: str) -> None:
    path = write(home, text)
    with pytest.raises(CommandError) as missing:
        resolve_access(home)
    assert missing.value.code == "missing_api_key"
    assert str(path) in missing.value.message


def test_a_damaged_file_is_never_overwritten(home: Environment) -> None:
    path = write(home, '{"apiKey": "precious", ')
    with pytest.raises(CommandError) as refused:
        save_config(home, api_key=KEY, api_base=HOSTED_API)
    assert refused.value.code == "usage"
    assert path.read_text(encoding="utf-8") == '{"apiKey": "precious", '


@POSIX
def test_a_fifo_in_place_of_the_file_is_not_waited_for(home: Environment) -> None:
    Path(config_path(home)).parent.mkdir()
    os.mkfifo(config_path(home))
    assert load_config(home).fault is not None


def test_a_stored_key_goes_to_the_service_it_was_stored_with(home: Environment) -> None:
    save_config(home, api_key=KEY, api_base="https://storm.example")
    assert resolve_access(home).base == "https://storm.example"
    same = with_variables(home, MERGESTORM_API_URL="https://STORM.example:443/")
    assert resolve_access(same).key == KEY


@pytest.mark.parametrize("stored_with", [HOSTED_API, "https://storm.example"])
def test_a_stored_key_goes_nowhere_else(home: Environment, stored_with: str) -> None:
    save_config(home, api_key=KEY, api_base=stored_with)
    elsewhere = with_variables(home, MERGESTORM_API_URL="https://evil.example")
    with pytest.raises(CommandError) as refused:
        resolve_access(elsewhere)
    assert refused.value.code == "missing_api_key"
    assert KEY not in str(refused.value)


def test_a_stored_key_may_go_to_loopback(home: Environment) -> None:
    save_config(home, api_key=KEY, api_base=HOSTED_API)
    local = with_variables(home, MERGESTORM_API_URL="http://127.0.0.1:8080")
    assert resolve_access(local).key == KEY


def test_a_key_from_the_environment_goes_where_the_environment_says(home: Environment) -> None:
    save_config(home, api_key="msk_live_other", api_base=HOSTED_API)
    both = with_variables(home, MERGESTORM_API_KEY=f" {KEY} ", MERGESTORM_API_URL="https://storm.example")
    access = resolve_access(both)
    assert (access.key, access.base) == (KEY, "https://storm.example")


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "ümlaut", "x" * 2000])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(home: Environment, key: str) -> None:
    with pytest.raises(CommandError) as refused:
        resolve_access(with_variables(home, MERGESTORM_API_KEY=key))
    assert refused.value.code == "auth_invalid"
    assert key not in refused.value.message


def test_no_repr_shows_a_key(home: Environment) -> None:
    save_config(home, api_key=KEY, api_base=HOSTED_API)
    environment = with_variables(home, MERGESTORM_API_KEY=KEY)
    for thing in (environment, load_config(home), resolve_access(environment)):
        assert KEY not in repr(thing)


@pytest.mark.parametrize("key", [KEY, "msk_live_short", "abc", "a", ""])
def test_a_shown_key_is_never_the_whole_key(key: str) -> None:
    assert key_display(key) == "" if not key else key not in key_display(key)


def test_deleting_says_whether_there_was_a_file(home: Environment) -> None:
    assert delete_config(home) is False
    save_config(home, api_key=KEY, api_base=HOSTED_API)
    assert delete_config(home) is True
    assert load_config(home).api_key is None


@pytest.mark.skipif(os.name == "nt", reason="HOME has no say there")
@pytest.mark.parametrize("home", [".", "here", ""])
def test_a_home_that_is_no_absolute_path_is_not_looked_for_in_the_working_directory(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in (tmp_path, tmp_path / "here"):
        (folder / ".mergestorm").mkdir(parents=True)
        (folder / ".mergestorm" / "config.json").write_text(
            '{"apiKey": "msk_live_planted"}', encoding="utf-8"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", home)
    environment = Environment.current()
    assert os.path.isabs(environment.home)
    assert load_config(environment).api_key != "msk_live_planted"

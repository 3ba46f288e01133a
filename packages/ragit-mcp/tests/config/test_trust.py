"""What a user allows, and that a repository allows nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ragit_mcp.config import Config, Trust
from ragit_mcp.config.trust import origin_of_url

Load = Callable[..., Config]


@pytest.mark.parametrize(
    ("entry", "url", "allowed"),
    [
        ("api.example", "https://api.example/v1", True),
        ("API.example", "https://api.EXAMPLE./v1", True),
        ("api.example", "https://api.example:443", True),
        ("api.example", "http://api.example", False),
        ("api.example", "https://api.example:8443", False),
        ("api.example", "https://evil.api.example", False),
        ("api.example", "https://api.example.evil.example", False),
        ("api.example", "https://api.example@evil.example", False),
        ("api.example:8443", "https://api.example:8443/x", True),
        ("http://10.0.0.7:11434", "http://10.0.0.7:11434", True),
        ("http://10.0.0.7:11434", "https://10.0.0.7:11434", False),
        ("https://api.example/", "https://api.example/v1", True),
        ("https://api.example/v1", "https://api.example/v1", False),
        ("https://u:p@api.example", "https://api.example", False),
        ("*.example", "https://api.example", False),
        ("[fd00::1]:8080", "https://[fd00::1]:8080", True),
        ("ftp://api.example", "https://api.example", False),
        ("api.example", "https://api.example:99999", False),
        ("api.example", "file:///etc/passwd", False),
        ("api.example", "https://", False),
        ("api.example", "https://[", False),
        ("api example", "https://api example", False),
    ],
)
def test_a_host_is_allowed_as_a_whole_or_not_at_all(entry: str, url: str, allowed: bool) -> None:
    trust = Trust.build(hosts=[entry], model_dirs=[], urls=[])
    assert trust.allows_url("openai", url) is allowed


def test_a_url_that_is_none_has_no_origin() -> None:
    assert origin_of_url("https://.") is None
    assert origin_of_url("") is None


def test_the_users_own_address_of_a_provider_is_allowed_to_that_provider_only(load: Load) -> None:
    trust = load({"OLLAMA_BASE_URL": "http://gpu.lan:11434"}).trust
    assert trust.allows_url("ollama", "http://gpu.lan:11434/api")
    # The key of one provider must not go to the address of another.
    assert not trust.allows_url("openai", "http://gpu.lan:11434/api")


def test_user_configuration_and_environment_allow_together(load: Load, user_file: Path) -> None:
    user_file.write_text(
        '[trust]\nhosts = ["a.example"]\n[embedding]\nprovider = "openai"\nbase_url = "https://b.example/v1"\n',
        encoding="utf-8",
    )
    config = load({
        "RAGIT_TRUST_HOSTS": "c.example,d.example:444",
        "RAGIT_EMBEDDING_BASE_URL": "https://e.example",
    })
    allowed = {
        (provider, name)
        for provider in ("openai", "ollama")
        for name in ("a.example", "b.example", "c.example", "d.example:444", "e.example", "f.example")
        if config.trust.allows_url(provider, f"https://{name}")
    }
    assert allowed == {
        ("openai", "a.example"), ("openai", "b.example"), ("openai", "c.example"), ("openai", "d.example:444"),
        ("openai", "e.example"), ("ollama", "a.example"), ("ollama", "c.example"), ("ollama", "d.example:444"),
        ("ollama", "e.example"),
    }  # fmt: skip


def test_a_repositorys_address_allows_itself_nothing(
    load: Load, written: Callable[[str], Path], user_file: Path
) -> None:
    written(
        '[embedding]\nprovider = "openai"\nbase_url = "https://evil.example"\n[trust]\nhosts = ["evil.example"]\n'
    )
    user_file.write_text('[embedding]\nprovider = "openai"\n', encoding="utf-8")
    config = load()
    assert config.embedding.base_url == "https://evil.example"
    assert not config.trust.allows_url("openai", config.embedding.base_url)


def test_a_model_directory_of_a_repositorys_choice_lies_below_one_the_user_allowed(
    load: Load, written: Callable[[str], Path], tmp_path: Path
) -> None:
    allowed, other = tmp_path / "models", tmp_path / "models-of-others"
    for directory in (allowed / "mini", other):
        directory.mkdir(parents=True)
    written(f"[embedding]\nmodel_dir = '{other}'\n")
    config = load({"RAGIT_TRUST_MODEL_DIRS": os.pathsep.join(["relative", str(allowed)])})
    assert config.may_use_model_dir(str(allowed))
    assert config.may_use_model_dir(str(allowed / "mini"))
    assert config.may_use_model_dir(str(allowed / "not-yet-there"))
    assert not config.may_use_model_dir(str(other))
    assert not config.may_use_model_dir(str(allowed / ".." / "models-of-others"))
    assert not load().may_use_model_dir(str(allowed))


@pytest.mark.skipif(sys.platform == "win32", reason="creating links needs a privilege on Windows")
def test_a_link_out_of_an_allowed_directory_is_not_below_it(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "models" / "link").symlink_to(tmp_path / "other")
    trust = Trust.build(hosts=[], model_dirs=[str(tmp_path / "models")], urls=[])
    assert not trust.allows_model_dir(tmp_path / "models" / "link")


def test_a_model_directory_of_the_users_own_choice_needs_no_allowance(load: Load, user_file: Path) -> None:
    user_file.write_text("[embedding]\nmodel_dir = '/models/mini'\n", encoding="utf-8")
    assert load().may_use_model_dir("/models/mini")

"""Sources and their order, warnings and refusals."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragit_mcp.config import SETTINGS, Config, Origin, load_config, user_config_path
from ragit_mcp.config.schema import SECTIONS, Value
from ragit_mcp.config.toml_text import MAX_BYTES
from ragit_mcp.config.view import VIEWS
from ragit_mcp.errors import ConfigError

Load = Callable[..., Config]
Write = Callable[[str], Path]
symlinks = pytest.mark.skipif(sys.platform == "win32", reason="creating links needs a privilege on Windows")


def code_of(load: Load, environ: dict[str, str] | None = None) -> tuple[str, dict[str, object]]:
    with pytest.raises(ConfigError) as caught:
        load(environ)
    return caught.value.code, caught.value.details


def test_without_any_source_every_setting_has_its_default(load: Load) -> None:
    config = load()
    assert {key: SETTINGS[key].default for key in SETTINGS} | {
        "embedding.model": "l2_supercat_256"
    } == config.values
    assert set(config.origins.values()) == {Origin.DEFAULT}
    assert (config.security.admission_mode, config.repository_file, config.warnings) == ("enforce", False, ())


def test_there_need_not_be_a_repository() -> None:
    assert load_config(None, environ={}).retrieval.top_k == 5


def test_every_setting_has_its_place_in_the_view() -> None:
    members = {
        f"{section}.{field.name}" for section, view in VIEWS.items() for field in dataclasses.fields(view)
    }
    assert members == {key for key, setting in SETTINGS.items() if not setting.user_only}
    assert (*VIEWS, "trust") == SECTIONS
    assert len({setting.variable for setting in SETTINGS.values()}) == len(SETTINGS)


def test_each_source_overrides_the_one_before_it(load: Load, written: Write, user_file: Path) -> None:
    user_file.write_text(
        "[retrieval]\ntop_k = 2\nalpha = 0.25\n[output]\nformat = 'table'\n", encoding="utf-8"
    )
    written("[retrieval]\ntop_k = 3\nalpha = 1\n")
    config = load({"RAGIT_RETRIEVAL_TOP_K": "4"})
    keys = ("retrieval.top_k", "retrieval.alpha", "output.format", "hooks.post_merge")
    assert {key: (config.values[key], config.origins[key]) for key in keys} == {
        "retrieval.top_k": (4, Origin.ENVIRONMENT),
        "retrieval.alpha": (1, Origin.REPOSITORY),
        "output.format": ("text", Origin.USER),
        "hooks.post_merge": (True, Origin.DEFAULT),
    }
    assert (config.retrieval.top_k, config.output.format) == (4, "text")
    assert [config.chosen_by_user(key) for key in keys] == [True, False, True, False]


@pytest.mark.parametrize(
    ("strict", "lax"), [("user", "repository"), ("repository", "user"), ("repository", "env")]
)
def test_the_strictest_source_decides_safety(
    load: Load, written: Write, user_file: Path, strict: str, lax: str
) -> None:
    strict_text = '[security]\nremote_embedding_policy = "local-only"\nadmission_mode = "enforce"\n'
    lax_text = '[security]\nremote_embedding_policy = "allow-sanitized"\nadmission_mode = "report-only"\n'
    texts = {strict: strict_text, lax: lax_text}
    written(texts.get("repository", ""))
    user_file.write_text(texts.get("user", ""), encoding="utf-8")
    environ = {"RAGIT_SECURITY_REMOTE_EMBEDDING_POLICY": "allow-sanitized"} if lax == "env" else {}
    config = load(environ)
    assert config.security.remote_embedding_policy == "local-only"
    assert config.security.admission_mode == "enforce"
    assert config.origins["security.remote_embedding_policy"] is Origin(strict)


def test_an_older_file_reports_only_unless_the_user_enforces(
    load: Load, written: Write, user_file: Path
) -> None:
    written("")
    assert load().security.admission_mode == "report-only"
    user_file.write_text('[security]\nadmission_mode = "enforce"\n', encoding="utf-8")
    assert load().security.admission_mode == "enforce"


def test_a_repository_cannot_allow_anything_and_is_told_so(load: Load, written: Write) -> None:
    written('[trust]\nhosts = ["evil.example"]\nmodel_dirs = ["/"]\n')
    config = load()
    assert not config.trust.allows_url("openai", "https://evil.example/v1")
    assert not config.may_use_model_dir("/models")
    assert (config.values["trust.hosts"], config.values["trust.model_dirs"]) == ((), ())
    assert {(warning.key, warning.origin) for warning in config.warnings} == {
        ("trust.hosts", Origin.REPOSITORY),
        ("trust.model_dirs", Origin.REPOSITORY),
    }


def test_lists_and_numbers_are_read_from_the_environment(load: Load) -> None:
    config = load({
        "RAGIT_INGEST_INCLUDE": "a/**, {b,c}/*.md",
        "RAGIT_RETRIEVAL_ALPHA": "2.5e-1",
        "RAGIT_HOOKS_POST_COMMIT": "false",
        "RAGIT_OUTPUT_FORMAT": "markdown",
        "RAGIT_PROJECT_NAME": "  ",
        "RAGIT_UNHEARD_OF": "x",
    })
    assert config.ingest.include == ("a/**", "{b,c}/*.md")
    assert (config.retrieval.alpha, config.hooks.post_commit, config.output.format) == (0.25, False, "text")
    assert config.origins["project.name"] is Origin.DEFAULT


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("retrieval.top_k", "0"),
        ("retrieval.top_k", "1_0"),
        ("retrieval.top_k", "0x5"),
        ("retrieval.top_k", "٣"),
        ("retrieval.top_k", "2.5"),
        ("retrieval.top_k", "9" * 5000),
        ("retrieval.alpha", "nan"),
        ("retrieval.alpha", "1e999"),
        ("hooks.post_commit", "yes"),
        ("security.admission_mode", "off"),
        ("embedding.provider", "openia"),
        ("ingest.include", "../x"),
        ("ingest.include", "a,,b"),
    ],
)
def test_a_variable_that_does_not_fit_is_refused_without_its_value(load: Load, key: str, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load({SETTINGS[key].variable: text})
    assert caught.value.code == "CONFIG_INVALID"
    assert caught.value.details == {"source": "environment", "key": key, "reason": "value"}
    assert len(text) < 3 or text not in caught.value.message


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("[retrieval]\n# x\ntop_k = 'many'\n", "retrieval.top_k", 3),
        ("retrieval.top_k = -1\n", "retrieval.top_k", 1),
        ("[retrieval]\nalpha = inf\n", "retrieval.alpha", 2),
        ("[retrieval]\nalpha = true\n", "retrieval.alpha", 2),
        ("[ingest]\ninclude = [\n 1,\n]\n", "ingest.include", 2),
        ("[ingest]\ninclude = ['/abs']\n", "ingest.include", 2),
        ("[ingest]\ninclude = 'x'\n", "ingest.include", 2),
        ("[ingest]\nmax_file_bytes = 1.5\n", "ingest.max_file_bytes", 2),
        ("[embedding]\nprovider = 'magic'\n", "embedding.provider", 2),
        ("[embedding]\ndimensions = 0\n", "embedding.dimensions", 2),
        ("[security]\nremote_embedding_policy = 'open'\n", "security.remote_embedding_policy", 2),
        ('[project]\nname = "a\\u0007b"\n', "project.name", 2),
        ("[project]\nname = 2020-01-01\n", "project.name", 2),
        ("[retrieval]\nbudget_unit = 'lines'\n", "retrieval.budget_unit", 2),
        ("x = '''\n[retrieval]\ntop_k = 1\n'''\n[retrieval]\n'top_k' = 0\n", "retrieval.top_k", 6),
        ("retrieval = {top_k = 0}\n", "retrieval.top_k", None),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_key_and_line(
    load: Load, written: Write, text: str, key: str, line: int | None
) -> None:
    written(text)
    code, details = code_of(load)
    assert (code, details.get("key"), details.get("line")) == ("CONFIG_INVALID", key, line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[a\nb = 1\n", 1),
        ("x = \n", 1),
        ("[a]\n[a]\n", 2),
        ("\n\nname = mill\n", 3),
        ("a = [", 1),
        ("a = '", 1),
    ],
)
def test_a_file_that_is_no_toml_is_refused_with_the_line(
    load: Load, written: Write, text: str, line: int
) -> None:
    written(text)
    code, details = code_of(load)
    assert (code, details) == ("CONFIG_INVALID", {"source": "repository", "reason": "toml", "line": line})


@pytest.mark.parametrize("text", ["a = " + "[" * 20_000, "a = " + "9" * 5000 + "\n", "#" * (MAX_BYTES + 1)])
def test_a_hostile_file_is_refused_by_code(load: Load, written: Write, text: str) -> None:
    written(text)
    code, details = code_of(load)
    assert code in {"CONFIG_INVALID", "CONFIG_UNREADABLE"}
    assert details["source"] == "repository"


def test_a_file_that_is_no_utf8_is_refused_with_the_line(load: Load, written: Write) -> None:
    written("").write_bytes(b"[project]\nname = '\xff'\n")
    assert code_of(load) == ("CONFIG_INVALID", {"source": "repository", "reason": "toml", "line": 2})


def test_a_byte_order_mark_and_crlf_are_read(load: Load, written: Write) -> None:
    written("\ufeff[retrieval]\r\ntop_k = 7\r\n")
    assert load().retrieval.top_k == 7


def test_unknown_names_are_passed_over_with_warnings_that_show_no_strange_name(
    load: Load, written: Write
) -> None:
    written(
        'top = 1\noutput = 3\n[mine]\nx = 1\n[retrieval]\nother = 1\n"\\u001b[31m" = 2\n["\\u001b[0m"]\nx = 1\n'
    )
    warnings = load().warnings
    assert [warning.key for warning in warnings] == [
        "top", "output", "mine", "retrieval.other", "retrieval", "a name",
    ]  # fmt: skip
    assert all(warning.origin is Origin.REPOSITORY and warning.message.isprintable() for warning in warnings)


def test_the_number_of_warnings_is_capped(load: Load, written: Write) -> None:
    written("".join(f"x{number} = 1\n" for number in range(1000)))
    assert len(load().warnings) == 50


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("[security]\nsecret_masking = 'no'\n", "security.secret_masking", True),
        ("[security]\nadmission_mode = 'off'\n", "security.admission_mode", "enforce"),
        ("[security]\nquarantine_on_redaction = 0\n", "security.quarantine_on_redaction", True),
        ("[embedding]\ntimeout_ms = 'soon'\n", "embedding.timeout_ms", 30000),
    ],
)
def test_what_stands_in_for_a_value_is_said(
    load: Load, written: Write, text: str, key: str, value: Value
) -> None:
    written(text)
    config = load()
    assert config.values[key] == value
    assert [warning.key for warning in config.warnings] == [key]


def test_a_model_left_behind_by_another_provider_gives_way(load: Load, written: Write) -> None:
    written("[embedding]\nprovider = 'openai'\nmodel = 'l2_supercat_256'\n")
    assert load().embedding.model == "text-embedding-3-small"
    written("[embedding]\nprovider = 'openai'\nmodel = 'nomic-embed-text'\n")
    assert load().embedding.model == "nomic-embed-text"
    written("[embedding]\nprovider = 'wordllama'\nmodel = 'l2_supercat_256'\n")
    assert load().embedding.model == "l2_supercat_256"


@symlinks
def test_a_repositorys_file_behind_a_link_is_not_read(load: Load, repository: Path, user_file: Path) -> None:
    user_file.write_text("[retrieval]\ntop_k = 9\n", encoding="utf-8")
    (repository / ".ragit" / "config.toml").symlink_to(user_file)
    assert code_of(load) == ("CONFIG_UNREADABLE", {"source": "repository", "reason": "link_refused"})


@symlinks
def test_a_ragit_directory_that_is_a_link_is_not_followed(
    load: Load, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repository / ".ragit").rmdir()
    (repository / ".ragit").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    assert code_of(load)[0] == "CONFIG_UNREADABLE"


def test_a_directory_in_the_files_place_is_refused(load: Load, repository: Path) -> None:
    (repository / ".ragit" / "config.toml").mkdir()
    assert code_of(load)[0] == "CONFIG_UNREADABLE"


@symlinks
def test_the_users_own_file_may_be_a_link(load: Load, user_file: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("[retrieval]\ntop_k = 9\n", encoding="utf-8")
    user_file.symlink_to(tmp_path / "dotfiles.toml")
    assert load().retrieval.top_k == 9


@pytest.mark.parametrize(
    ("platform", "environ", "place"),
    [
        ("linux", {"HOME": "/home/a"}, "/home/a/.config/ragit/config.toml"),
        ("linux", {"HOME": "/home/a", "XDG_CONFIG_HOME": "/x"}, "/x/ragit/config.toml"),
        ("linux", {"HOME": "/home/a", "XDG_CONFIG_HOME": "x"}, "/home/a/.config/ragit/config.toml"),
        ("linux", {"HOME": "", "XDG_CONFIG_HOME": ""}, None),
        ("linux", {"HOME": "relative"}, None),
        ("linux", {}, None),
        ("darwin", {"HOME": "/Users/a"}, "/Users/a/Library/Application Support/ragit/config.toml"),
        ("darwin", {"HOME": "/Users/a", "XDG_CONFIG_HOME": "/x"}, "/x/ragit/config.toml"),
        ("linux", {"HOME": "/home/a", "RAGIT_USER_CONFIG": "/y.toml"}, "/y.toml"),
        ("linux", {"HOME": "/home/a", "RAGIT_USER_CONFIG": "y.toml"}, None),
        ("win32", {"APPDATA": "/r", "USERPROFILE": "/u"}, "/r/ragit/config.toml"),
        ("win32", {"USERPROFILE": "/u"}, "/u/AppData/Roaming/ragit/config.toml"),
        ("win32", {"HOME": "/home/a"}, None),
    ],
)
@pytest.mark.skipif(os.sep != "/", reason="the places are written for POSIX paths")
def test_the_users_file_is_where_the_platform_keeps_such_files(
    platform: str, environ: dict[str, str], place: str | None
) -> None:
    assert user_config_path(environ, platform) == place


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(
            st.sampled_from([
                "[retrieval]\n",
                "top_k",
                " = ",
                "1",
                "'x'",
                "\n",
                "[",
                "]",
                "{",
                "}",
                "#",
                '"""',
                "\\",
                ".",
                ",",
                "inf",
            ]),
            max_size=30,
        ).map(lambda parts: "".join(parts).encode()),
    )
)
def test_any_bytes_are_a_configuration_or_refused_by_code(repository: Path, data: bytes) -> None:
    (repository / ".ragit" / "config.toml").write_bytes(data)
    outcome = "read"
    try:
        load_config(repository, environ={})
    except ConfigError as error:
        outcome = error.code
    assert outcome in {"read", "CONFIG_INVALID"}

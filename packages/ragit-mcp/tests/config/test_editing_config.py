"""`config set`: one value changes, everything else stays."""

from __future__ import annotations

import contextlib
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.config import SETTINGS, Config, Value
from ragit_mcp.config.editing import edit_text, render_default_config, set_value, write_default_config
from ragit_mcp.config.toml_text import MAX_BYTES, find_statements, render_value
from ragit_mcp.errors import ConfigError

Load = Callable[..., Config]
Write = Callable[[str], Path]


def edited(text: str, key: str, value: Value) -> str:
    return edit_text(text, SETTINGS[key], value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[retrieval]\ntop_k = 5 # few\nalpha = 1\n", "[retrieval]\ntop_k = 9 # few\nalpha = 1\n"),
        ("[retrieval]\r\ntop_k=5\r\n# end", "[retrieval]\r\ntop_k=9\r\n# end"),
        ("\ufeff[retrieval]\ntop_k = 5", "\ufeff[retrieval]\ntop_k = 9"),
        ("  [ retrieval ]  # x\n\t'top_k'\t=\t5\t\n", "  [ retrieval ]  # x\n\t'top_k'\t=\t9\t\n"),
        ("retrieval.top_k = 5\n", "retrieval.top_k = 9\n"),
        ("[retrieval]\nalpha = 1\n\n# next\n[output]\n", "[retrieval]\nalpha = 1\ntop_k = 9\n\n# next\n[output]\n"),
        ("[retrieval]\n[output]\nformat = 'json'\n", "[retrieval]\ntop_k = 9\n[output]\nformat = 'json'\n"),
        ("[retrieval]", "[retrieval]\ntop_k = 9\n"),
        ("[retrieval]\nalpha = 1", "[retrieval]\nalpha = 1\ntop_k = 9\n"),
        ("", "[retrieval]\ntop_k = 9\n"),
        ("# mine\n", "# mine\n\n[retrieval]\ntop_k = 9\n"),
        ("[output]\r\nformat = 'json'", "[output]\r\nformat = 'json'\r\n\r\n[retrieval]\r\ntop_k = 9\r\n"),
        (
            "x = '''\n[retrieval]\ntop_k = 1\n'''\ny = \"\"\"a\\\"\"\"\"\"\nz = [ # [\n  '#]', { a = 1 },\n]\n[retrieval]\ntop_k = 5\n",
            "x = '''\n[retrieval]\ntop_k = 1\n'''\ny = \"\"\"a\\\"\"\"\"\"\nz = [ # [\n  '#]', { a = 1 },\n]\n[retrieval]\ntop_k = 9\n",
        ),
        ("[[mine]]\na = 1979-05-27 07:32:00 # t\n[retrieval]\ntop_k = 5\n", "[[mine]]\na = 1979-05-27 07:32:00 # t\n[retrieval]\ntop_k = 9\n"),
    ],
)  # fmt: skip
def test_only_the_value_changes(before: str, after: str) -> None:
    assert edited(before, "retrieval.top_k", 9) == after


def test_a_list_over_several_lines_is_replaced_as_a_whole() -> None:
    before = '[ingest]\ninclude = [\n  "a", # first\n  "b",\n] # all\nexclude = []\n'
    after = '[ingest]\ninclude = ["c/**", "d\\"e"] # all\nexclude = []\n'
    assert edited(before, "ingest.include", ("c/**", 'd"e')) == after


@pytest.mark.parametrize(
    "text", ["retrieval = { alpha = 1 }\n", "retrieval = 3\n", "[[retrieval]]\ntop_k = 5\n"]
)
def test_a_way_of_writing_that_cannot_be_edited_is_left_to_people(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        edited(text, "retrieval.top_k", 9)
    assert caught.value.code == "CONFIG_EDIT_UNSUPPORTED"


def test_a_number_written_as_another_type_is_rewritten() -> None:
    assert edited("[hooks]\npost_commit = 1\n", "hooks.post_commit", True) == "[hooks]\npost_commit = true\n"
    assert edited("[retrieval]\ntop_k = 5.0\n", "retrieval.top_k", 5) == "[retrieval]\ntop_k = 5\n"


@settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_string_survives_being_written(text: str) -> None:
    assert tomllib.loads(f"x = {render_value(text)}")["x"] == text


lines = st.sampled_from([
    "# comment = [", "", "[retrieval]", "[output] # x", "[mine]", "[[list]]", "[a.'b.c']", "top_k = 5", "alpha = 0.5",
    "format = 'json'", "x = [1, 2] # [", 'y = "a # b"', "z = '''\n[retrieval]\n'''", "retrieval.top_k = 3",
    "w = { a = 1, b = [\"}\"] }", "t = 1979-05-27 07:32:00", "q.'r s'.t = 1", "output.format = \"text\"",
])  # fmt: skip


@settings(deadline=None)
@given(st.lists(lines, max_size=8).map("\n".join), st.integers(min_value=1, max_value=99))
def test_an_edit_changes_the_meaning_of_one_setting_only(text: str, value: int) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        after = tomllib.loads(edited(text, "retrieval.top_k", value))
    except ConfigError:
        return
    before.setdefault("retrieval", {})["top_k"] = value
    assert after == before


@settings(deadline=None)
@given(st.lists(lines, max_size=8).map("\n".join))
def test_statements_are_found_in_order_and_hold_their_values(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    end = 0
    for statement in find_statements(text):
        assert end <= statement.start < statement.value_start <= statement.value_end <= statement.end
        end = statement.end
        if statement.key:
            tomllib.loads(f"x = {text[statement.value_start : statement.value_end]}")


def test_setting_says_what_it_did(repository: Path, written: Write, load: Load) -> None:
    path = written("# mine\n[retrieval]\ntop_k = 5\n")
    outcome = set_value(repository, "retrieval.top_k", " 12 ")
    assert (outcome.key, outcome.value, outcome.changed) == ("retrieval.top_k", 12, True)
    assert path.read_text(encoding="utf-8") == "# mine\n[retrieval]\ntop_k = 12\n"
    assert load().retrieval.top_k == 12
    status = path.stat()
    assert not set_value(repository, "retrieval.top_k", "12").changed
    assert path.stat().st_mtime_ns == status.st_mtime_ns


def test_a_list_may_be_written_with_commas_or_as_toml(repository: Path, written: Write, load: Load) -> None:
    written("")
    set_value(repository, "ingest.include", "README.md, {a,b}/**")
    assert load().ingest.include == ("README.md", "{a,b}/**")
    set_value(repository, "ingest.include", '["x,y.md"]')
    assert load().ingest.include == ("x,y.md",)
    set_value(repository, "ingest.include", "[ab].md,[cd]")
    assert load().ingest.include == ("[ab].md", "[cd]")


def check_refusal(repository: Path, written: Write, key: str, text: str) -> None:
    """A value is refused as such, and the file is as it was."""
    path = written("[retrieval]\ntop_k = 5\n")
    with pytest.raises(ConfigError) as caught:
        set_value(repository, key, text)
    assert (caught.value.code, caught.value.details) == ("CONFIG_VALUE_INVALID", {"key": key})
    assert path.read_text(encoding="utf-8") == "[retrieval]\ntop_k = 5\n"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("retrieval.top_k", ""),
        ("retrieval.top_k", "-1"),
        ("retrieval.top_k", "NaN"),
        ("retrieval.alpha", "1.01"),
        ("embedding.timeout_ms", "0"),
        ("security.admission_mode", "off"),
        ("security.secret_masking", "no"),
        ("project.name", " "),
        ("project.name", "a\x1bb"),
        ("project.name", "a\ud800"),
        ("project.name", "x" * 5000),
        ("ingest.include", ""),
        ("ingest.include", "/etc/**"),
    ],
)
def test_a_value_that_does_not_fit_leaves_the_file_alone(
    repository: Path, written: Write, key: str, text: str
) -> None:
    check_refusal(repository, written, key, text)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("embedding.base_url", "https://user:hunter2secret@host.example"),
        ("embedding.model", "sk-" + "a1B2c3D4e5" * 3),
        ("project.name", "ghp_" + "a1B2c3D4e5F6" * 3),
        ("ingest.include", "docs/**,password=Zx81kQ77plm"),
    ],
)
def test_a_secret_is_not_written_to_a_file_that_is_committed(
    repository: Path, written: Write, key: str, text: str
) -> None:
    check_refusal(repository, written, key, text)


@pytest.mark.parametrize(
    "key", ["", "top_k", "retrieval", "retrieval.", ".top_k", "Retrieval.top_k", "trust.hosts", "x" * 10_000]
)
def test_a_key_that_is_no_setting_of_a_repository_is_refused(
    repository: Path, written: Write, key: str
) -> None:
    written("")
    with pytest.raises(ConfigError) as caught:
        set_value(repository, key, "1")
    assert caught.value.code == "CONFIG_KEY_UNKNOWN"


def test_a_mistyped_key_is_answered_with_the_one_that_was_meant(repository: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        set_value(repository, "retrieval.topk", "1")
    assert caught.value.details == {"suggestion": "retrieval.top_k"}


def test_without_ragit_there_is_nothing_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        set_value(tmp_path, "retrieval.top_k", "1")
    assert caught.value.code == "CONFIG_NOT_INITIALIZED"
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_made_whole_so_that_safety_keeps_its_defaults(repository: Path, load: Load) -> None:
    set_value(repository, "retrieval.top_k", "9")
    config = load()
    assert (config.retrieval.top_k, config.security.admission_mode) == (9, "enforce")


def test_a_file_that_would_grow_too_large_is_left_alone(repository: Path, written: Write) -> None:
    text = "#" * (MAX_BYTES - 1) + "\n"
    path = written(text)
    with pytest.raises(ConfigError) as caught:
        set_value(repository, "retrieval.top_k", "9")
    assert caught.value.code == "CONFIG_WRITE_FAILED"
    assert path.read_text(encoding="utf-8") == text


def test_a_new_file_needs_its_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        write_default_config(tmp_path)
    assert caught.value.code == "CONFIG_WRITE_FAILED"
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_is_not_edited(repository: Path, written: Write) -> None:
    path = written("[retrieval\n")
    with pytest.raises(ConfigError) as caught:
        set_value(repository, "retrieval.top_k", "9")
    assert (caught.value.code, caught.value.details["line"]) == ("CONFIG_INVALID", 1)
    assert path.read_text(encoding="utf-8") == "[retrieval\n"


@pytest.mark.skipif(sys.platform == "win32", reason="creating links needs a privilege on Windows")
@pytest.mark.parametrize("linked", [".ragit", ".ragit/config.toml"])
def test_nothing_is_written_through_a_link(repository: Path, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    if linked == ".ragit":
        outside.mkdir()
        (outside / "config.toml").write_text("", encoding="utf-8")
        (repository / ".ragit").rmdir()
    else:
        outside.write_text("", encoding="utf-8")
    (repository / linked).symlink_to(outside)
    with pytest.raises(ConfigError) as caught:
        set_value(repository, "retrieval.top_k", "9")
    assert caught.value.code == "CONFIG_UNREADABLE"
    with contextlib.suppress(ConfigError):  # replacing the link itself is no harm
        write_default_config(repository)
    files = [outside] if outside.is_file() else list(outside.iterdir())
    assert [file.read_text(encoding="utf-8") for file in files] == [""]


def test_a_file_that_is_no_utf8_is_not_edited(repository: Path, written: Write) -> None:
    path = written("")
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError) as caught:
        set_value(repository, "retrieval.top_k", "9")
    assert caught.value.code == "CONFIG_INVALID"
    assert path.read_bytes() == b"\xff"


def test_a_value_that_no_setting_has_is_not_rendered() -> None:
    with pytest.raises(TypeError):
        render_value(None)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are the system's on Windows")
def test_the_files_mode_is_kept(repository: Path, written: Write) -> None:
    path = written("")
    path.chmod(0o640)
    set_value(repository, "retrieval.top_k", "9")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_the_new_file_names_what_the_repository_decides_and_reads_back_as_the_defaults(
    repository: Path, load: Load
) -> None:
    defaults = load()
    write_default_config(repository, {"project.name": 'mill "house"'})
    config = load()
    differing = {key for key in SETTINGS if config.values[key] != defaults.values[key]}
    assert differing == {"project.name"}
    assert (config.project.name, config.security.admission_mode, config.warnings) == (
        'mill "house"',
        "enforce",
        (),
    )
    assert "trust" not in tomllib.loads(render_default_config())


def test_a_new_file_is_not_made_of_values_that_do_not_fit() -> None:
    with pytest.raises(ConfigError) as caught:
        render_default_config({"retrieval.top_k": 0})
    assert caught.value.code == "CONFIG_VALUE_INVALID"
    with pytest.raises(ConfigError) as caught:
        render_default_config({"retrieval.nothing": 0})
    assert caught.value.code == "CONFIG_KEY_UNKNOWN"


def test_every_setting_can_be_set_to_its_default(repository: Path, written: Write, load: Load) -> None:
    written("")
    for key, setting in SETTINGS.items():
        if setting.default is None or setting.user_only:
            continue
        value = setting.default
        text = (
            ",".join(value)
            if isinstance(value, tuple)
            else str(value).lower()
            if value in {True, False}
            else str(value)
        )
        set_value(repository, key, text)
        assert load().values[key] == value

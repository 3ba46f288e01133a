from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ragit_mcp.cli.commands.status as status_command
from ragit_mcp.cli.catalogue import COMMANDS
from ragit_mcp.cli.envelope import choose_format
from ragit_mcp.errors import ERRORS, RagitError


def test_a_reply_has_the_members_of_the_contract_in_their_order(cli: Any, project: Any) -> None:
    done = cli("status", "--format", "json")
    assert list(done.reply) == ["command", "ok", "version", "cwd", "data", "warnings"]
    assert (done.code, done.reply["command"], done.reply["cwd"]) == (0, "status", str(project.root))
    assert done.out.startswith('{\n  "command"')
    assert done.err == ""


def test_a_directory_below_the_root_is_answered_with_the_root(cli: Any, project: Any) -> None:
    assert cli("status", "--format", "json", "--cwd", project.root / "docs").reply["cwd"] == str(project.root)


def test_text_goes_to_stdout_alone(cli: Any) -> None:
    done = cli("status", "--format", "text")
    assert (done.code, done.err) == (0, "")
    assert not done.out.startswith("{")


def test_both_is_the_text_and_then_the_envelope(cli: Any) -> None:
    text = cli("config", "list", "--format", "text").out
    both = cli("config", "list", "--format", "both").out
    assert both.startswith(text)
    assert json.loads(both[len(text) :])["command"] == "config list"


def test_a_failure_is_an_envelope_on_stdout_and_nothing_on_stderr_for_json(cli: Any) -> None:
    done = cli("config", "set", "no.such", "1", "--format", "json")
    assert (done.code, done.err) == (1, "")
    assert list(done.reply) == ["command", "ok", "version", "cwd", "data", "warnings", "error"]
    assert (done.reply["ok"], done.reply["data"], done.reply["warnings"]) == (False, None, [])
    assert list(done.reply["error"]) == ["code", "category", "message", "retryable", "details", "recovery"]
    assert done.reply["error"]["code"] == "CONFIG_KEY_UNKNOWN"


def test_a_failure_is_text_on_stderr_and_nothing_on_stdout_for_text(cli: Any) -> None:
    done = cli("config", "set", "no.such", "1", "--format", "text")
    assert (done.code, done.out) == (1, "")
    assert "CONFIG_KEY_UNKNOWN" in done.err
    assert ERRORS["CONFIG_KEY_UNKNOWN"].recovery in done.err


def test_a_failure_is_both_for_both(cli: Any) -> None:
    done = cli("config", "set", "no.such", "1", "--format", "both")
    assert done.reply["error"]["code"] == "CONFIG_KEY_UNKNOWN"
    assert "CONFIG_KEY_UNKNOWN" in done.err


@pytest.mark.parametrize("code", sorted(ERRORS))
def test_every_code_ends_with_its_exit_code(cli: Any, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RagitError(code, "What happened.")

    monkeypatch.setattr(status_command, "read_status", fail)
    done = cli("status", "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (ERRORS[code].exit_code, code)


def test_an_unknown_format_is_refused_in_the_commands_own_format(cli: Any) -> None:
    assert cli("status", "--format", "yaml").reply["error"]["details"] == {"reason": "bad_value"}
    done = cli("config", "list", "--format", "yaml")
    assert (done.code, done.out) == (1, "")
    assert "CLI_USAGE" in done.err


def test_an_unexpected_error_is_one_line_that_tells_nothing(
    cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_: object, **__: object) -> None:
        raise ZeroDivisionError("canary in the message")

    monkeypatch.setattr(status_command, "read_status", break_down)
    done = cli("status", "--format", "json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("[ragit] error: ")
    assert done.err.count("\n") == 1
    assert "canary" not in done.err


def test_outside_a_repository_the_exit_code_is_1(cli: Any, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    done = cli("status", "--format", "json", "--cwd", place)
    assert (done.code, done.reply["error"]["code"]) == (1, "REPOSITORY_UNUSABLE")
    assert done.reply["cwd"] == str(place)
    assert str(tmp_path) not in json.dumps(done.reply["error"])


def test_a_directory_that_does_not_exist_is_refused(cli: Any, project: Any) -> None:
    done = cli("status", "--cwd", project.root / "nowhere", "--format", "json")
    assert (done.code, done.reply["error"]["code"]) == (1, "CLI_USAGE")


def test_secrets_do_not_leave_through_an_envelope(cli: Any, project: Any) -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    project.git("checkout", "-q", "-b", f"feature/{token}")
    done = cli("status", "--format", "both")
    assert token not in done.out + done.err


def test_no_character_of_a_reply_steers_a_terminal(cli: Any, project: Any) -> None:
    name = "docs/\u202egnp\u200b.md"
    project.write(name, "# x\n")
    project.commit()
    done = cli("ingest", "--all", "--dry-run", "--format", "both")
    assert not {character for character in done.out if not character.isprintable()} - {"\n"}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_without_a_flag_a_pipe_gets_the_commands_format_and_a_terminal_text(command: Any) -> None:
    assert choose_format(command, None, terminal=False) == command.format
    assert choose_format(command, None, terminal=True, configured="json") == "text"
    assert choose_format(command, "json", terminal=True) == "json"


def test_the_configured_format_holds_for_the_searching_commands_in_a_pipe() -> None:
    formats = {
        command.name: choose_format(command, None, terminal=False, configured="json") for command in COMMANDS
    }
    assert (formats["query"], formats["context pack"]) == ("json", "json")
    assert (formats["doctor"], formats["config list"]) == ("text", "text")


def test_what_the_user_configured_holds_on_a_terminal_too() -> None:
    (query,) = (command for command in COMMANDS if command.name == "query")
    assert choose_format(query, None, terminal=True, configured="json", configured_by_user=True) == "json"


def test_a_reader_that_goes_away_is_no_failure(program: list[str], project: Any) -> None:
    import subprocess

    with subprocess.Popen(
        [*program, "config", "list", "--format", "both"],
        cwd=project.root,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_a_module_named_like_ours_in_the_repository_is_not_imported(cli_process: Any, project: Any) -> None:
    for name in ("json", "apsw", "ragit_mcp", "rich", "git", "numpy"):
        project.write(f"{name}.py", "raise SystemExit(77)\n")
    assert cli_process("status", "--format", "json").code == 0

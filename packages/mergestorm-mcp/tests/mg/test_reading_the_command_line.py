"""What `mg` reads from its arguments, what it refuses and with which exit code, and that asking for help is cheap."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from mergestorm_mcp import __version__
from mergestorm_mcp.mg.main import main
from mergestorm_mcp.mg.parser import COMMANDS, SUBCOMMANDS, LineError, parse

ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"
HEAVY = ("httpx", "fastmcp", "mcp", "pydantic", "anyio", "asyncio", "rich")
EVERY = [
    [name, *below]
    for name in COMMANDS
    for below in ([[item] for item in SUBCOMMANDS[name]] if name in SUBCOMMANDS else [[]])
]


def refused(*words: str) -> LineError:
    with pytest.raises(LineError) as error:
        parse(words)
    return error.value


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_help_with_examples(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    assert "--json" in shown


def test_without_arguments_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "stack" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-v"]) == 0
    assert capsys.readouterr().out.split() == ["mg", __version__]


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom mergestorm_mcp.mg.main import main\nmain(['stack', 'watch', '--help'])\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    loaded = done.stderr.split()
    assert "mergestorm_mcp.mg.parser" in loaded
    assert [name for name in HEAVY if name in loaded] == []


@pytest.mark.parametrize("module", ["reading", "changing"])
def test_commands_about_stacks_load_no_server_framework(module: str) -> None:
    code = (
        f"import sys, mergestorm_mcp.mg.twins, mergestorm_mcp.stacks.{module}\n"
        "sys.exit(', '.join(sorted({'fastmcp', 'mcp', 'mcp_types', 'pydantic'} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("words", [("frobnicate",), ("stack", "frobnicate"), ("issue", "close")])
def test_a_command_that_does_not_exist_is_exit_1(words: tuple[str, ...]) -> None:
    assert refused(*words).exit_code == 1
    assert main(list(words)) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("whoami", "--frobnicate"),
        ("whoami", "stray"),
        ("jobs", "51"),
        ("jobs", "-1"),
        ("login", "--key", "--start"),
        ("settings", "--auto-patch", "default"),
        ("settings", "--auto-land-settle", "14"),
        ("settings", "--merge-queue-batch-size", "9"),
        ("settings", "--vortex-findings", "none"),
        ("repo-settings", "acme"),
        ("queue", "drop"),
        ("pr",),
        ("pr", "acme/shop#1", "--after-sha", "12345g7", "--wait"),
        ("pr", "acme/shop#1", "--pass", "0"),
        ("dismiss", "acme/shop#1", "--head", "abc", "--review", "1"),
        ("stack", "watch", "not-an-id"),
        ("stack", "watch", "1f0e6f0a-52b1-7a0e-9c58-6d7f2f6a9b01"),
        ("stack", "watch", ID, "--max", "0"),
        ("stack", "watch", ID, "--max", "inf"),
        ("stack", "watch", ID, "--head", "123456"),
        ("stack", "watch", ID, "--until", "merged"),
        ("stack", "wait", ID, "--timeout", "301"),
        ("stack", "wait", ID, "--timeout", "nan"),
        ("stack", "set", ID, "--auto-land", "default"),
        ("stack",),
    ],
    ids=" ".join,
)
def test_a_wrong_argument_is_exit_2(words: tuple[str, ...]) -> None:
    assert refused(*words).exit_code == 2


def test_a_key_typed_in_the_wrong_place_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["login", "msk_live_canary"]) == 2
    assert main(["login", "--token=msk_live_canary"]) == 2
    printed = capsys.readouterr()
    assert "canary" not in printed.out + printed.err


def test_a_wrong_line_has_its_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "99", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "usage"


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("stack", "watch", ID.upper()), {"command": "stack watch", "stack_id": ID, "json": False}),
        (("stack", "ls", "--json"), {"command": "stack list", "json": True}),
        (("usage",), {"command": "credits", "json": False}),
        (("queue", "list"), {"command": "queue", "verb": "list", "json": False}),
        (("jobs",), {"command": "jobs", "json": False}),
        (("status",), {"command": "status", "json": False}),
        (("review",), {"command": "review", "json": False}),
        (("repo-settings",), {"command": "repo-settings", "json": False}),
        (("queue",), {"command": "queue", "json": False}),
        (
            ("stack", "set", ID, "--auto-land", "off", "--auto-patch", "default", "--auto-fix-ci", "on"),
            {
                "command": "stack set",
                "stack_id": ID,
                "json": False,
                "auto_land": False,
                "auto_patch": None,
                "auto_fix_ci": True,
            },
        ),
        (
            ("repo-settings", "acme/shop", "--lands-alone", "db/", "--merge-queue-batch-size", "default"),
            {
                "command": "repo-settings",
                "repository": ("acme", "shop"),
                "json": False,
                "merge_queue_lands_alone_paths": ["db/"],
                "merge_queue_batch_size": None,
            },
        ),
    ],
)
def test_what_is_not_given_is_not_there(words: tuple[str, ...], values: dict[str, Any]) -> None:
    assert parse(words) == values

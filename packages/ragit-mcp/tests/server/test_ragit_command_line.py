"""The command line of the server, and how it starts and ends."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from mcpkit.testing import connect_stdio
from ragit_mcp import __version__
from ragit_mcp.main import SURFACE, _parse, _Refused, main


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ([], ""),
        (["--cwd", "/yard"], "/yard"),
        (["--cwd=/yard"], "/yard"),
        (["--cwd=/a=b"], "/a=b"),
        (["--cwd", "-odd"], "-odd"),
        (["--help"], "--help"),
        (["--cwd", "/yard", "--help"], "--help"),
        (["--version"], "--version"),
    ],
)
def test_arguments_of_the_server_are_understood(arguments: list[str], place: str) -> None:
    assert _parse(arguments) == place


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cwd"],
        ["--cwd", ""],
        ["--cwd", "  "],
        ["--cwd="],
        ["--cwd", "--help"],
        ["--cwd=--x"],
        ["--cwd", "a", "--cwd", "b"],
        ["--cwd=a", "--cwd=b"],
        ["--port", "1"],
        ["yard"],
        ["-h"],
        ["--CWD", "a"],
    ],
)
def test_wrong_arguments_of_the_server_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(_Refused):
        _parse(arguments)
    assert main(arguments) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("[ragit-mcp] error: ")
    assert shown.err.count("\n") == 1


def test_a_refusal_shows_no_control_characters_and_no_long_argument(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["\x1b[31m" + "x" * 5_000]) == 1
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert len(shown) < 200


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_start_no_server(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert ("--cwd PATH" if flag == "--help" else __version__) in shown.out


def test_the_snapshot_lies_beside_the_command_line() -> None:
    assert os.path.isfile(SURFACE)


@pytest.mark.anyio
async def test_a_session_is_silent_and_ends_with_its_input(harbour: Any, server_program: list[str]) -> None:
    before = harbour.everything()
    below = harbour.root / "docs"
    async with connect_stdio([*server_program, "--cwd", str(below)], env=harbour.env) as client:
        assert (await client.initialize()).ok
        assert next(tool["name"] for tool in await client.tools()) == "ragit_status"
        for tool, arguments in (
            ("ragit_status", {}),
            ("ragit_query", {"question": "harbour crane"}),
            ("ragit_context_pack", {"goal": "harbour crane"}),
        ):
            outcome = await client.call(tool, arguments)
            assert outcome.ok, outcome
            assert outcome.structured["cwd"] == str(harbour.root)
            assert harbour.everything() == before
        refused = await client.call("ragit_status", {"extra": 1})
        assert (refused.tool_error or {})["code"] == "MCP_INVALID_INPUT"
        unknown = await client.call("ragit_query", {"question": "crane", "at": "main"})
        assert (unknown.tool_error or {})["code"] == "SNAPSHOT_REF_INVALID"
        assert await client.finish() == 0
        assert client.strays == []
        assert client.process.stderr == ""
    assert harbour.everything() == before


@pytest.mark.anyio
async def test_the_handshake_is_answered_before_engine_and_model_are_loaded(harbour: Any) -> None:
    # The process stops itself at the first import of anything heavy until it is told to go on.
    program = (
        "import sys, threading\n"
        "class Gate:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in HEAVY:\n"
        "            sys.stderr.write('held ' + name + '\\n'); sys.stderr.flush()\n"
        "            while not os.path.exists(GO):\n"
        "                threading.Event().wait(0.01)\n"
        "            sys.meta_path.remove(self)\n"
        "        return None\n"
        "import os\n"
        "HEAVY = {'fastmcp', 'mcp', 'pydantic', 'numpy', 'apsw', 'tokenizers', 'wordllama', 'httpx'}\n"
        "GO = sys.argv[2]\n"
        "sys.meta_path.insert(0, Gate())\n"
        "from ragit_mcp.main import main\n"
        "raise SystemExit(main(['--cwd', sys.argv[1]]))\n"
    )
    go = harbour.root.parent / "go-on"
    argv = [sys.executable, "-P", "-c", program, str(harbour.root), str(go)]
    async with connect_stdio(argv, env=harbour.env) as client:
        assert (await client.initialize()).ok
        assert len(await client.tools()) == 3
        go.write_text("", encoding="utf-8")
        assert (await client.call("ragit_query", {"question": "crane"})).ok
        assert await client.finish() == 0
        held = client.process.stderr.splitlines()
    assert all(line.startswith("held ") for line in held)
    assert held

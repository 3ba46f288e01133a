"""The recorded command lines, and what ours adds: `--version`, `--confine`, the HTTP allow-lists."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mergeway_mcp import __version__
from mergeway_mcp.main import COMMAND_LINE

VECTORS = Path(__file__).parents[1] / "vectors"
RECORDED = json.loads((VECTORS / "cli.json").read_text(encoding="utf-8"))


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("mergeway-mcp", path=str(Path(sys.executable).parent))
    assert program
    return subprocess.run(
        [program, *arguments], stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, timeout=60, check=False
    )


@pytest.fixture(scope="module")
def busy_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("case", RECORDED, ids=[" ".join(case["args"]) or "-" for case in RECORDED])
def test_a_recorded_command_line_ends_as_recorded(
    case: dict[str, Any], tmp_path: Path, busy_port: int
) -> None:
    (tmp_path / "plain.txt").write_text("not a folder\n", encoding="utf-8")
    places = {
        "${TMP}": str(tmp_path),
        "${ROOT}": str(VECTORS / "fixtures" / "basic"),
        "${BUSY}": str(busy_port),
    }
    arguments = []
    for argument in case["args"]:
        for name, place in places.items():
            argument = argument.replace(name, place)
        arguments.append(argument)
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == case["exit_code"], done.stderr
    assert (not done.stdout) == case["stdout_empty"]
    assert (not done.stderr) == case["stderr_empty"], done.stderr


def test_the_version_is_one_line_on_stdout() -> None:
    done = run("--version", "--root", "/nonexistent")
    assert (done.returncode, done.stdout.decode().strip(), done.stderr) == (
        0,
        f"mergeway-mcp {__version__}",
        b"",
    )


def test_a_wrong_flag_is_named_after_the_usage_text() -> None:
    lines = run("--bogus").stderr.decode().splitlines()
    assert lines[-1].startswith("mergeway-mcp: ")
    assert "--root" in "\n".join(lines)


@pytest.mark.parametrize(
    "flags",
    [
        ["--http-allow-host", "a.example"],
        ["--http-allow-origin", "https://a.example"],
        ["--http-listen=127.0.0.1:0"],
    ],
)
def test_http_flags_are_refused_without_http(flags: list[str]) -> None:
    done = run("--root", str(VECTORS / "fixtures" / "basic"), *flags)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_a_malformed_allowed_origin_is_a_usage_error() -> None:
    root = str(VECTORS / "fixtures" / "basic")
    done = run(
        "--root", root, "--transport", "http", "--http-listen", "127.0.0.1:0", "--http-allow-origin", "nope"
    )
    assert done.returncode == 2


def test_a_broken_configuration_is_told_with_file_and_reason_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "mergeway.yaml").write_text("mergeway: {version: 7}\n", encoding="utf-8")
    done = run("--root", str(tmp_path))
    text = done.stderr.decode()
    assert done.returncode == 2
    assert text.startswith("mergeway-mcp: ")
    assert text.count("\n") == 1
    assert "mergeway.yaml" in text


def test_confine_refuses_an_include_outside_the_root_at_the_start(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.yaml").write_text("mergeway: {version: 1}\n", encoding="utf-8")
    (root / "mergeway.yaml").write_text(
        "mergeway: {version: 1}\ninclude: [../outside.yaml]\n", encoding="utf-8"
    )
    assert run("--root", str(root)).returncode == 0
    assert run("--root", str(root), "--confine").returncode == 2


@pytest.mark.parametrize(
    "example", [line.strip() for line in COMMAND_LINE.usage().split("Examples:")[1].splitlines()[1:]]
)
def test_an_example_of_the_help_text_is_a_command_line_that_parses(example: str) -> None:
    program, *arguments = example.split()
    assert program == COMMAND_LINE.program
    assert COMMAND_LINE.parse(arguments).rest == []

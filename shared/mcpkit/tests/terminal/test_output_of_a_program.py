"""What becomes of a program's output: foreign code pages, readers that leave, full disks, closed streams."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WRITES = """
import sys
from mcpkit.terminal.output import OutputFailure, write_error, write_output
try:
    write_output(sys.argv[1] * int(sys.argv[2]))
except OutputFailure as failure:
    write_error(f"refused: {failure}")
    sys.exit(3)
"""
PRINTS = """
import sys
from mcpkit.terminal.output import speak_utf8
speak_utf8()
print(sys.argv[1])
print(sys.argv[1], file=sys.stderr)
"""
ABANDONS = """
import os, sys
from mcpkit.terminal.output import abandon_output
sys.stdout.write("never seen")
abandon_output()
os.write(2, b"end")
"""
FOREIGN = [{"PYTHONIOENCODING": name, "PYTHONUTF8": "0"} for name in ("cp1252", "cp932", "ascii")]
TEXT = "W\u00f3jcik \u7530\u4e2d"
posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")


def command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-P", "-c", program, *arguments]


@pytest.mark.parametrize("environment", FOREIGN)
def test_output_is_utf8_whatever_the_code_page_is(environment: dict[str, str]) -> None:
    whole = {**os.environ, **environment}
    written = subprocess.run(
        command(WRITES, TEXT, "1"), env=whole, capture_output=True, check=True, timeout=60
    )
    assert written.stdout.decode("utf-8") == TEXT
    printed = subprocess.run(command(PRINTS, TEXT), env=whole, capture_output=True, check=True, timeout=60)
    assert printed.stdout.decode("utf-8").split("\n")[0].rstrip() == TEXT
    assert printed.stderr.decode("utf-8").rstrip() == TEXT


def test_a_reader_that_leaves_is_no_failure() -> None:
    with subprocess.Popen(
        command(WRITES, "x" * 100, "100000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"x"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_a_failure_and_told_once() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(WRITES, "x", "1"), stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 3
    assert done.stderr.count(b"\n") == 1


@posix
@pytest.mark.parametrize(("closed", "told"), [(">&-", True), (">&- 2>&-", False)])
def test_a_closed_stdout_is_a_failure_even_if_nobody_can_be_told(closed: str, told: bool) -> None:
    line = ["sh", "-c", f'exec "$@" {closed}', "sh", *command(WRITES, "x", "1")]
    done = subprocess.run(line, capture_output=True, check=False, timeout=60)
    assert done.returncode == 3
    assert done.stderr.startswith(b"refused: ") is told


@posix
@pytest.mark.parametrize("closed", ["", ">&-"])
def test_what_was_abandoned_never_appears_and_holds_nothing_up(closed: str) -> None:
    program = ABANDONS if not closed else ABANDONS.replace('sys.stdout.write("never seen")', "")
    line = ["sh", "-c", f'exec "$@" {closed}', "sh", *command(program)]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(line, env=buffered, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"end")

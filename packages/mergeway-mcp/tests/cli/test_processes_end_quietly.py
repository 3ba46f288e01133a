"""Readers that go away, interrupts, full disks and foreign code pages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def big_repository(write: Callable[[dict[str, str]], Path]) -> Path:
    """One whose export fits no pipe."""
    config = (
        "mergeway: {version: 1}\nentities: {T: {identifier: id, include: [t.yaml], fields: {id: string}}}\n"
    )
    records = "".join(f"  - {{id: r{number}, text: {'x' * 100}}}\n" for number in range(5_000))
    return write({"mergeway.yaml": config, "t.yaml": f"items:\n{records}"})


def test_a_reader_that_goes_away_is_no_error(
    program: list[str], write_repository: Callable[[dict[str, str]], Path]
) -> None:
    root = big_repository(write_repository)
    with subprocess.Popen(
        [*program, "--root", str(root), "export"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(1) == b"T"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows sends no interrupt to a single process")
def test_an_interrupt_ends_with_130_and_without_a_word(
    program: list[str], write_repository: Callable[[dict[str, str]], Path]
) -> None:
    root = big_repository(write_repository)
    # A shell that runs the tests in the background has its children ignore interrupts; this one must not.
    heeding = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
    with subprocess.Popen(
        [sys.executable, "-c", heeding, *program, "--root", str(root), "export"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # It has begun to write, and cannot finish: nobody reads on.
        assert process.stdout.read(1) == b"T"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        assert process.stderr.read() == b""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_under_stdout_is_a_failure(program: list[str], catalogue: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*program, "export"], cwd=catalogue, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"mergeway-cli: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("line", ["validate", "--version", "--help"])
def test_a_closed_stdout_is_a_failure(program: list[str], catalogue: Path, line: str) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *program, line],
        cwd=catalogue,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(b"mergeway-cli: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "ascii"])
def test_output_is_utf8_whatever_the_code_page(
    cli_process: Callable[..., Any], catalogue: Path, encoding: str
) -> None:
    environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for format_ in ("yaml", "json", "table"):
        outcome = cli_process("export", "Person", "--format", format_, cwd=catalogue, env=environment)
        assert outcome.code == 0, outcome
        assert "Tomasz Wójcik" in outcome.out
        assert "田中 陽翔" in outcome.out
    outcome = cli_process("get", "田中", "--type", "Person", cwd=catalogue, env=environment)
    assert outcome.code == 1
    assert outcome.err.startswith("mergeway-cli: ")

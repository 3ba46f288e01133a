"""A server that a person starts in a terminal says that it waits for a client; a client's pipes hear nothing of it."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time

import pytest

pty = pytest.importorskip("pty")

SERVE = "from mcpkit.stdio import serve\nserve(lambda: None)\n"
DEADLINE = 60.0


def test_at_a_terminal_it_says_that_it_waits_for_a_client() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        heard, until = b"", time.monotonic() + DEADLINE
        while b"MCP client" not in heard and time.monotonic() < until:
            if select.select([ours], [], [], 1)[0]:
                heard += os.read(ours, 4096)
        process.kill()
    os.close(ours)
    assert b"MCP client" in heard


def test_with_pipes_it_says_nothing() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os\nfrom mcpkit.stdio.adapter import _greet_a_person\n_greet_a_person()\n",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    assert (ran.stdout, ran.stderr) == (b"", b"")

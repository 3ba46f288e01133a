"""A working directory that was removed is a wrong root like any other, and no matter where the root is absolute."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASIC = Path(__file__).parents[1] / "vectors" / "fixtures" / "basic"


def run_where_nothing_is(program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    path = shutil.which(program, path=str(Path(sys.executable).parent))
    assert path
    folder.mkdir()
    # Removes the directory it stands in, then becomes the program.
    script = (
        "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    )
    return subprocess.run(
        [sys.executable, "-c", script, str(folder), path, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows does not remove a directory in use")


@pytest.mark.parametrize("arguments", [(), ("--root=",), ("--root", "below")])
def test_the_server_refuses_a_relative_root_with_a_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_where_nothing_is("mergeway-mcp", tmp_path / "gone", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


@pytest.mark.parametrize("arguments", [(), ("--root=",), ("--root", "below")])
def test_the_command_line_refuses_a_relative_root_with_a_line(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = run_where_nothing_is("mergeway-cli", tmp_path / "gone", *arguments, "entity", "list")
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert b"report" not in done.stderr  # it is no mistake of the program


def test_an_absolute_root_is_served(tmp_path: Path) -> None:
    done = run_where_nothing_is("mergeway-mcp", tmp_path / "gone", "--root", str(BASIC))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

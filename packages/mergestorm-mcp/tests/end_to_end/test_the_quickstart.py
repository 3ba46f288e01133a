"""The page of the quickstart, typed in block by block as a reader would, with what the programs print filled in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import OWNER, PATIENCE, REPO, environment

PAGE = Path(__file__).parents[4] / "docs" / "mergestorm" / "quickstart.md"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy"),
    pytest.mark.skipif(os.name == "nt", reason="the page is written for a POSIX shell"),
]

# What fetches the package is stood in for, for the package is here: `uvx --from mergestorm-mcp X` is X.
UVX = '#!/bin/sh\n[ "$1 $2" = "--from mergestorm-mcp" ] && shift 2\nexec "$@"\n'
UV = '#!/bin/sh\n[ "$*" = "tool install mergestorm-mcp" ]\n'


class Terminal:
    """A shell that is typed into, block after block.

    Args:
        folder: where it stands.
        variables: its environment.
    """

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        self.variables = variables

    def enters(self, block: str, code: int = 0) -> str:
        """Run a block up to its first failing line; what it printed."""
        done = subprocess.run(
            ["sh", "-e", "-c", block],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=2 * PATIENCE,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    """A shell in an empty folder in which the package's programs are installed."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    for name, text in (("uvx", UVX), ("uv", UV)):
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    for name in ("mg", "mergestorm-local"):
        found = shutil.which(name, path=str(Path(sys.executable).parent))
        assert found is not None
        (programs / name).symlink_to(found)
    identity = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    variables = environment(tmp_path / "home", **identity, GIT_CONFIG_GLOBAL=os.devnull)
    return Terminal(work, {**variables, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"})


@pytest.fixture
def blocks() -> dict[str, list[str]]:
    """The page's shell blocks, by the heading above them."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^#{2,3} ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        found[section.partition("\n")[0]] = re.findall(
            r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
        )
    return found


@pytest.fixture
def printed(terminal: Terminal, blocks: dict[str, list[str]]) -> Iterator[str]:
    """What the page's first command prints; it serves as long as the test runs."""
    # A hundred times as fast as life, which the page's reader does not need.
    command = blocks["Without an account"][0].strip() + " --speed 100"
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=terminal.folder,
        env=terminal.variables,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        try:
            assert process.stdout is not None
            lines: list[str] = []
            while not (lines and "Ctrl+C" in lines[-1]):
                line = process.stdout.readline()
                assert line, lines
                lines.append(line)
            yield "".join(lines)
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


def test_everything_on_the_page_does_what_it_says(
    terminal: Terminal, blocks: dict[str, list[str]], printed: str
) -> None:
    _, install = blocks["Without an account"]
    checkout, publish, watch, mend = blocks["From a branch to the trunk"]
    exports = dict(re.findall(r"export (MERGESTORM_\w+)=(\S+)", printed))
    for name, value in exports.items():
        install = re.sub(rf"(export {name}=)\S+", rf"\g<1>{value}", install)
    assert "msk_live_" in terminal.enters(install)
    terminal.variables |= exports

    [path] = re.findall(r"git clone (\S+)", printed)
    terminal.enters(checkout.replace("PATH", path))
    terminal.folder /= "tidepool"
    told = terminal.enters(publish)
    [stack] = set(
        re.findall(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", told.partition("registered")[2])
    )
    [number] = set(re.findall(r"/pull/(\d+)", told))
    filled = {"<stack id>": stack, "<number>": number}
    for name, value in filled.items():
        watch, mend = watch.replace(name, value), mend.replace(name, value)
    assert terminal.enters(watch, 3).startswith(f"MS-WATCH ATTENTION pr={number} ")
    told = terminal.enters(mend)
    assert "moon.py" in told
    assert f"MS-WATCH LANDED stack={stack} reason=landed\n" in told
    shown = terminal.enters(f"git --git-dir {path} show main:moon.py")
    assert shown == "phase = int(text)\n"
    assert f"{OWNER}/{REPO}" in printed


def test_every_command_of_the_page_is_typed_in_or_the_clients_own(blocks: dict[str, list[str]]) -> None:
    assert {name: len(found) for name, found in blocks.items() if found} == {
        "Without an account": 2,
        "From a branch to the trunk": 4,
        "With the hosted service": 1,
    }
    # The login is tried against the local service elsewhere, the client's command is its own.
    [hosted] = blocks["With the hosted service"]
    assert hosted.splitlines() == [
        "uvx --from mergestorm-mcp mg login",
        "claude mcp add --transport stdio mergestorm -- uvx mergestorm-mcp",
    ]

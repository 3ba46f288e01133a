"""`mergestorm-local`: what it prints, how it ends, what it refuses to use."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp import __version__
from mergestorm_mcp.service import main
from mergestorm_mcp.service.cli import DEFAULT_SCENARIO
from mergestorm_mcp.service.data_folder import FolderInUse, data_folder
from mergestorm_mcp.service.scenarios import load, names
from mergestorm_mcp.service.started import announced, find_started

COMMAND = [sys.executable, "-m", "mergestorm_mcp.service.main"]
PATIENCE = 60


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of the test's own, so that `ui` finds no other services."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


class Served:
    """A service in a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.told: dict[str, Any] = json.loads(process.stdout.readline())

    def get(self, path: str, key: str | None = None) -> httpx.Response:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx.get(self.told["url"] + path, headers=headers, trust_env=False, timeout=20)

    def end(self, number: signal.Signals = signal.SIGTERM, within: float = PATIENCE) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=within)
        return self.process.returncode, errors


Start = Callable[..., Served]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as processes:

        def one(*flags: str) -> Served:
            process = processes.enter_context(
                subprocess.Popen(
                    [*COMMAND, "serve", "--json", *flags],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
            )
            processes.callback(process.kill)
            return Served(process)

        yield one


def test_serve_prints_what_a_client_needs_and_ends_with_zero(start: Start) -> None:
    served = start()
    told = served.told
    assert told["url"].startswith("http://127.0.0.1:")
    [(login, key), *_] = told["keys"].items()
    assert served.get("/api/v1/me", key).json()["key"]["prefix"] == key[:12]
    assert served.get("/api/v1/stacks", key).status_code == 200
    for path in told["repositories"].values():
        assert (Path(path) / "HEAD").is_file()
    found = find_started()
    assert found is not None
    assert found == {"url": told["url"], "page": told["page"]}
    assert httpx.get(told["page"], trust_env=False).status_code == 303
    assert served.end() == (0, "")
    assert not Path(told["data"]).exists()
    assert find_started() is None
    assert login


def test_an_interrupt_ends_it_as_well_even_while_somebody_waits(start: Start) -> None:
    served = start("--scenario", "empty")
    key = served.told["keys"]["you"]
    first = served.get("/api/v1/stacks/queue", key).json()
    answers: list[int] = []

    def wait() -> None:
        query = f"wait=45&seen={first['fingerprint']}"
        with contextlib.suppress(httpx.TransportError):
            answers.append(served.get(f"/api/v1/stacks/queue?{query}", key).status_code)

    waiting = threading.Thread(target=wait)
    waiting.start()
    # Sooner than the wait would end by itself.
    assert served.end(signal.SIGINT, within=30) == (0, "")
    waiting.join(PATIENCE)
    assert answers in ([], [200])


def test_state_is_kept_over_restarts_and_keys_are_shown_once(start: Start, tmp_path: Path) -> None:
    data = str(tmp_path / "kept")
    first = start("--scenario", "empty", "--data", data)
    key = first.told["keys"]["you"]
    assert first.end()[0] == 0
    again = start("--scenario", "empty", "--data", data)
    assert again.told["keys"] == {}
    assert again.get("/api/v1/me", key).status_code == 200
    assert again.told["page"].partition("=")[2] != first.told["page"].partition("=")[2]
    assert stat.S_IMODE(os.stat(data).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(f"{data}/mergestorm.sqlite").st_mode) == 0o600
    assert again.end()[0] == 0


def told_to_people(*flags: str, path: str | None = None) -> str:
    """What `serve` prints for people until it says that it serves."""
    environment = os.environ | ({} if path is None else {"PATH": path})
    process = subprocess.Popen(
        [*COMMAND, "serve", *flags], stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    )
    with process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "Ctrl+C" in line:
                break
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    return "".join(lines)


def test_for_people_it_says_what_its_scenario_is_about_and_how_a_clone_is_published() -> None:
    text = told_to_people()
    assert load(DEFAULT_SCENARIO).about.splitlines()[0] in text
    assert "stack publish --repo kestrel-labs/tidepool\n" in text


@pytest.mark.skipif(sys.platform == "win32", reason="names programs by their links")
def test_its_commands_can_be_typed_where_mg_is_installed_and_where_it_is_not(tmp_path: Path) -> None:
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "git").symlink_to(git)
    assert "  uvx --from mergestorm-mcp mg whoami\n" in told_to_people(
        "--scenario", "empty", path=str(tmp_path)
    )
    (tmp_path / "mg").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "mg").chmod(0o755)
    assert "  mg whoami\n" in told_to_people("--scenario", "empty", path=str(tmp_path))


def test_for_people_it_prints_the_next_commands() -> None:
    text = told_to_people("--scenario", "empty")
    assert "export MERGESTORM_API_URL=http://127.0.0.1:" in text
    assert "export MERGESTORM_API_KEY=msk_live_" in text


@pytest.mark.parametrize(
    "words",
    [
        ["serve", "--speed", "0"],
        ["serve", "--speed", "nan"],
        ["serve", "--port", "70000"],
        ["serve", "--host", "0.0.0.0"],
        ["serve", "--scenario", "no-such-scenario"],
        ["serve", "--scenario", "./missing.yaml"],
        ["dance"],
        ["ui", "--port", "x"],
    ],
)
def test_what_the_line_gets_wrong_is_exit_two_and_one_line(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mergestorm-local: ")
    assert err.count("\n") == 1


def test_help_and_version_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ([], ["--help"], ["serve", "--help"], ["scenarios", "-h"], ["ui", "--help"]):
        assert main.main(words) == 0
        assert "Examples:" in capsys.readouterr().out
    assert main.main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_scenarios_are_listed_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["scenarios", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["scenarios"]
    assert [each["name"] for each in listed] == names()
    assert all(each["title"] for each in listed)
    assert main.main(["scenarios"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(listed)


def test_a_port_in_use_is_exit_one(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main.main(["serve", "--scenario", "empty", "--port", port]) == 1
    assert capsys.readouterr().err.startswith("mergestorm-local: ")


def test_a_folder_with_something_else_in_it_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    assert main.main(["serve", "--scenario", "empty", "--data", str(tmp_path)]) == 2
    assert not (tmp_path / "mergestorm.sqlite").exists()
    home = tmp_path / "home"
    (home / ".mergestorm").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for inside in (".mergestorm", ".mergestorm/state"):
        assert main.main(["serve", "--scenario", "empty", "--data", str(home / inside)]) == 2
    assert list((home / ".mergestorm").iterdir()) == []


def test_a_folder_serves_one_service_at_a_time(tmp_path: Path) -> None:
    with data_folder(str(tmp_path / "one")):
        with pytest.raises(FolderInUse), data_folder(str(tmp_path / "one")):
            pass
        assert main.main(["serve", "--scenario", "empty", "--data", str(tmp_path / "one")]) == 1
    with data_folder(str(tmp_path / "one")) as folder:
        assert folder.is_dir()


def test_a_folder_whose_database_is_none_is_exit_one(tmp_path: Path) -> None:
    (tmp_path / "mergestorm.sqlite").write_bytes(b"something else" * 200)
    assert main.main(["serve", "--scenario", "empty", "--data", str(tmp_path)]) == 1


def test_ui_opens_the_page_of_the_service_that_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main.main(["ui"]) == 1
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        with announced(url, f"{url}/enter?token=t"), announced("http://127.0.0.1:1", "gone"):
            assert main.main(["ui", "--print"]) == 0
            assert opened == []
            assert main.main(["ui", "--port", str(port)]) == 0
            assert main.main(["ui", "--port", "1"]) == 1
            assert main.main(["ui", "--json"]) == 0
    assert opened == [f"{url}/enter?token=t"]
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"url": url, "page": opened[0]}


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_runtime_folder_that_others_may_enter_is_not_used(runtime_folder: Path) -> None:
    own = runtime_folder / "mergestorm-local"
    own.mkdir(mode=0o755)
    os.chmod(own, 0o755)
    with announced("http://127.0.0.1:1", "page"):
        assert list(own.iterdir()) == []
    assert find_started() is None

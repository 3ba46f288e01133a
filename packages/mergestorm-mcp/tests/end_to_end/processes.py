"""The three parties as processes: a service, an agent's server over stdio, and a checkout of a repository of the service.

Children run without `COVERAGE_*`: what they execute is measured by the tests of each part, and tracing would double the
time of every start.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx

from ..conftest import Checkout  # noqa: TID252 - one checkout for the whole package

__all__ = ["OWNER", "PATIENCE", "REPO", "Agent", "Reply", "Service", "clone", "environment", "followed", "mg"]

PATIENCE: Final = 60.0
"""Seconds that any one step may take on a busy machine."""

OWNER, REPO = "kestrel-labs", "tidepool"

_DROPPED: Final = ("COVERAGE_", "COV_", "MERGESTORM_", "GIT_", "FASTMCP_")


def environment(home: Path, **variables: str) -> dict[str, str]:
    """An environment for a child: a home and a runtime folder of its own, nothing of Mergestorm's but what is given."""
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
    own = dict.fromkeys(("HOME", "USERPROFILE", "XDG_RUNTIME_DIR"), str(home))
    return {**kept, **own, **variables}


class Service:
    """`mergestorm-local serve` on a folder that outlives the process.

    Args:
        folder: for its state and its home.
        scenario: name or file.
        speed: how much faster than life things happen.

    Attributes:
        url: its address, the same after a restart.
        key: of the first account.
        keys: of all accounts, by login.
        repositories: paths of the bare repositories, by name.
        process: while it runs.
    """

    def __init__(self, folder: Path, scenario: str, speed: float) -> None:
        self._folder = folder
        self._scenario = scenario
        self._speed = speed
        self.url = ""
        self.keys: dict[str, str] = {}
        self.repositories: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def key(self) -> str:
        return next(iter(self.keys.values()))

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def database(self) -> Path:
        return self._folder / "data" / "mergestorm.sqlite"

    def start(self) -> None:
        """Start it, or start it again: same folder, same port."""
        command = [sys.executable, "-m", "mergestorm_mcp.service.main", "serve", "--json"]
        command += ["--scenario", self._scenario, "--speed", str(self._speed)]
        command += ["--data", str(self._folder / "data"), "--port", str(self.port) if self.url else "0"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            env=environment(self._folder / "home"),
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.kill()
            raise AssertionError("the service did not start")
        told = json.loads(line)
        self.url = told["url"]
        self.keys = self.keys or told["keys"]  # they are shown once
        self.repositories = told["repositories"]

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None

    def get(self, path: str, key: str = "", **query: str | int) -> Any:
        """Read from its API, without the package's client."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        reply = httpx.get(
            f"{self.url}/api/v1/{path}", params=query, headers=headers, trust_env=False, timeout=PATIENCE
        )
        assert reply.status_code == 200, reply.text
        return reply.json()

    def variables(self, login: str = "") -> dict[str, str]:
        """What an agent's host sets to use it."""
        key = self.keys[login] if login else self.key
        return {"MERGESTORM_API_URL": self.url, "MERGESTORM_API_KEY": key}


class Reply(NamedTuple):
    """What a tool call came to.

    Attributes:
        data: structured content.
        failed: whether it says that the call failed.
        text: the text for people.
    """

    data: dict[str, Any]
    failed: bool
    text: str

    @property
    def code(self) -> str | None:
        """The code of a failure."""
        error = self.data.get("error")
        return error.get("code") if isinstance(error, dict) else None


class Agent:
    """`mergestorm-mcp` over stdio, driven by plain JSON lines.

    Args:
        folder: its working directory.
        home: its home directory.
        variables: further environment.

    Attributes:
        succeeded: tools that answered so far.
        refused: tools that refused so far.
    """

    def __init__(self, folder: Path, home: Path, variables: Mapping[str, str]) -> None:
        self._folder = folder
        self._home = home
        self._environment = environment(home, **variables)
        self._last = 0
        self.succeeded: set[str] = set()
        self.refused: set[str] = set()
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start the server and shake hands."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mergestorm_mcp.main"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            env=self._environment,
            encoding="utf-8",
        )
        self._replies: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, args=(self.process, self._replies), daemon=True).start()
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "e2e", "version": "1"},
        }
        assert self._wait(self._ask("initialize", hello)) is not None
        self._send({"method": "notifications/initialized"})

    def signs_in(self, url: str, key: str) -> None:
        """Store another key, as a login does; it is used from the next call on."""
        place = self._home / ".mergestorm"
        place.mkdir(mode=0o700, exist_ok=True)
        file = place / "config.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps({"apiKey": key, "apiBase": url}), encoding="utf-8")

    def begin(self, tool: str, **arguments: Any) -> int:
        """Send a call and do not wait; its id."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def end(self, number: int) -> dict[str, Any] | None:
        """The result of a request; None if the server has ended."""
        return self._wait(number)

    def call(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool, whatever comes of it."""
        result = self._wait(self.begin(tool, **arguments))
        assert result is not None, "the server has ended"
        failed = bool(result.get("isError"))
        (self.refused if failed else self.succeeded).add(tool)
        text = "\n".join(block["text"] for block in result["content"])
        return Reply(result["structuredContent"], failed, text)

    def does(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has to answer; its structured content."""
        reply = self.call(tool, **arguments)
        assert not reply.failed, reply.text
        return reply.data

    def is_refused(self, tool: str, **arguments: Any) -> str | None:
        """Call a tool that has to refuse; the code."""
        reply = self.call(tool, **arguments)
        assert reply.failed, reply.text
        return reply.code

    def tools(self) -> list[str]:
        """Names of the tools, in the order in which they are listed."""
        listed = self._wait(self._ask("tools/list", {}))
        assert listed is not None
        return [tool["name"] for tool in listed["tools"]]

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self.process is not None:
            process, self.process = self.process, None
            process.kill()
            process.wait(PATIENCE)
            for stream in (process.stdin, process.stdout):
                assert stream is not None
                try:
                    stream.close()
                except OSError:  # what was buffered has no reader any more
                    pass

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params})
        return self._last

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def _wait(self, number: int) -> dict[str, Any] | None:
        while True:
            message = self._replies.get(timeout=PATIENCE + 45)  # a wait may take 45 seconds by itself
            if message is None:
                return None
            if message.get("id") == number:
                result: dict[str, Any] = message["result"]
                return result

    @staticmethod
    def _read(process: subprocess.Popen[str], replies: queue.Queue[dict[str, Any] | None]) -> None:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                replies.put(json.loads(line))
        except ValueError:  # closed while it was read, or cut by a kill
            pass
        replies.put(None)


def clone(service: Service, place: Path, branch: str = "main") -> Checkout:
    """A checkout as a user has it: a clone whose origin is on GitHub by name, with a branch checked out."""
    bare = service.repositories[f"{OWNER}/{REPO}"]
    place.mkdir(parents=True)
    checkout = Checkout(place)
    checkout.git("clone", "--quiet", bare, ".")
    checkout.git("remote", "set-url", "origin", f"https://github.com/{OWNER}/{REPO}.git")
    checkout.git("checkout", "--quiet", branch)
    return checkout


def mg(variables: Mapping[str, str], folder: Path, *words: str) -> subprocess.Popen[str]:
    """`mg` as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "mergestorm_mcp.mg.main", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=dict(variables),
        encoding="utf-8",
    )


def followed(agent: Agent, watch: dict[str, Any], rounds: int = 200) -> dict[str, Any]:
    """Call what every result says to call next, until something needs attention or the watch is done."""
    for _ in range(rounds):
        following = watch["next"]
        reply = agent.call(following["tool"], **following["args"])
        watch = reply.data["watch"]
        if watch["done"] or reply.data["status"] == "attention":
            return reply.data
    raise AssertionError("nothing came of the watch")

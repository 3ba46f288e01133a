"""The service that mergestorm-mcp is measured against: a local Mergestorm in a process of its own, on which nothing happens.

Its agents take a day to begin, so that nothing runs beside what is measured, and its one stack stays as it is.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.request import ProxyHandler, Request, build_opener

from tests.benchmarks.peers import environment, installed

__all__ = ["Target", "service"]

_SCENARIO: Final = """\
title: Nothing happens
accounts:
  - {login: ada, credits_limit: null}
repositories:
  - name: kestrel-labs/tidepool
    people: {ada: admin}
    commits:
      - {branch: main, message: First, files: {README.md: "# Tidepool\\n"}}
      - {branch: ebb, message: Ebb, files: {ebb.md: "The water goes.\\n"}}
    pulls:
      - {head: ebb, title: Ebb, author: ada}
    stacks:
      - {account: ada, head: ebb, auto_land: false}
    agents:
      ci: {seconds: 86400}
      reviewer: {queued_seconds: 86400}
"""


class Target(NamedTuple):
    """A service and what there is in it.

    Attributes:
        url: its address.
        key: a key for it.
        owner: of a repository that the key may publish to.
        repo: its name.
        origin: that repository as git clones it.
        stack: a stack without anything to act on.
    """

    url: str
    key: str
    owner: str
    repo: str
    origin: str
    stack: str

    def variables(self, checkout: Path) -> dict[str, str]:
        """The environment of a server that uses it and may read a checkout."""
        return {
            "MERGESTORM_API_URL": self.url,
            "MERGESTORM_API_KEY": self.key,
            "MERGESTORM_SANDBOX_ROOT": str(checkout),
        }


@contextmanager
def service(folder: Path) -> Iterator[Target]:
    """A service for as long as it is needed.

    Args:
        folder: for its state and its scenario.

    Raises:
        RuntimeError: it is not installed beside this interpreter.
    """
    home, scenario = folder / "service-home", folder / "nothing-happens.yaml"
    home.mkdir(mode=0o700)
    scenario.write_text(_SCENARIO, encoding="utf-8")
    command = [installed("mergestorm-local"), "serve", "--json", "--speed", "1", "--scenario", str(scenario)]
    command += ["--data", str(folder / "service")]
    own = dict.fromkeys(("HOME", "USERPROFILE", "XDG_RUNTIME_DIR"), str(home))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env={**environment(), **own}, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            [key] = told["keys"].values()
            [(name, origin)] = told["repositories"].items()
            owner, _, repo = name.partition("/")
            [stack] = _stacks(told["url"], key)
            yield Target(told["url"], key, owner, repo, origin, stack["id"])
        finally:
            process.terminate()


def _stacks(url: str, key: str) -> list[dict[str, Any]]:
    request = Request(f"{url}/api/v1/stacks", headers={"Authorization": f"Bearer {key}"})
    with build_opener(ProxyHandler({})).open(request, timeout=60) as reply:
        stacks: list[dict[str, Any]] = json.load(reply)["stacks"]
    return stacks

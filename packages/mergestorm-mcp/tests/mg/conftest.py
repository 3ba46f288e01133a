"""`await mg("jobs", "--json")` runs a command in this process and gives its exit code and what it printed."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mergestorm_mcp.mg.main import run
from mergestorm_mcp.mg.parser import parse
from mergestorm_mcp.mg.terminal import Terminal
from mergestorm_mcp.runtime import Runtime

STACK_ID = "1f0e6f0a-52b1-4a0e-9c58-6d7f2f6a9b01"


class FakeTty(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout; more than one does not parse."""
        return json.loads(self.out)


Mg = Callable[..., Awaitable[Ran]]


@pytest.fixture
def mg(runtime: Runtime) -> Mg:
    async def ran(*words: str, given: str = "", tty: bool = False, colour: bool = False) -> Ran:
        kind = FakeTty if tty else io.StringIO
        out, err = kind(), kind()
        terminal = Terminal(out, err, io.StringIO(given), colour=colour)
        code = await run(parse(words), runtime, terminal)
        return Ran(code, out.getvalue(), err.getvalue())

    return ran


@pytest.fixture
def exchange() -> Callable[..., dict[str, Any]]:
    """One request the service expects, and its answer."""

    def made(
        method: str,
        path: str,
        answer: Any = None,
        *,
        status: int = 200,
        query: dict[str, str] | None = None,
        sent: Any = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        expect: dict[str, Any] = {"method": method, "path": f"/api/v1/{path}"}
        if query is not None:
            expect["query"] = query
        if sent is not None:
            expect["body"] = sent
        return {
            "expect": expect,
            "respond": {
                "status": status,
                "body": answer if answer is not None else {},
                "headers": headers or {},
            },
        }

    return made


@pytest.fixture
def red_stack() -> dict[str, Any]:
    """A stack as the service sends it, of one pull request whose CI failed."""
    head = "0000000b" * 5
    layer = {
        "branch": "b11",
        "parentBranch": "main",
        "prNumber": 11,
        "position": 1,
        "state": "clean",
        "ciStatus": "failure",
        "reviewStatus": "approved",
        "checks": {"failure": 1, "failingName": "style"},
        "mergeable": True,
        "mergeableState": "clean",
        "headSha": head,
        "mergeableHeadSha": head,
    }
    place = {
        "owner": "ada",
        "repo": "engine",
        "trunkBranch": "main",
        "landTarget": "main",
        "archivedAt": None,
    }
    return {"id": STACK_ID, **place, "layers": [layer]}


@pytest.fixture
def green_stack(red_stack: dict[str, Any]) -> dict[str, Any]:
    """The same stack with green CI."""
    layer = {**red_stack["layers"][0], "ciStatus": "success", "checks": None}
    return {**red_stack, "layers": [layer]}

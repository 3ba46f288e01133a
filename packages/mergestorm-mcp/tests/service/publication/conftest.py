"""A checkout of a repository that the local service knows, and the real client between them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication
from mergestorm_mcp.service.agents.script import AgentScript, CiScript, ReviewerScript
from mergestorm_mcp.service.agents.scripts import set_script
from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.github.hub import GitHubRepository, Hub
from mergestorm_mcp.service.world import World

OWNER_KEY = "msk_live_key-of-rivka"


class Tidepool:
    """kestrel-labs/tidepool on the service's GitHub side.

    Attributes:
        world: the service's inside.
        repository: its row.
        git: its bare repository.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        with world.store.read() as connection:
            found = world.hub.find_repository(connection, "kestrel-labs", "tidepool")
        assert found is not None
        self.repository: GitHubRepository = found
        self.git: Bare = world.hub.git(found)

    @property
    def hub(self) -> Hub:
        return self.world.hub

    def state(self) -> dict[str, Any]:
        """Everything a refusal must leave alone: branches, and all rows but when a key was used, what trouble was met and
        which branches the service has looked at."""
        with self.world.store.read() as connection:
            names = [
                row["name"]
                for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            ]
            rows = {
                name: [tuple(row) for row in connection.execute(f"SELECT * FROM {name}")]
                for name in sorted(names)
                if name not in {"keys", "knobs", "seen_heads", "timeline"}
            }
        return {"branches": self.git.branches(), **rows}

    def count(self, table: str) -> int:
        with self.world.store.read() as connection:
            return int(connection.execute(f"SELECT count(*) AS n FROM {table}").fetchone()["n"])


def make_tidepool(world: World, checkout: Any) -> Tidepool:
    """The repository, private, written by rivka and sam, with the checkout's main."""
    with world.store.write() as connection:
        made = world.hub.create_repository(connection, "kestrel-labs", "tidepool", private=True)
        for login in ("rivka", "sam"):
            world.hub.set_permission(connection, made.id, login, "write")
        world.hub.install_app(connection, made.id, "surge")
        world.hub.install_app(connection, made.id, "cyclone")
        # Nothing lands while a test looks on.
        slow = AgentScript(ci=CiScript(seconds=86_400), reviewer=ReviewerScript(queued_seconds=86_400))
        set_script(connection, made.id, slow)
    checkout.git("push", "--quiet", str(world.hub.git(made).path), "main:refs/heads/main")
    return Tidepool(world)


@pytest.fixture
def tidepool(service: Any, checkout: Any) -> Tidepool:
    return make_tidepool(service.world, checkout)


@pytest.fixture
def environment(folders: dict[str, str], service: Any) -> Environment:
    """The client's environment: the local service, the key of rivka, the checkout as sandbox."""
    variables = {"MERGESTORM_API_URL": service.url, "MERGESTORM_API_KEY": OWNER_KEY}
    return Environment(variables, folders["home"], folders["work"])


@pytest.fixture
async def tool(server: Any, tidepool: Tidepool) -> AsyncIterator[Callable[..., Any]]:
    """`await tool(name, **arguments)` calls a tool of the real server; its structured content."""
    async with connect_memory(server(None)) as client:
        await client.initialize("2025-06-18")

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            reply = await client.exchange({
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments},
            })
            result = reply["result"]
            content: dict[str, Any] = result["structuredContent"]
            assert result.get("isError", False) == ("error" in content), content
            assert json.loads(result["content"][1]["text"]) == content
            return content

        yield call


@pytest.fixture
def body(checkout: Any, environment: Environment, tidepool: Tidepool) -> dict[str, Any]:
    """The request of a publication of two commits, as the client sends it; to be changed by a test."""
    checkout.commit({"moon/phase.txt": b"new\n", "tide.txt": b"high\n"}, "Raise the tide")
    checkout.commit({"moon/phase.txt": b"full\n", "run.sh": b"#!/bin/sh\n"}, "Full moon")
    return prepare_publication(environment, PublishRequest()).body


@pytest.fixture
def post(service: Any, tidepool: Tidepool) -> Callable[..., Any]:
    """`post(body)` sends a publication with a plain HTTP client; `(status, answer)`."""
    clients: dict[str, Any] = {}

    def send(body: dict[str, Any], key: str = OWNER_KEY) -> tuple[int, dict[str, Any]]:
        client = clients.setdefault(key, service.client(key))
        reply = client.post("/api/v1/stacks/publish", json=body)
        return reply.status_code, reply.json()

    return send

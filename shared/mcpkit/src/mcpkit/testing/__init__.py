"""Drives any MCP server from a test: in memory, over stdio and over HTTP, with one client.

    async with connect_stdio([sys.executable, "-P", "server.py"]) as client:
        await client.initialize()
        outcome = await client.call("entity_list", {})
        assert outcome.structured == {"entities": []}

`connect_memory`, `connect_stdio` and `connect_http` yield the same `Client`; every wait has a deadline and every process
is reaped. `lint_tools` reads a tool list with the eyes of the pickiest clients, `fault_proxy` stands between a client
and a server and does what bad networks do.

The rooms: `outcome` what came back, `client` the calls, `memory`, `stdio` and `http` the ways, `process` a server that
runs on its own, `lint`, `proxy`.
"""

from mcpkit.testing.client import Client, ConnectionEnded
from mcpkit.testing.http import HttpClient, connect_http
from mcpkit.testing.lint import lint_tools
from mcpkit.testing.memory import connect_memory, raw_exchange
from mcpkit.testing.outcome import Outcome
from mcpkit.testing.process import ServerProcess, start_server
from mcpkit.testing.proxy import Faults, fault_proxy
from mcpkit.testing.stdio import connect_stdio

__all__ = [
    "Client",
    "ConnectionEnded",
    "Faults",
    "HttpClient",
    "Outcome",
    "ServerProcess",
    "connect_http",
    "connect_memory",
    "connect_stdio",
    "fault_proxy",
    "lint_tools",
    "raw_exchange",
    "start_server",
]

"""What an agent asks each server, and what it gets: a guided tour on bundled data, in under a minute.

    uv run docs/tour.py              every server that exists
    uv run docs/tour.py mergeway     one of them

Each server is started as its console script over stdio and driven by a real MCP client.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from mcpkit.isolation import seal_settings

seal_settings()

from fastmcp import Client  # noqa: E402 - after the settings are sealed
from fastmcp.client.transports import StdioTransport  # noqa: E402
from fastmcp.exceptions import McpError  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.json import JSON  # noqa: E402
from rich.panel import Panel  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
OUT = Console(highlight=False)


def script(name: str) -> str:
    """The console script of this environment, wherever the operating system puts it."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        sys.exit(f"{name} is not installed here; run `uv sync` first")
    return found


def shortened(value: Any, width: int = 68) -> Any:
    """The value with long texts and lists cut, for reading."""
    if isinstance(value, str):
        return value if len(value) <= width else value[: width - 1] + "…"
    if isinstance(value, list):
        rest = [f"… and {len(value) - 6} more"] if len(value) > 6 else []
        return [shortened(item) for item in value[:6]] + rest
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return value


class Agent:
    """Asks a server over a real client and prints the conversation."""

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def asks(self, why: str, tool: str, /, **arguments: Any) -> Any:
        """Print the question, call the tool, print the answer; returns the structured content."""
        OUT.print(f"\n[bold cyan]agent:[/] {why}")
        OUT.print(f"[dim]       {tool}({json.dumps(arguments, ensure_ascii=False)})[/]")
        began = time.perf_counter()
        try:
            result = await self._client.call_tool_mcp(tool, arguments)
        except McpError as error:
            kind = (error.error.data or {}).get("kind")
            OUT.print(f"[yellow]refused:[/] {error.error.code} {kind}: {error.error.message}")
            return None
        took = (time.perf_counter() - began) * 1_000
        style = "yellow" if result.is_error else "green"
        OUT.print(f"[{style}]answer in {took:.0f} ms:[/]")
        OUT.print(JSON.from_data(shortened(result.structured_content), indent=2, ensure_ascii=False))
        return result.structured_content


async def mergeway() -> None:
    """A service catalogue kept as YAML and JSON records."""
    with tempfile.TemporaryDirectory(prefix="tour-") as folder:
        catalogue = Path(folder, "catalogue")
        shutil.copytree(ROOT / "packages/mergeway-mcp/examples/service-catalogue", catalogue)
        began = time.perf_counter()
        log = Path(folder, "stderr.txt")  # a refused call's full text goes there; the answer says enough here
        transport = StdioTransport(script("mergeway-mcp"), ["--root", str(catalogue)], log_file=log)
        # The handshake of 2025 is answered before the framework is loaded; the 2026 era waits for it.
        async with Client(transport, mode="legacy") as client:
            tools = await client.list_tools()
            took = (time.perf_counter() - began) * 1_000
            OUT.print(f"started, handshake done, {len(tools)} tools listed after {took:.0f} ms:")
            for tool in tools:
                OUT.print(f"  [bold]{tool.name:18}[/] {tool.title}")

            agent = Agent(client)
            await agent.asks("What kinds of records are there?", "entity_list")
            await agent.asks(
                "Which components do the teams run? The first two will do.",
                "object_list",
                entity="Service",
                limit=2,
            )
            await agent.asks(
                "The payments alarm went off. Who owns it, and what does it need?",
                "object_get", entity="Service", id="payments", fields=["title", "owner", "tier", "depends_on"],
            )  # fmt: skip
            await agent.asks("Who carries the pager?", "object_get", entity="Rotation", id="payments-primary")
            await agent.asks(
                "What is there to read about it?",
                "repository_export",
                entities=["Runbook"],
                fields=["title", "about"],
            )
            await agent.asks(
                "Get me a record that nobody wrote.", "object_get", entity="Service", id="teleport"
            )

            OUT.print("\n[bold magenta]meanwhile:[/] somebody saves a new on-call rotation")
            rotations = catalogue / "on-call" / "rotations.json"
            text = rotations.read_text(encoding="utf-8")
            rotations.write_text(text.replace('["ines", "lucie"]', '["lucie", "ines"]'), encoding="utf-8")
            await agent.asks(
                "Who carries the pager now? (No restart.)",
                "object_get",
                entity="Rotation",
                id="payments-primary",
                fields=["weeks"],
            )

            OUT.print("\n[bold magenta]meanwhile:[/] somebody breaks a file")
            team = catalogue / "teams" / "search.yaml"
            team.write_text(team.read_text(encoding="utf-8") + "lead: [dev\n", encoding="utf-8")
            await agent.asks("Which teams are there?", "object_list", entity="Team")


STOPS: dict[str, Callable[[], Awaitable[None]]] = {"mergeway": mergeway}


async def main(names: list[str]) -> int:
    """Visit the servers named, or all of them."""
    unknown = [name for name in names if name not in STOPS]
    if unknown:
        OUT.print(f"no such stop: {', '.join(unknown)}; there are {', '.join(STOPS)}")
        return 2
    began = time.perf_counter()
    for name in names or list(STOPS):
        OUT.print(Panel(f"[bold]{name}-mcp[/]  {STOPS[name].__doc__}", expand=False))
        await STOPS[name]()
        OUT.print()
    OUT.print(f"[dim]The tour took {time.perf_counter() - began:.1f} s.[/]")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))

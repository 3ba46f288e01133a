"""What an agent asks each server, and what it gets: a guided tour on bundled data, in under a minute.

    uv run docs/tour.py              every server that exists
    uv run docs/tour.py mergeway     one of them

Each server is started as its console script over stdio and driven by a real MCP client.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
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

    async def asks(
        self, why: str, tool: str, /, show: Callable[[Any], Any] | None = None, **arguments: Any
    ) -> Any:
        """Print the question, call the tool, print the answer, or what `show` makes of it; returns the answer."""
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
        answer = result.structured_content
        shown = show(answer) if show else shortened(answer)
        OUT.print(JSON.from_data(shown, indent=2, ensure_ascii=False))
        return answer


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


def passages(envelope: Any) -> Any:
    """What a reader wants of a reply of ragit-mcp: where, how well, and what it says."""
    if not envelope["ok"]:
        return told(envelope)
    return [
        {
            "citation": "{path}:{lineStart}-{lineEnd}".format(**hit["citation"]),
            "score": round(hit["scoreFinal"], 2),
            "excerpt": " ".join(hit["excerpt"].split()),
        }
        for hit in envelope["data"]["hits"]
    ]


def told(envelope: Any) -> Any:
    """The error of a failed call."""
    return envelope.get("error", envelope)


async def ragit() -> None:
    """This repository's own documents, as of its last commit."""
    with tempfile.TemporaryDirectory(prefix="tour-") as folder:
        copy = str(Path(folder, "project"))
        began = time.perf_counter()
        for command in (
            ["git", "clone", "--quiet", "--local", str(ROOT), copy],
            [script("ragit"), "--cwd", copy, "init", "--yes"],
            [script("ragit"), "--cwd", copy, "ingest", "--all"],
        ):
            process = await asyncio.create_subprocess_exec(
                *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
            )
            if await process.wait():
                OUT.print("this stop needs git and the project as a git clone")
                return
        took = time.perf_counter() - began
        OUT.print(f"a human, once: [dim]ragit init --yes; ragit ingest --all[/] - indexed after {took:.1f} s")
        log = Path(folder, "stderr.txt")
        async with Client(StdioTransport(script("ragit-mcp"), ["--cwd", copy], log_file=log)) as client:
            agent = Agent(client)
            await agent.asks(
                "How can the handshake be answered before the framework is loaded?",
                "ragit_query", show=passages, question="answer the handshake before the framework is loaded", topK=3,
            )  # fmt: skip
            await agent.asks(
                "What should I read before I touch the release workflow? 120 words at most.",
                "ragit_context_pack", show=passages, goal="change the release workflow", budget=120,
            )  # fmt: skip
            await agent.asks(
                "And in a commit that nobody indexed?",
                "ragit_query",
                question="handshake",
                at="0000000",
                show=told,
            )


@asynccontextmanager
async def local_mergestorm(home: Path) -> AsyncIterator[dict[str, Any]]:
    """A Mergestorm of its own on this machine, two hundred times as fast as life; what it says of itself."""
    process = await asyncio.create_subprocess_exec(
        *(script("mergestorm-local"), "serve", "--json", "--speed", "200"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **dict.fromkeys(("HOME", "USERPROFILE", "XDG_RUNTIME_DIR"), str(home))},
    )
    try:
        assert process.stdout is not None
        yield json.loads(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()


def git(checkout: Path, *words: str) -> str:
    """Plain git, as a developer uses it; nobody's configuration is read."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    names = ["-c", "user.name=Ada Tide", "-c", "user.email=ada@example.invalid"]
    done = subprocess.run(
        ["git", *names, *words], cwd=checkout, env={**os.environ, **nobody}, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def saves(checkout: Path, path: str, text: str, message: str) -> None:
    """The agent writes a file and commits it."""
    (checkout / path).write_text(text, encoding="utf-8")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "-m", message)
    OUT.print(f"\n[bold magenta]agent:[/] commits {path}: [dim]{text.strip()}[/]")


async def until(agent: Agent, why: str, watch: dict[str, Any]) -> Any:
    """Call what every answer says to call next, until something needs the agent or the stack is done."""
    following = watch["next"]
    while True:
        answer = await agent.asks(why, following["tool"], show=where_it_stands, **following["args"])
        if answer is None or answer["watch"]["done"] or answer["status"] == "attention":
            return answer
        why, following = "Nothing to do yet. The answer says how to go on waiting.", answer["watch"]["next"]


def where_it_stands(answer: Any) -> Any:
    """What an agent acts on in the answer of a wait."""
    kept = {name: answer[name] for name in ("status", "blocker", "prNumber", "headSha") if answer.get(name)}
    return shortened({**kept, "watch": {name: answer["watch"][name] for name in ("done", "reason")}})


async def mergestorm() -> None:
    """A branch is published, reviewed, mended and landed, on a Mergestorm that is started for it."""
    with tempfile.TemporaryDirectory(prefix="tour-") as folder:
        home, checkout = Path(tempfile.mkdtemp(dir=folder)), Path(folder, "tidepool")
        began = time.perf_counter()
        async with local_mergestorm(home) as service:
            [(name, origin)] = service["repositories"].items()
            [key] = service["keys"].values()
            took = time.perf_counter() - began
            OUT.print(
                f"a human, once: [dim]mergestorm-local serve[/] - there after {took:.1f} s, with {name} in it"
            )
            git(Path(folder), "clone", "--quiet", origin, str(checkout))
            git(checkout, "remote", "set-url", "origin", f"https://github.com/{name}.git")
            git(checkout, "checkout", "--quiet", "-b", "moon-phase")
            saves(checkout, "moon.py", "phase = eval(text)\n", "Tell the phase of the moon")
            variables = {"MERGESTORM_API_URL": service["url"], "MERGESTORM_API_KEY": key}
            transport = StdioTransport(
                script("mergestorm-mcp"),
                [],
                env={**variables, "HOME": str(home), "USERPROFILE": str(home)},
                cwd=str(checkout),
                log_file=Path(folder, "stderr.txt"),
            )
            async with Client(transport, mode="legacy") as client:
                await publish_and_land(Agent(client), checkout, name)
            OUT.print(f"\non main now: [dim]{git(checkout, '--git-dir', origin, 'show', 'main:moon.py')}[/]")


async def publish_and_land(agent: Agent, checkout: Path, name: str) -> None:
    """From a local commit to the trunk."""

    def published(answer: Any) -> Any:
        return shortened({
            part: answer[part] for part in ("state", "resumed", "branch", "head", "pull", "stack")
        })

    first = await agent.asks(
        "Publish this branch: on GitHub, as a pull request, and watched until it lands. I have no credentials.",
        "stack_publish", show=published,
    )  # fmt: skip
    held = await until(agent, "Wait until it needs me.", first["watch"])
    owner, _, repo = name.partition("/")
    await agent.asks(
        "Something is in the way. What did the review find?",
        "review_wait_pr", owner=owner, repo=repo, pr_number=held["prNumber"], after_sha=held["headSha"],
        show=lambda answer: shortened(answer["findings"]["inline"]),
    )  # fmt: skip
    saves(checkout, "moon.py", "phase = int(text)\n", "Read the phase as a number")
    again = await agent.asks("Right. Publish the fix.", "stack_publish", show=published)
    await until(agent, "And now?", again["watch"])


STOPS: dict[str, Callable[[], Awaitable[None]]] = {
    "mergeway": mergeway,
    "ragit": ragit,
    "mergestorm": mergestorm,
}


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

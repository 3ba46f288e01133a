"""What the commands of `mergestorm-local` do."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import signal
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

from mcpkit.git import GitError
from mcpkit.stdio.watch import SIGNALS
from mergestorm_mcp.service.accounts.keys import account_named, add_key, create_account
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.cli import DEFAULT_SCENARIO, EMPTY
from mergestorm_mcp.service.data_folder import FolderInUse, NotOurs, data_folder
from mergestorm_mcp.service.http.serving import serving
from mergestorm_mcp.service.pace import Pace
from mergestorm_mcp.service.scenarios import Scenario, ScenarioError, load, names, seed
from mergestorm_mcp.service.started import announced, find_started
from mergestorm_mcp.service.store import StoreError
from mergestorm_mcp.service.world import World

__all__ = ["StartProblem", "UsageProblem", "scenarios", "serve", "ui"]

_EMPTY_LOGIN: Final = "you"


class UsageProblem(Exception):
    """The command names something that is wrong: exit code 2."""


class StartProblem(Exception):
    """The service cannot start: exit code 1."""


def serve(values: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; a second one ends at once. Returns the exit code."""
    try:
        wanted = values.scenario or DEFAULT_SCENARIO
        scenario = None if wanted == EMPTY else load(wanted)
    except ScenarioError as error:
        raise UsageProblem(str(error)) from None
    try:
        with data_folder(values.data) as folder, _world(folder, values.speed) as world:
            told = _seeded(world, scenario)
            asyncio.run(_serve(world, values, told | {"data": str(folder)}))
    except (NotOurs, ScenarioError) as error:
        raise UsageProblem(str(error)) from None
    except (FolderInUse, StoreError) as error:
        raise StartProblem(str(error)) from None
    except GitError as error:
        raise StartProblem(f"cannot start: {error.reason}") from None
    except OSError as error:
        raise StartProblem(f"cannot start: {error.strerror or error}") from None
    return 0


def scenarios(values: argparse.Namespace) -> int:
    """List the bundled scenarios. Returns the exit code."""
    found = [{"name": name, "title": load(name).title} for name in names()]
    if values.as_json:
        _document({"scenarios": found})
        return 0
    width = max((len(each["name"]) for each in found), default=0)
    for each in found:
        _line(f"{each['name']:<{width}}  {each['title']}")
    return 0


def ui(values: argparse.Namespace) -> int:
    """Open the page of a running service, or print its link. Returns the exit code."""
    found = find_started(values.port)
    if found is None:
        raise StartProblem("no service runs here; start one with `mergestorm-local serve`")
    if values.as_json:
        _document(found)
        return 0
    _line(found["page"])
    if not values.only_print:
        webbrowser.open(found["page"])
    return 0


@contextmanager
def _world(folder: Path, speed: float) -> Iterator[World]:
    world = build(folder, Pace(scale=speed))
    try:
        yield world
    finally:
        world.store.close()


def _seeded(world: World, scenario: Scenario | None) -> dict[str, Any]:
    """What the service holds now: title, keys that are shown now and never again."""
    if scenario is not None:
        seeded = seed(world, scenario)
        return {
            "scenario": seeded.title,
            "about": scenario.about if seeded.keys else "",
            "keys": dict(seeded.keys),
        }
    with world.store.write() as connection:
        if connection.execute("SELECT 1 FROM accounts").fetchone() is not None:
            return {"scenario": EMPTY, "keys": {}}
        create_account(world, connection, _EMPTY_LOGIN)
        account = account_named(connection, _EMPTY_LOGIN)
        assert account is not None  # noqa: S101 - made just now
        return {"scenario": EMPTY, "keys": {_EMPTY_LOGIN: add_key(world, connection, account["id"], "serve")}}


async def _serve(world: World, values: argparse.Namespace, told: dict[str, Any]) -> None:
    end = asyncio.Event()
    with _signals(asyncio.get_running_loop(), end):
        async with serving(world, port=values.port) as url:
            page = f"{url}/enter?token={world.run_token}"
            told = {
                "url": url,
                "page": page,
                **told,
                "speed": values.speed,
                "repositories": await asyncio.to_thread(_repositories, world),
            }
            about = told.pop("about", "")
            with announced(url, page):
                if values.as_json:
                    _document(told)
                else:
                    _tell(told, about)
                await end.wait()


def _repositories(world: World) -> dict[str, str]:
    with world.store.read() as connection:
        return {
            found.full_name: str(world.hub.root / found.path) for found in world.hub.repositories(connection)
        }


def _tell(told: dict[str, Any], about: str) -> None:
    _line(f"Mergestorm runs at {told['url']} ({told['scenario']}, {told['speed']:g} times as fast as life).")
    if about.strip():
        _line("")
        for line in about.strip().splitlines():
            _line(f"  {line}")
        _line("")
    _line(f"Its page: {told['page']}")
    for name, path in told["repositories"].items():
        _line(f"Repository {name}: git clone {path}")
    if not told["keys"]:
        _line(f"Its keys are those it was first started with; `{_mg()} login` makes another.")
    for login, key in told["keys"].items():
        _line(f"Key of {login}: {key}")
    _line("")
    _line("In the shell of your client:")
    _line(f"  export MERGESTORM_API_URL={told['url']}")
    _line(f"  export MERGESTORM_API_KEY={next(iter(told['keys'].values()), 'YOUR-KEY')}")
    _line(f"  {_mg()} whoami")
    repository = next(iter(told["repositories"]), None)
    if repository is not None:
        _line("")
        _line("In a clone, whose origin is a folder, name the repository:")
        _line(f"  {_mg()} stack publish --repo {repository}")
    _line("")
    _line("Ctrl+C stops it.")


def _mg() -> str:
    """How the command line is called here: a service that `uvx` runs leaves no `mg` on the path."""
    return "mg" if shutil.which("mg") else "uvx --from mergestorm-mcp mg"


def _document(value: dict[str, Any]) -> None:
    _line(json.dumps(value))


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, end: asyncio.Event) -> Iterator[None]:
    """Let the first signal to stop set `end`; the second one ends the process as it would have at once."""
    before: dict[int, Any] = {}

    def stop(number: int, _frame: FrameType | None) -> None:
        for each in before:
            signal.signal(each, signal.SIG_DFL)
        loop.call_soon_threadsafe(end.set)

    for number in SIGNALS:
        before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)

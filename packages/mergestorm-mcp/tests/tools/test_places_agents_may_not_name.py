"""Every tool that takes `cwd`, over MCP: a place outside the sandbox is refused by whatever way it is named, unsent."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_memory
from mergestorm_mcp import checkout as checkout_module
from mergestorm_mcp.config import Environment

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name == "nt", reason="links and pipes need a privilege, or are not there"),
]

TOOLS: dict[str, dict[str, Any]] = {
    "review_submit": {},
    "stack_publish": {},
    "stack_publish_status": {},
    "issue_create": {"title": "t"},
}
PLACES = (
    "..",
    "../outside",
    "../outside/foreign",
    "sub/../../outside/foreign",
    "/",
    "way-out",
    "way-out/foreign",
    "twice",
    "loop",
    "pipe",
    "tide.txt",
    "nowhere",
    "/proc/self/root",
    "../WORK",
    "~",
)


@pytest.fixture
def foreign(folders: dict[str, str], make_checkout: Callable[..., Any]) -> Any:
    """A repository outside the sandbox, with a branch that could be published."""
    made = make_checkout(Path(folders["outside"], "foreign"))
    made.commit({"secret.txt": b"outside\n"}, "first")
    made.git("remote", "add", "origin", "git@github.com:kestrel-labs/tidepool.git")
    made.git("checkout", "--quiet", "-b", "topic")
    made.commit({"secret.txt": b"outside, changed\n"})
    return made


@pytest.fixture
def trapped(checkout: Any, foreign: Any, folders: dict[str, str]) -> Path:
    """The working directory with links and other things that are no directories of it."""
    checkout.commit({"sub/x": b"1\n"})
    work = Path(folders["work"])
    (work / "way-out").symlink_to(folders["outside"])
    (work / "twice").symlink_to("way-out/foreign")
    (work / "loop").symlink_to("loop")
    os.mkfifo(work / "pipe")
    return work


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_place_outside_is_refused_however_it_is_named(
    trapped: Path, server: Any, service: Any, tool: str
) -> None:
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        for place in PLACES:
            outcome = await client.call(tool, {**TOOLS[tool], "cwd": place})
            assert outcome.result["isError"] is True, place
            assert outcome.structured["error"]["code"] == "usage", place
            assert outcome.structured["error"]["exit_code"] == 2, place
            assert "outside, changed" not in str(outcome.result)
    assert script.leftovers() == []


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_repository_that_keeps_its_data_outside_is_refused(
    trapped: Path, foreign: Any, server: Any, service: Any, tool: str
) -> None:
    borrowed, pointed, alternate = (trapped / name for name in ("borrowed", "pointed", "alternate"))
    borrowed.mkdir()
    (borrowed / ".git").symlink_to(foreign.path / ".git")
    pointed.mkdir()
    (pointed / ".git").write_text(f"gitdir: {foreign.path / '.git'}\n", encoding="utf-8")
    foreign.git("clone", "--quiet", "--shared", ".", str(alternate))
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        for place in (borrowed, pointed, alternate):
            outcome = await client.call(tool, {**TOOLS[tool], "cwd": str(place)})
            assert outcome.structured["error"]["code"] == "outside_sandbox", place
    assert script.leftovers() == []


@pytest.mark.parametrize("tool", TOOLS)
async def test_a_place_exchanged_for_a_link_after_it_was_checked_is_refused(
    trapped: Path, foreign: Any, server: Any, service: Any, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mergestorm_mcp.sandbox import directory_inside as checked

    def exchange(environment: Environment, cwd: str | None) -> str:
        place = checked(environment, cwd)
        if os.path.basename(place) == "sub" and not os.path.islink(place):
            (trapped / "sub").rename(trapped / "was")
            (trapped / "sub").symlink_to(foreign.path)
        return place

    monkeypatch.setattr(checkout_module, "directory_inside", exchange)
    script = service.play([])
    async with connect_memory(server()) as client:
        await client.initialize()
        outcome = await client.call(tool, {**TOOLS[tool], "cwd": "sub"})
    assert (trapped / "sub").is_symlink()
    assert outcome.structured["error"]["code"] == "outside_sandbox"
    assert script.leftovers() == []


async def test_one_directory_under_two_names_is_one_place(
    trapped: Path, server: Any, runtime: Any, service: Any, folders: dict[str, str]
) -> None:
    alias = os.path.join(folders["outside"], "alias")
    os.symlink(trapped, alias)
    variables = {**runtime.environment.variables, "MERGESTORM_SANDBOX_ROOT": alias}
    environment = Environment(variables, folders["home"], folders["outside"])
    state = {"state": "absent", "owner": "kestrel-labs", "repo": "tidepool", "branch": "topic"}
    exchange = {
        "expect": {
            "method": "GET",
            "path": "/api/v1/stacks/publish",
            "query": {"owner": "kestrel-labs", "repo": "tidepool", "branch": "topic"},
        },
        "respond": {"status": 200, "body": {**state, "head": None, "pull": None, "stack": None}},
    }
    async with connect_memory(server(environment)) as client:
        await client.initialize()
        for place in (alias, str(trapped), f"{alias}/sub", f"{trapped}/sub"):
            service.play([exchange])
            outcome = await client.call("stack_publish_status", {"cwd": place})
            assert outcome.structured["state"] == "absent", place

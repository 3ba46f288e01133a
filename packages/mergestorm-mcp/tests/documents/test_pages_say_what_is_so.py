"""The pages about mergestorm say what is so: arguments, variables, numbers, lines and configurations of clients."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mergestorm_mcp
from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface
from mergestorm_mcp.main import SURFACE
from mergestorm_mcp.server import TOOL_ORDER
from mergestorm_mcp.stacks import agents, obligation, seam_gate, watch, watch_loop
from mergestorm_mcp.stacks.verdicts import NO_RUN_CLEARS

DOCS = Path(__file__).parents[4] / "docs"
PAGES = DOCS / "mergestorm"
SOURCE = Path(mergestorm_mcp.__file__).parent
TOOLS: dict[str, dict[str, Any]] = {
    tool["name"]: tool for tool in Surface.load(SURFACE).tools_list(LATEST_HANDSHAKE_VERSION)["tools"]
}

pytestmark = pytest.mark.skipif(not PAGES.exists(), reason="the documentation is not part of this copy")


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def source() -> str:
    return "\n".join(place.read_text(encoding="utf-8") for place in sorted(SOURCE.rglob("*.py")))


def test_the_inputs_of_the_tools_page_are_what_the_server_lists(examples: ModuleType) -> None:
    # To write them anew: uv run docs/mergestorm_examples.py --inputs
    assert examples.with_inputs(page("tools")) == page("tools")


def test_the_tools_page_has_a_section_for_each_tool_in_order() -> None:
    assert tuple(re.findall(r"^## (\w+)$", page("tools"), re.MULTILINE)) == TOOL_ORDER


def test_the_examples_call_every_tool_once(examples: ModuleType) -> None:
    told = [tool for tool, _ in examples.STORY]
    assert sorted(told) == sorted(TOOL_ORDER)


@pytest.mark.parametrize("tool", TOOL_ORDER)
def test_an_example_is_of_its_tool_and_names_only_its_arguments(examples: ModuleType, tool: str) -> None:
    (section,) = re.findall(rf"<!-- example {tool} -->\n(.*?)<!-- /example -->", page("tools"), re.DOTALL)
    known = examples.Known("o", "r", "/checkout")
    arguments = [dict(examples.STORY)[tool](known)]
    arguments += [json.loads(text)["arguments"] for text in re.findall(r'title="request"\n(.*)\n', section)]
    for given in arguments:
        schema = TOOLS[tool]["inputSchema"]
        assert set(given) <= set(schema["properties"])
        assert set(schema.get("required", [])) <= set(given)
    for text in re.findall(r'title="reply"\n(.*?)\n```', section, re.DOTALL):
        assert set(json.loads(text)) <= set(TOOLS[tool]["outputSchema"]["properties"])


def test_every_page_names_variables_that_exist() -> None:
    text = source()
    for place in sorted(PAGES.glob("*.md")):
        named = set(re.findall(r"\bMERGESTORM_[A-Z_]+", place.read_text(encoding="utf-8")))
        assert [name for name in sorted(named) if name not in text] == [], place.name


def test_every_variable_of_the_source_is_on_the_page_of_security() -> None:
    used = {
        name
        for name in re.findall(r"\bMERGESTORM_[A-Z_]+", source())
        if not name.startswith("MERGESTORM_LOCAL")
    }
    assert [name for name in sorted(used) if f"| `{name}` |" not in page("security")] == []


@pytest.mark.parametrize("name", sorted(place.stem for place in PAGES.glob("*.md")))
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    links = re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", page(name))
    assert [link for link in links if not (PAGES / link).exists()] == []


def test_configurations_of_clients_can_be_read_and_start_the_server() -> None:
    text = page("clients")
    started = [json.loads(block) for block in blocks(text, "json")] + [
        tomllib.loads(block) for block in blocks(text, "toml")
    ]
    assert len(started) == 5
    for found in started:
        (servers,) = [found[name] for name in ("mcpServers", "servers", "mcp_servers") if name in found]
        server = servers["mergestorm"]
        assert [server["command"], *server["args"]] == ["uvx", "mergestorm-mcp"]
        assert "MERGESTORM_SANDBOX_ROOT" in server["env"]
    commands = re.findall(r"^(?:codex|claude) mcp add .*$", text, re.MULTILINE)
    assert [command.split(" -- ")[1] for command in commands] == ["uvx mergestorm-mcp"] * 2


def test_the_limits_that_clients_are_told_hold_a_wait() -> None:
    codex = tomllib.loads(blocks(page("clients"), "toml")[0])["mcp_servers"]["mergestorm"]
    longest = obligation.SLICE_SECONDS + watch.SNAPSHOT_SECONDS + watch.HOLD_GRACE_SECONDS
    assert codex["tool_timeout_sec"] > longest
    assert (
        TOOLS["stack_wait"]["inputSchema"]["properties"]["timeout_s"]["maximum"] == obligation.SLICE_SECONDS
    )


def test_the_numbers_of_the_watch_are_the_source_s() -> None:
    text = " ".join(page("watch").split())
    assert agents.QUEUED_RUN_SECONDS == 15 * 60
    assert "| a queued Vortex run | 15 minutes at most |" in text
    assert agents.ENQUEUE_GRACE_SECONDS == 2 * 60
    assert "| a repair that Cyclone announced | two minutes |" in text
    assert (watch.HOLD_SECONDS, watch.BUSY_HOLD_SECONDS) == (45, 15)
    assert "for up to 45 seconds (15 while agents are busy)" in text
    assert watch.UNCHANGED_INTERVAL_SECONDS == 2
    assert "asked every two seconds" in text
    assert watch.SNAPSHOT_SECONDS == 5
    assert "within one read of at most five seconds" in text
    assert (watch_loop.PERMANENT_PAUSE_SECONDS, watch_loop.TRANSIENT_SECONDS) == (15, 15 * 60)
    assert "once more after 15 seconds, what may pass by itself for a quarter of an hour" in text


def test_the_lines_of_the_watch_are_those_the_loop_prints() -> None:
    (told,) = blocks(page("watch"), "text")
    assert blocks(page("cli"), "text") == [told]
    kinds = {line.split()[1] for line in told.splitlines()}
    assert kinds == set(
        re.findall(r"MS-WATCH ([A-Z]+)", (SOURCE / "stacks" / "watch_loop.py").read_text("utf-8"))
    )


def test_the_blockers_that_no_run_clears_are_told() -> None:
    text = page("watch")
    assert len(NO_RUN_CLEARS) == 11
    stuck = re.findall(
        r'"(Seam [^"]*no review running)"', Path(seam_gate.__file__).read_text(encoding="utf-8")
    )
    assert len(set(stuck)) == 4
    assert [label for label in stuck if label not in text] == []


def test_the_diagram_names_every_status_and_every_end() -> None:
    (diagram,) = blocks(page("watch"), "mermaid")
    pairs = re.findall(r"^ *(\S+) --> ([^\s:]+)", diagram, re.MULTILINE)
    states = {name for pair in pairs for name in pair} - {"[*]"}
    statuses = {"attention", "waiting", "in_progress", "rate_limited", "failed"}
    assert states == statuses | set(obligation._DONE)

"""The documents say what is: examples are replayed, and every kind of error has its line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcpkit import messages
from mcpkit.http.faults import FAULTS
from mcpkit.testing import connect_memory
from mergeway_mcp.main import COMMAND_LINE
from mergeway_mcp.repository import Repository, errors
from mergeway_mcp.tools import create

PROJECT = Path(__file__).parents[4]
DOCUMENTS = PROJECT / "docs" / "mergeway"
CATALOGUE = PROJECT / "packages" / "mergeway-mcp" / "examples" / "service-catalogue"

BLOCKS = re.findall(
    r'```json title="(request|reply)"\n(.*?)\n```',
    (DOCUMENTS / "tools.md").read_text(encoding="utf-8"),
    re.DOTALL,
)
EXAMPLES = [(BLOCKS[at][1], BLOCKS[at + 1][1]) for at in range(0, len(BLOCKS), 2)]


def test_the_examples_of_the_tools_page_come_in_pairs() -> None:
    assert [kind for kind, _ in BLOCKS] == ["request", "reply"] * len(EXAMPLES)
    asked = {json.loads(request)["name"] for request, _ in EXAMPLES}
    assert len(asked) == 6


@pytest.mark.anyio
@pytest.mark.parametrize(("request_text", "reply_text"), EXAMPLES)
async def test_an_example_of_the_tools_page_is_what_the_server_replies(
    request_text: str, reply_text: str
) -> None:
    request = json.loads(request_text)
    async with connect_memory(create(Repository(str(CATALOGUE)))) as client:
        await client.initialize()
        outcome = await client.call(request["name"], request["arguments"])
    reply: Any = outcome.error or outcome.structured
    if "nextCursor" in reply:
        reply["nextCursor"] = "(opaque)"
    here = json.dumps(str(CATALOGUE))[1:-1]
    assert json.loads(json.dumps(reply, ensure_ascii=False).replace(here, "/catalogue")) == json.loads(
        reply_text
    )


def kinds() -> set[str]:
    engine = {
        value.kind
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, errors.EngineError)
        and value is not errors.EngineError
    }
    return engine | set(FAULTS) | set(messages._FAULTS)


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_kind_of_error_is_in_the_documents(kind: str) -> None:
    assert f"`{kind}`" in (DOCUMENTS / "errors.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", re.findall(r"^  (--[a-z-]+)", COMMAND_LINE.usage(), re.MULTILINE))
def test_every_flag_is_in_the_documents(flag: str) -> None:
    assert f"`{flag}" in (DOCUMENTS / "transport.md").read_text(encoding="utf-8")

"""`limit`, `cursor` and `fields`: ours, absent by default."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import Client, connect_memory
from mergeway_mcp.repository import Repository
from mergeway_mcp.tools import create

pytestmark = pytest.mark.anyio

CONFIGURATION = """\
mergeway: {version: 1}
entities:
  Apple: {identifier: id, include: ['apples/*.yaml'], fields: {id: string, note: string}}
  Empty: {identifier: id, include: ['none/*.yaml'], fields: {id: string}}
  Pear: {identifier: id, include: ['pears.json'], fields: {id: string}}
  Quince: {identifier: id, include: ['none/*.json'], fields: {id: string}}
"""
APPLES = 7
PEARS = 4


@pytest.fixture
def orchard(write_repository: Callable[[Mapping[str, str]], Path]) -> Path:
    files = {"mergeway.yaml": CONFIGURATION}
    for number in range(APPLES):
        files[f"apples/{number}.yaml"] = f"id: a{number}\nnote: n{number}\n"
    files["pears.json"] = json.dumps({"items": [{"id": f"p{number}"} for number in range(PEARS)]})
    return write_repository(files)


async def pages(client: Client, tool: str, **arguments: Any) -> list[Any]:
    """Every page of an answer, following `nextCursor`."""
    found = []
    while True:
        answer = (await client.call(tool, arguments)).structured
        found.append(answer)
        if "nextCursor" not in answer:
            return found
        arguments["cursor"] = answer["nextCursor"]


def without_cursor(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name != "nextCursor"}


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 10**6, 2.0])
@pytest.mark.parametrize(
    ("tool", "arguments", "member"),
    [
        ("object_list", {"entity": "Apple"}, "objects"),
        ("files_list", {}, "files"),
        ("files_list", {"entity": "Pear"}, "files"),
    ],
)
async def test_the_pages_of_a_list_are_the_list(
    orchard: Path, tool: str, arguments: dict[str, Any], member: str, limit: float
) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        whole = (await client.call(tool, arguments)).structured
        cut = await pages(client, tool, limit=limit, **arguments)
    assert "nextCursor" not in whole
    assert [entry for page in cut for entry in page[member]] == whole[member]
    assert all(0 < len(page[member]) <= limit for page in cut)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 10, 11, 12])
@pytest.mark.parametrize("entities", [None, ["Pear", "Apple"], ["Empty"], ["Empty", "Quince", "Pear"]])
async def test_the_pages_of_an_export_are_the_export(
    orchard: Path, entities: list[str] | None, limit: int
) -> None:
    arguments: dict[str, Any] = {} if entities is None else {"entities": entities}
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        whole = (await client.call("repository_export", arguments)).structured["entities"]
        cut = await pages(client, "repository_export", limit=limit, **arguments)
    joined: dict[str, list[Any]] = {}
    for page in cut:
        for name, records in page["entities"].items():
            joined.setdefault(name, []).extend(records)
    assert joined == whole
    assert all(sum(map(len, page["entities"].values())) <= limit for page in cut)


async def test_a_cursor_remembers_the_limit_it_was_made_with(orchard: Path) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        first = (await client.call("object_list", {"entity": "Apple", "limit": 3})).structured
        second = (
            await client.call("object_list", {"entity": "Apple", "cursor": first["nextCursor"]})
        ).structured
    assert [entry["id"] for entry in second["objects"]] == ["a3", "a4", "a5"]


async def test_a_cursor_is_stale_once_a_file_has_changed(orchard: Path) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        first = (await client.call("object_list", {"entity": "Apple", "limit": 3})).structured
        (orchard / "pears.json").write_text('{"items": []}', encoding="utf-8")
        arguments = {"entity": "Apple", "limit": 3, "cursor": first["nextCursor"]}
        refused = await client.call("object_list", arguments)
        fresh = await client.call("object_list", {"entity": "Apple", "limit": 3})
    assert (refused.code, refused.kind) == (-32602, "invalid_arguments")
    assert fresh.ok


def forged(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "é",
        "=" * 5000,
        forged([]),
        forged({"a": 1}),
        forged(["a", "b", -1, 3]),
        forged(["a", "b", True, 3]),
        forged(["a", "b", 0, 0]),
        forged(["a", "b", 0, 10**9]),
        "WwpbWwpb" * 200,
    ],
)
@pytest.mark.parametrize("tool", ["object_list", "files_list", "repository_export"])
async def test_a_cursor_that_is_none_of_ours_is_refused(orchard: Path, tool: str, cursor: str) -> None:
    arguments = {"cursor": cursor, **({"entity": "Apple"} if tool == "object_list" else {})}
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        outcome = await client.call(tool, arguments)
    assert (outcome.code, outcome.kind) == (-32602, "invalid_arguments")


async def test_a_cursor_of_another_call_is_refused(orchard: Path) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        made = (await client.call("object_list", {"entity": "Apple", "limit": 1})).structured["nextCursor"]
        others = [
            await client.call("object_list", {"entity": "Pear", "limit": 1, "cursor": made}),
            await client.call("files_list", {"limit": 1, "cursor": made}),
        ]
    assert [(outcome.code, outcome.kind) for outcome in others] == [(-32602, "invalid_arguments")] * 2


@pytest.mark.parametrize("limit", [0, -1, 1.5, "10", True, None])
async def test_a_limit_that_is_no_positive_integer_is_an_argument_error(orchard: Path, limit: Any) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        outcome = await client.call("object_list", {"entity": "Apple", "limit": limit})
    assert outcome.tool_error is not None
    assert (outcome.tool_error["kind"], outcome.tool_error["field"]) == ("invalid_arguments", "limit")


async def test_fields_choose_what_is_returned_and_unknown_ones_are_ignored(orchard: Path) -> None:
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        one = await client.call("object_get", {"entity": "Apple", "id": "a1", "fields": ["note", "taste"]})
        none = await client.call("object_get", {"entity": "Apple", "id": "a1", "fields": []})
        some = await client.call("repository_export", {"entities": ["Apple"], "fields": ["id"], "limit": 2})
    assert one.structured["object"]["fields"] == {"note": "n1"}
    assert none.structured["object"]["fields"] == {}
    assert some.structured["entities"] == {"Apple": [{"id": "a0"}, {"id": "a1"}]}


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "entity"),
        ({"entity": 5}, "entity"),
        ({"entity": None}, "entity"),
        ({"entity": "Apple", "surprise": "hunter2"}, "surprise"),
        ({"entity": "Apple", "id": ["hunter2"]}, "id"),
    ],
)
async def test_an_argument_error_names_field_and_reason_and_never_the_value(
    orchard: Path, arguments: dict[str, Any], field: str
) -> None:
    if field != "entity":
        arguments = {"id": "a1", **arguments}
    async with connect_memory(create(Repository(str(orchard)))) as client:
        await client.initialize()
        outcome = await client.call("object_get", arguments)
    assert outcome.tool_error is not None
    assert (outcome.tool_error["kind"], outcome.tool_error["field"]) == ("invalid_arguments", field)
    assert outcome.tool_error["reason"]
    assert "hunter2" not in json.dumps(outcome.reply)

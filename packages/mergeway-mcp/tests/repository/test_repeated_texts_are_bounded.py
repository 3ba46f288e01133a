"""A small file cannot ask for a huge reply by naming one long text many times.

In memory such texts are shared, so that loading shows nothing; a reply has to spell each of them out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mergeway_mcp.repository import Repository, RepositoryError

Write = Callable[[Mapping[str, str | bytes]], Path]
LONG = "x" * 100_000
CONFIG = "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*'], fields: {id: string}}\n"
BY_SCHEMA = (
    "mergeway: {version: 1}\nentities:\n  K: {identifier: id, include: ['d/*'], json_schema: s.json}\n"
)
# Enough values beside the aliases to stay below every bound on their number.
PADDING = "pad: [" + "0, " * 200 + "0]\n"


def aliases(count: int, text: str) -> str:
    return f'id: a\ntext: &t "{text}"\nlist: [{", ".join(["*t"] * count)}]\n{PADDING}'


def nested_aliases(text: str) -> str:
    return f'id: a\ntext: &t ["{text}"]\ntexts: &u [{", ".join(["*t"] * 20)}]\nall: [{", ".join(["*u"] * 20)}]\n{PADDING}'


def anchored_keys(count: int, text: str) -> str:
    maps = ", ".join(["{*t : 1}"] * count)
    return f'id: a\ntext: &t "{text}"\nlist: [{maps}]\n{PADDING}'


@pytest.mark.parametrize(
    "record",
    [aliases(500, LONG), nested_aliases(LONG), anchored_keys(500, LONG)],
    ids=["list", "nested", "keys"],
)
def test_aliases_of_a_long_text_are_refused(write_repository: Write, record: str) -> None:
    root = write_repository({"mergeway.yaml": CONFIG, "d/a.yaml": record})
    with pytest.raises(RepositoryError) as caught:
        Repository(str(root)).snapshot()
    assert caught.value.kind == "repository_error"
    assert len(str(caught.value)) < 500


def test_aliases_of_a_long_text_in_the_configuration_are_refused(write_repository: Write) -> None:
    fields = ", ".join(f"f{number}: *f" for number in range(500))
    config = (
        "mergeway: {version: 1}\nentities:\n  K:\n    identifier: id\n    include: ['d/*']\n"
        f"    fields: {{id: string, f: &f {{type: string, description: {LONG}}}, {fields}}}\n{PADDING}"
    )
    with pytest.raises(RepositoryError):
        Repository(str(write_repository({"mergeway.yaml": config}))).load_config()


def test_a_text_that_is_repeated_moderately_is_served(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": CONFIG,
        "d/a.yaml": aliases(15, LONG),
        "d/b.yaml": aliases(500, "short"),
    })
    record = Repository(str(root)).snapshot().get("K", "a")["fields"]
    assert record["list"] == [LONG] * 15


def schema(count: int, definition: object) -> str:
    properties = {"id": {"type": "string"}} | {f"f{number}": {"$ref": "#/d"} for number in range(count)}
    return json.dumps({"properties": properties, "d": definition})


LONG_FIELD = {"type": "string", "description": LONG}


@pytest.mark.parametrize(
    "definition",
    [
        LONG_FIELD,
        {"type": "object", "properties": {"inner": LONG_FIELD}},
        {"type": "array", "items": {"enum": [LONG, "y"]}},
        {"type": "string", "default": LONG},
    ],
    ids=["description", "property", "enum", "default"],
)
def test_references_to_a_long_schema_are_refused(write_repository: Write, definition: object) -> None:
    root = write_repository({"mergeway.yaml": BY_SCHEMA, "s.json": schema(500, definition)})
    with pytest.raises(RepositoryError):
        Repository(str(root)).load_config()


def test_references_to_a_short_schema_are_served(write_repository: Write) -> None:
    root = write_repository({
        "mergeway.yaml": BY_SCHEMA,
        "s.json": schema(2_000, {"type": "string", "description": "d"}),
    })
    assert len(Repository(str(root)).load_config().entities["K"].fields) == 2_001

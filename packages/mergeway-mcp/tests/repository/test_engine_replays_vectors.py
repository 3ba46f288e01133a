"""Every recorded call, made on the engine itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mergeway_mcp.repository import EngineError, Repository, RepositoryError, require_argument

CODES = {"repository_error": -32603}


def call(repository: Repository, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """One tool call as the server makes it, as an outcome in the vectors' form."""
    try:
        for name in ("entity", "id"):
            if tool != "files_list" and name in arguments:
                require_argument(name, arguments[name])
        snapshot = repository.snapshot()
        match tool:
            case "entity_list":
                result: dict[str, Any] = {"entities": snapshot.entity_names()}
            case "entity_show":
                result = {
                    "entity": arguments["entity"],
                    "schema": snapshot.entity_schema(arguments["entity"]),
                }
            case "object_list":
                result = {"entity": arguments["entity"], "objects": snapshot.objects(arguments["entity"])}
            case "object_get":
                result = {"object": snapshot.get(arguments["entity"], arguments["id"])}
            case "repository_export":
                result = {"entities": snapshot.export(arguments.get("entities"))}
            case "files_list":
                result = {"files": snapshot.files(arguments.get("entity"))}
            case _:
                raise AssertionError(tool)
    except EngineError as error:
        return {"error": {"code": CODES.get(error.kind, -32602), "kind": error.kind}}
    return {"result": result}


def belongs_to_the_protocol(step: dict[str, Any]) -> bool:
    """Whether a step tests what the server does before it asks the engine: argument shapes and tool names."""
    return "tool_error" in step or ("error" in step and "kind" not in step["error"])


def test_the_engine_does_what_was_recorded(
    vector_case: Any, materialise: Callable[[Any], Any], same_outcome: Callable[[Any, Any], bool]
) -> None:
    place = materialise(vector_case)
    repository = Repository(str(place.root), allowed=vector_case.allowed)
    if vector_case.exit_code is not None:
        with pytest.raises(RepositoryError):
            repository.load_config()
        return
    repository.load_config()
    disagreements = []
    for number, step in enumerate(vector_case.steps):
        if "call" not in step:
            place.apply(step)
        elif not belongs_to_the_protocol(step):
            actual = call(repository, step["call"], step["arguments"] or {})
            recorded = [
                place.expected({key: value for key, value in outcome.items() if key in {"result", "error"}})
                for outcome in step.get("any_of", [step])
            ]
            if not any(same_outcome(outcome, actual) for outcome in recorded):
                disagreements.append((number, step["call"], step["arguments"], recorded, actual))
    assert not disagreements

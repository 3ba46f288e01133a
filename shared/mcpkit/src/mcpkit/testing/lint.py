"""Reads a tool list the way the pickiest clients do.

Each rule stands for clients that refuse or misread what it forbids: some drop a whole server over a `$ref`, a null
type or a combinator at the top of a schema, and absent hints count as "destructive, open world".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface

__all__ = ["lint_tools"]

_HINTS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_COMBINATORS: Final = ("anyOf", "oneOf", "allOf", "not")


def lint_tools(tools: Surface | Sequence[Mapping[str, Any]]) -> list[str]:
    """Every fault of a tool list, one line each; empty when there is none.

    Args:
        tools: a recorded surface, or the `tools` of a tools/list result.
    """
    listed: Sequence[Mapping[str, Any]]
    listed = tools.tools_list(LATEST_HANDSHAKE_VERSION)["tools"] if isinstance(tools, Surface) else tools
    return [f"{tool.get('name', '?')}: {fault}" for tool in listed for fault in _tool(tool)]


def _tool(tool: Mapping[str, Any]) -> Iterator[str]:
    for member in ("title", "description"):
        if not str(tool.get(member) or "").strip():
            yield f"has no {member}"
    annotations = tool.get("annotations") or {}
    for hint in _HINTS:
        if not isinstance(annotations.get(hint), bool):
            yield f"annotation {hint} is not stated"
    schema = tool.get("inputSchema") or {}
    yield from _top(schema, "inputSchema")
    if schema.get("additionalProperties") is not False:
        yield "inputSchema does not refuse unknown arguments (additionalProperties: false)"
    yield from _described(schema, "inputSchema")
    yield from _plain(schema, "inputSchema", nulls=False)
    if "outputSchema" in tool:
        yield from _top(tool["outputSchema"], "outputSchema")
        yield from _plain(tool["outputSchema"], "outputSchema", nulls=True)


def _top(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f"{where} is not of type object"
    for combinator in _COMBINATORS:
        if combinator in schema:
            yield f"{where} has {combinator} at the top"


def _described(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    for name, prop in (schema.get("properties") or {}).items():
        if not isinstance(prop, Mapping):
            continue
        if not str(prop.get("description") or "").strip():
            yield f"{where}.{name} has no description"
        yield from _described(prop, f"{where}.{name}")


def _plain(node: Any, where: str, *, nulls: bool) -> Iterator[str]:
    """References anywhere, and (in what a client sends) null types anywhere."""
    if isinstance(node, list):
        for position, item in enumerate(node):
            yield from _plain(item, f"{where}[{position}]", nulls=nulls)
    if not isinstance(node, Mapping):
        return
    if "$ref" in node:
        yield f"{where} has a $ref"
    kind = node.get("type")
    if not nulls and (kind == "null" or (isinstance(kind, list) and "null" in kind)):
        yield f"{where} takes null"
    for key, value in node.items():
        if key in {"properties", "$defs", "patternProperties"} and isinstance(value, Mapping):
            for name, prop in value.items():
                yield from _plain(prop, f"{where}.{name}", nulls=nulls)
        elif key not in {"enum", "const", "default", "examples"}:
            yield from _plain(value, f"{where}.{key}", nulls=nulls)

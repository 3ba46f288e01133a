"""What an endpoint takes, as OpenAPI says it.

The document that is served, `openapi.json`, is a file of its own; this module writes the parts of it that repeat the
models, and the tests hold that they still do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mergestorm_mcp.service.http.bodies import NotNull, Query
from mergestorm_mcp.service.http.endpoints import ApiRoute

__all__ = ["described_inputs", "openapi_path"]


def openapi_path(route: ApiRoute) -> str:
    """The path as OpenAPI writes it: `/threads/{slug}` for Starlette's `/threads/{slug:path}`."""
    path = route.path
    for name in route.param_convertors:
        path = path.replace(f"{{{name}:path}}", f"{{{name}}}")
    return path


def described_inputs(route: ApiRoute) -> dict[str, Any]:
    """The members of an operation that say what it takes: `parameters`, `requestBody`, `security`."""
    described: dict[str, Any] = {}
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in route.param_convertors
    ]
    if route.query is not None:
        schema = _schema(route.query)
        parameters += [
            {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
            for name, field in schema.get("properties", {}).items()
        ]
    if parameters:
        described["parameters"] = parameters
    if route.method != "GET":
        empty = {"type": "object", "properties": {}, "additionalProperties": False}
        schema = empty if route.body is None else _schema(route.body)
        described["requestBody"] = {
            "required": bool(schema.get("required") or schema.get("minProperties")),
            "content": {"application/json": {"schema": schema}},
        }
    if not route.authenticated:
        described["security"] = []
    return described


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    whole = model.model_json_schema(by_alias=True)
    definitions = whole.pop("$defs", {})
    schema: dict[str, Any] = _plain(whole, definitions)
    _drop_nulls(model, schema)
    return schema


def _plain(node: Any, definitions: Mapping[str, Any]) -> Any:
    """The same schema without references, generated titles, docstrings and defaults that say "left out"."""
    if isinstance(node, list):
        return [_plain(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(definitions[node["$ref"].rpartition("/")[2]], definitions)
    plain = {}
    for name, value in node.items():
        if name == "properties":
            plain[name] = {field: _plain(schema, definitions) for field, schema in value.items()}
        elif name not in {"title", "description"} and not (name == "default" and value is None):
            plain[name] = _plain(value, definitions)
    return plain


def _drop_nulls(model: type[BaseModel], schema: dict[str, Any]) -> None:
    """Take null out of members that may be left out but not be null; a query has no null at all."""
    for name, info in model.model_fields.items():
        field = schema["properties"][info.alias or name]
        if "anyOf" in field and (NotNull in info.metadata or issubclass(model, Query)):
            kept = [option for option in field.pop("anyOf") if option != {"type": "null"}]
            field.update(kept[0] if len(kept) == 1 else {"anyOf": kept})

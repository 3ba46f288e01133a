"""Turns a tool's value, or its failure, into `content` and `structuredContent`.

Two text styles: the same JSON again (`same_json`), for clients that read only text; and two blocks, a summary for people
and the JSON (`summary_and_json`). JSON text is compact, keys sorted, non-ASCII as it is.
"""

from __future__ import annotations

import json
from typing import Any, Final

from fastmcp.tools import ToolResult
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from mcpkit.errors import RequestFailure, ToolFailure
from mcpkit.messages import encode_in_slices

__all__ = [
    "MAX_CHARACTERS",
    "PreparedResult",
    "compact_json",
    "failure",
    "same_json",
    "summary_and_json",
    "with_error",
]

MAX_CHARACTERS: Final = 256 * 1024 * 1024
"""Longest text of a result."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))

_ERROR_SCHEMA: Final = {
    "type": "object",
    "description": "Only in a failed call (isError): what went wrong.",
    "properties": {
        "kind": {"type": "string", "description": "Stable name of the case."},
        "message": {"type": "string", "description": "What went wrong and what to do next."},
    },
    "required": ["kind", "message"],
}


def compact_json(value: Any) -> str:
    """Compact JSON with sorted keys and non-ASCII text as it is.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has no form for.
        TypeError: the value holds something that is not a JSON value.
        RequestFailure: the text is longer than `MAX_CHARACTERS`: kind `result_too_large`.
    """
    pieces: list[str] = []
    room = MAX_CHARACTERS
    for piece in encode_in_slices(_ENCODER, value):
        room -= len(piece)
        if room < 0:
            raise RequestFailure(
                "the answer is too long to send; ask for less at once, for instance with limit or fields",
                kind="result_too_large",
            )
        pieces.append(piece)
    return "".join(pieces)


class PreparedResult(ToolResult):
    """A result whose structured content is JSON-ready, so that FastMCP need not convert it again.

    `ToolResult` serialises structured content and parses it back, and the SDK copies it deeply, twice; for a large result
    that costs more than the call. One of the SDK's copies remains: it shapes results for the negotiated version.
    """

    def __init__(self, *texts: str, structured: dict[str, Any], is_error: bool = False) -> None:
        BaseModel.__init__(
            self,
            content=[TextContent(type="text", text=text) for text in texts],
            structured_content=structured,
            is_error=is_error,
        )

    def to_mcp_result(self) -> CallToolResult:
        """The result in the SDK's terms."""
        return _PreparedWireResult(
            content=self.content,
            structured_content=self.structured_content,
            is_error=self.is_error,
            _meta=self.meta,
        )


class _PreparedWireResult(CallToolResult):
    """A result whose dump shares the structured content instead of copying it; the SDK copies the dump again."""

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """The wire form; see `pydantic.BaseModel.model_dump`."""
        if self.structured_content is None or options.get("mode") != "json" or not options.get("by_alias"):
            return super().model_dump(**options)
        if options.keys() & {"include", "exclude", "round_trip", "serialize_as_any"}:
            return super().model_dump(**options)
        dumped = super().model_dump(exclude={"structured_content"}, **options)
        dumped["structuredContent"] = self.structured_content
        return dumped


def same_json(structured: dict[str, Any]) -> PreparedResult:
    """A success whose text block is the structured content as compact JSON."""
    return PreparedResult(compact_json(structured), structured=structured)


def summary_and_json(summary: str, structured: dict[str, Any], *, is_error: bool = False) -> PreparedResult:
    """A result of two text blocks: a summary for people, then the structured content as compact JSON.

    Args:
        summary: what a person reads.
        structured: the data; in a failed result it has an `error` member of the server's own shape.
        is_error: the call failed.
    """
    return PreparedResult(summary, compact_json(structured), structured=structured, is_error=is_error)


def failure(error: ToolFailure) -> PreparedResult:
    """A result with `isError`: the message as text, `{"error": {kind, message, ...}}` as structured content."""
    return PreparedResult(
        error.message, structured={"error": {**error.payload(), "message": error.message}}, is_error=True
    )


def with_error(schema: dict[str, Any]) -> dict[str, Any]:
    """The output schema of a tool, widened by the `error` member of a failed call.

    The TypeScript SDK (1.x) checks structured content against the output schema in failed results too and throws where
    it does not fit, so that the agent would never see the error. Hence nothing is `required` at the top: a result has
    either the tool's own members or `error`. A schema that describes `error` itself, as a server with error members of its
    own does, keeps its description.
    """
    properties = {**schema.get("properties", {})}
    properties.setdefault("error", _ERROR_SCHEMA)
    return {**{key: value for key, value in schema.items() if key != "required"}, "properties": properties}

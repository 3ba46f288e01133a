"""How a tool of this server is declared, and how its outcome is shaped.

A tool module has `tools(runtime) -> list[KitTool]`; the server puts them in the page's order. A tool function
returns `success(summary, data)`; an expected failure that has a shape of its own is `failure(summary, data)`; everything
else is raised as a `CommandError` and becomes `structuredContent.error {message, code?, reason?, exit_code?,
retry_after_seconds?}` (contract 3.0). What the input schema refuses has code `invalid_input` and names the field.

Every result has two text blocks: the summary, then the structured content as JSON.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final

from fastmcp.tools import ToolResult
from mcp_types import ToolAnnotations
from pydantic import Field, StringConstraints, WithJsonSchema

from mcpkit.errors import InvalidArguments
from mcpkit.results import summary_and_json
from mcpkit.server import ArgumentCheck, KitTool, ToolFunction
from mergestorm_mcp import answers
from mergestorm_mcp.answers import Answer, named
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.text import one_line

__all__ = [
    "ARRAY",
    "ARRAY_OR_NULL",
    "BOOLEAN",
    "BOOLEAN_OR_NULL",
    "INTEGER",
    "INTEGER_OR_NULL",
    "NUMBER",
    "NUMBER_OR_NULL",
    "OBJECT",
    "OBJECT_OR_NULL",
    "STRING",
    "STRING_OR_NULL",
    "NonEmpty",
    "NullableText",
    "TimeoutSeconds",
    "declare",
    "failure",
    "output",
    "progress_reporter",
    "shown",
    "success",
]

STRING: Final = {"type": "string"}
STRING_OR_NULL: Final = {"type": ["string", "null"]}
INTEGER: Final = {"type": "integer"}
INTEGER_OR_NULL: Final = {"type": ["integer", "null"]}
NUMBER: Final = {"type": "number"}
NUMBER_OR_NULL: Final = {"type": ["number", "null"]}
BOOLEAN: Final = {"type": "boolean"}
BOOLEAN_OR_NULL: Final = {"type": ["boolean", "null"]}
ARRAY: Final = {"type": "array"}
ARRAY_OR_NULL: Final = {"type": ["array", "null"]}
OBJECT: Final = {"type": "object"}
OBJECT_OR_NULL: Final = {"type": ["object", "null"]}


NonEmpty = Annotated[str, StringConstraints(min_length=1)]

NullableText = Annotated[str | None, StringConstraints(max_length=1000), WithJsonSchema({"maxLength": 1000})]
"""Text or null, where the two differ; use with `= ABSENT`."""


def output(**members: Mapping[str, Any]) -> dict[str, Any]:
    """An output schema: every member with type and nullability, `error` among them, none required, more allowed."""
    return {
        "type": "object",
        "properties": {"error": OBJECT, **{name: dict(value) for name, value in members.items()}},
    }


def success(summary: str, data: Mapping[str, Any]) -> ToolResult:
    """A result: the summary for people, then the data as JSON, and the data itself."""
    return shown(answers.success(summary, data))


def failure(summary: str, data: Mapping[str, Any]) -> ToolResult:
    """A failed result whose data has a shape of its own, `error` in it."""
    return shown(answers.failure(summary, data))


def shown(answer: Answer) -> ToolResult:
    """The result of an answer."""
    return summary_and_json(answer.summary, dict(answer.data), is_error=answer.failed)


async def _no_report(_done: float, _total: float | None, _message: str) -> None:
    """Where nobody asked for progress."""


ProgressReport = Callable[[float, float | None, str], Awaitable[None]]


def progress_reporter() -> ProgressReport:
    """Sends progress notifications for the call that is running; silent where the client asked for none."""
    from fastmcp.server.dependencies import get_context

    try:
        context = get_context()
    except RuntimeError:  # called outside of a request, as tests of a tool function do
        return _no_report

    async def report(done: float, total: float | None, message: str) -> None:
        await context.report_progress(done, total, one_line(message, 200))

    return report


def declare(
    function: ToolFunction,
    *,
    title: str,
    description: str,
    annotations: ToolAnnotations,
    output_schema: dict[str, Any],
    refuse: ArgumentCheck | None = None,
) -> KitTool:
    """A tool named like its function, with the error manners of this server; arguments as `KitTool.create`."""
    return KitTool.create(
        function,
        name=function.__name__,
        title=title,
        description=description,
        annotations=annotations,
        output_schema=output_schema,
        refuse=refuse,
        shape_failure=_shaped,
    )


def _shaped(error: Exception) -> ToolResult | None:
    if isinstance(error, CommandError):
        return shown(answers.thrown(error))
    if isinstance(error, InvalidArguments):
        return failure(
            named("invalid_input", None, error.message),
            {"error": {"message": error.message, "code": "invalid_input"}},
        )
    return None


TimeoutSeconds = Annotated[
    float, Field(ge=0, le=300, allow_inf_nan=False, description="Seconds to wait, 0 to 300; 0 reads once.")
]

"""How a tool of this server is declared, and how its outcome is shaped.

A tool module has `tools(runtime) -> list[StormTool]`; the server puts them in the page's order. A tool function
returns `success(summary, data)`; an expected failure that has a shape of its own is `failure(summary, data)`; everything
else is raised as a `CommandError` and becomes `structuredContent.error {message, code?, reason?, exit_code?,
retry_after_seconds?}` (contract 3.0). What the input schema refuses has code `invalid_input` and names the field.

Every result has two text blocks: the summary, then the structured content as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Annotated, Any, Final

from fastmcp.tools import ToolResult
from mcp_types import TextContent, ToolAnnotations
from pydantic import BaseModel, Field, PrivateAttr, StringConstraints, WithJsonSchema

from mcpkit.errors import InvalidArguments
from mcpkit.inputs import ArgumentModel
from mcpkit.server import KitTool, ToolFunction
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.text import plain

__all__ = [
    "ABSENT",
    "ARRAY",
    "ARRAY_OR_NULL",
    "BOOLEAN",
    "BOOLEAN_OR_NULL",
    "IDEMPOTENT_DESTRUCTIVE_WRITE",
    "INTEGER",
    "INTEGER_OR_NULL",
    "NUMBER",
    "NUMBER_OR_NULL",
    "OBJECT",
    "OBJECT_OR_NULL",
    "STRING",
    "STRING_OR_NULL",
    "NonEmpty",
    "NullableSwitch",
    "NullableText",
    "StormTool",
    "TimeoutSeconds",
    "failure",
    "given",
    "named",
    "output",
    "progress_reporter",
    "success",
    "thrown",
]

IDEMPOTENT_DESTRUCTIVE_WRITE: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=True
)
"""May replace or remove something; calling it again changes nothing more."""

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


class _Absent(Enum):
    # Its value is what pydantic would publish as the default; a null default is left out of the schema.
    ABSENT = None


ABSENT: Final[Any] = _Absent.ABSENT
"""Default of a parameter for which null means something: tells "left out" from "null"."""

NonEmpty = Annotated[str, StringConstraints(min_length=1)]

# Some clients drop a server whose input schema names the null type, so null is offered without a type.
NullableSwitch = Annotated[bool | None, WithJsonSchema({"enum": [True, False, None]})]
"""True, false, or null for "clear it"; use with `= ABSENT`."""

NullableText = Annotated[str | None, StringConstraints(max_length=1000), WithJsonSchema({"maxLength": 1000})]
"""Text or null, where the two differ; use with `= ABSENT`."""


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that were passed, null included: all but those that are `ABSENT`."""
    return {name: value for name, value in arguments.items() if value is not ABSENT}


def output(**members: Mapping[str, Any]) -> dict[str, Any]:
    """An output schema: every member with type and nullability, none required, more allowed.

    `error` is added unless it is there: failed results have it, and clients that check them against the schema would
    refuse a schema that requires anything a failed result lacks.
    """
    return {
        "type": "object",
        "properties": {"error": OBJECT, **{name: dict(value) for name, value in members.items()}},
    }


def success(summary: str, data: Mapping[str, Any]) -> ToolResult:
    """A result: the summary for people, then the data as JSON, and the data itself."""
    return _TwoBlocks(summary, dict(data), is_error=False)


def failure(summary: str, data: Mapping[str, Any]) -> ToolResult:
    """A failed result whose data has a shape of its own, `error` in it."""
    return _TwoBlocks(summary, dict(data), is_error=True)


def thrown(error: CommandError) -> ToolResult:
    """The result of a `CommandError`: members that are not set are left out; 0 and "" are set."""
    members: dict[str, Any] = {"message": error.message, "exit_code": error.exit_code}
    if error.code is not None:
        members["code"] = error.code
    if error.reason is not None:
        members["reason"] = error.reason
    if error.retry_after_seconds is not None:
        members["retry_after_seconds"] = error.retry_after_seconds
    return failure(named(error.code, error.reason, error.message), {"error": members})


def named(code: str | None, reason: str | None, message: str) -> str:
    """The sentence for people: code and reason in front of the message, where there are any."""
    if code is None:
        return message
    return f"Failed with {code}{f' (reason: {reason})' if reason else ''}: {message}"


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
        await context.report_progress(done, total, plain(message, 200))

    return report


class StormTool(KitTool):
    """A tool with the error manners of this server."""

    _refuse: Callable[[Mapping[str, Any]], None] | None = PrivateAttr(default=None)

    @classmethod
    def declare(
        cls,
        function: ToolFunction,
        *,
        title: str,
        description: str,
        annotations: ToolAnnotations,
        output_schema: dict[str, Any],
        refuse: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> StormTool:
        """Build a tool named like its function.

        Args:
            function: the tool; its signature is the input schema, every parameter described.
            title: the tool's title.
            description: what it does, in few words: every agent pays for them.
            annotations: one of the presets of `mcpkit.annotations`.
            output_schema: from `output`.
            refuse: looks at the raw arguments first and raises `CommandError` for those that deserve a better answer
                than the schema's.
        """
        arguments = ArgumentModel(function)
        properties = {_on_the_wire(name): schema for name, schema in arguments.schema["properties"].items()}
        tool = cls(
            name=function.__name__,
            title=title,
            description=description,
            parameters={**arguments.schema, "properties": properties},
            output_schema=output_schema,
            annotations=annotations,
        )
        tool._function = function
        tool._arguments = arguments
        tool._refuse = refuse
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, call the function, shape what it raises."""
        try:
            if self._refuse is not None:
                self._refuse(arguments)
            checked = self._arguments.check(self._in_python(arguments))
        except InvalidArguments as fault:
            return _refused(fault)
        except CommandError as error:
            return thrown(error)
        try:
            value = await self._function(**checked)
        except CommandError as error:
            return thrown(error)
        return value if isinstance(value, ToolResult) else success(self.title or self.name, value)

    def _in_python(self, arguments: dict[str, Any]) -> dict[str, Any]:
        names = {_on_the_wire(name): name for name in self._arguments.fields}
        for name in arguments:
            if name not in names and name in self._arguments.fields:  # `pass_` is nobody's argument
                raise InvalidArguments(name, "is not an argument of this tool")
        return {names.get(name, name): value for name, value in arguments.items()}


def _on_the_wire(name: str) -> str:
    """A parameter's published name: `pass_` stands for `pass`, which Python keeps for itself."""
    return name.removesuffix("_")


def _refused(fault: InvalidArguments) -> ToolResult:
    shown = InvalidArguments(_on_the_wire(fault.field), fault.reason)
    return failure(
        named("invalid_input", None, shown.message),
        {"error": {"message": shown.message, "code": "invalid_input"}},
    )


class _TwoBlocks(ToolResult):
    """Two text blocks beside JSON-ready structured content, which FastMCP need not convert again."""

    def __init__(self, summary: str, structured: dict[str, Any], *, is_error: bool) -> None:
        text = json.dumps(structured, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        BaseModel.__init__(
            self,
            content=[
                TextContent(type="text", text=summary),
                TextContent(type="text", text=text),
            ],
            structured_content=structured,
            is_error=is_error,
        )


TimeoutSeconds = Annotated[
    float, Field(ge=0, le=300, allow_inf_nan=False, description="Seconds to wait, 0 to 300; 0 reads once.")
]

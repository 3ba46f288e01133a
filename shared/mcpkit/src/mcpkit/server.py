"""Builds FastMCP servers the way this workspace wants them, and gives the same manners to any other.

`create_server` makes a tools-only server: deterministic tool order, explicit version and instructions, strict
arguments, unexpected errors masked. `add_tool` declares a tool with its hints, schemas and text style. `harden` puts the
error manners on an existing FastMCP server.

How exceptions travel: a tool raises a `KitError`; `ErrorTranslation`, a FastMCP middleware, turns a `ToolFailure` into a
result with `isError` and structured error, a `RequestFailure` into a JSON-RPC error with `data.kind`, and anything
unexpected into `internal_error`, logged to stderr. FastMCP flattens an `MCPError` raised inside a tool into text; it
is restored here from the exception's cause.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, ClassVar, Final

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import DisabledError, FastMCPError, NotFoundError, ToolError
from fastmcp.exceptions import ValidationError as FastMCPValidationError
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import Tool, ToolResult
from mcp import MCPError
from mcp_types import Icon, ToolAnnotations
from pydantic import PrivateAttr
from pydantic import ValidationError as PydanticValidationError
from pydantic_core import PydanticSerializationError

from mcpkit import _fastmcp
from mcpkit.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    InvalidArguments,
    KitError,
    RequestFailure,
    ToolFailure,
)
from mcpkit.inputs import ArgumentModel, first_fault
from mcpkit.results import failure, same_json, with_error

__all__ = ["ErrorTranslation", "KitTool", "add_tool", "create_server", "harden"]

_LOG = logging.getLogger("mcpkit.server")

_ONE_PAGE: Final = 1000

ToolFunction = Callable[..., Coroutine[Any, Any, ToolResult | dict[str, Any]]]


ArgumentCheck = Callable[[Mapping[str, Any]], None]

FailureShape = Callable[[Exception], ToolResult | None]


class KitTool(Tool):
    """A tool with strict arguments whose function returns a dict or a finished `ToolResult`."""

    KEY_PREFIX: ClassVar[str] = "tool"

    _function: ToolFunction = PrivateAttr()
    _arguments: ArgumentModel = PrivateAttr()
    _refuse: ArgumentCheck | None = PrivateAttr(default=None)
    _shape_failure: FailureShape | None = PrivateAttr(default=None)

    @classmethod
    def create(
        cls,
        function: ToolFunction,
        *,
        name: str,
        title: str,
        description: str,
        annotations: ToolAnnotations,
        output_schema: dict[str, Any],
        refuse: ArgumentCheck | None = None,
        shape_failure: FailureShape | None = None,
    ) -> KitTool:
        """Build the tool; the input schema comes from the function's signature, failures are added to the output's.

        Args:
            function: the tool; every parameter annotated and described.
            name: on the wire.
            title: for people.
            description: what it does, in few words: every agent pays for them.
            annotations: one of the presets of `mcpkit.annotations`.
            output_schema: of a success; may describe `error`, too.
            refuse: looks at the raw arguments first and raises for those that deserve a better answer than the schema's.
            shape_failure: a server's own form of failed results. It gets what the tool raised, refused arguments
                (`InvalidArguments`) included, and answers None for what it has no form for.
        """
        arguments = ArgumentModel(function)
        tool = cls(
            name=name,
            title=title,
            description=description,
            parameters=arguments.schema,
            output_schema=with_error(output_schema),
            annotations=annotations,
        )
        tool._function = function
        tool._arguments = arguments
        tool._refuse = refuse
        tool._shape_failure = shape_failure
        return tool

    def to_mcp_tool(self, **overrides: Any) -> mcp_types.Tool:
        """The wire form with the tool's own `_meta` only: FastMCP would add a `fastmcp` member for its tags."""
        return super().to_mcp_tool(**{"_meta": self.meta, **overrides})

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Check the arguments, call the function, shape its value.

        Raises:
            InvalidArguments: an argument does not fit the schema.
        """
        try:
            if self._refuse is not None:
                self._refuse(arguments)
            value = await self._function(**self._arguments.check(arguments))
        except Exception as error:
            shaped = self._shape_failure(error) if self._shape_failure is not None else None
            if shaped is None:
                raise
            return shaped
        return value if isinstance(value, ToolResult) else same_json(value)


class ErrorTranslation(Middleware):
    """Turns every exception of a tool call into the wire form that `mcpkit.errors` promises."""

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        """Run the call; never let an unmapped exception through."""
        try:
            return await call_next(context)
        except MCPError:
            raise
        except (NotFoundError, DisabledError):
            # Not the tool's error but the request's; the recorded reference servers answer it without a kind.
            raise MCPError(
                code=INVALID_PARAMS,
                message="unknown tool; tools/list names the ones there are",
                data={"reason": "unknown_tool"},
            ) from None
        except FastMCPValidationError as error:
            cause = error.__cause__
            if isinstance(cause, PydanticValidationError):
                return failure(first_fault(cause))
            return failure(InvalidArguments("", "do not fit the tool's input schema"))
        except PydanticValidationError as error:
            return failure(first_fault(error))
        except Exception as error:  # noqa: BLE001 - the boundary: everything is mapped or masked here
            return _translate(_origin(error))


def _origin(error: Exception) -> Exception:
    """What the tool itself raised, where FastMCP wrapped it in a `ToolError`."""
    cause = error.__cause__
    if isinstance(error, ToolError) and isinstance(cause, Exception):
        return cause
    return error


def _translate(error: Exception) -> ToolResult:
    if isinstance(error, KitError):
        if error.detail:
            _LOG.error("%s", error.detail)
        if isinstance(error, ToolFailure):
            return failure(error)
        raise _request_error(error) from None
    if isinstance(error, MCPError):
        raise error
    if isinstance(error, FastMCPError):
        # A ToolError raised on purpose by a server written for plain FastMCP: its text is meant for the model.
        return failure(ToolFailure(str(error), kind="tool_error"))
    if isinstance(error, PydanticSerializationError):
        raise _request_error(
            RequestFailure(
                "the result holds a value that JSON cannot carry", kind="unserialisable", code=INTERNAL_ERROR
            )
        ) from None
    _LOG.error("unexpected error in a tool", exc_info=error)
    raise _request_error(
        RequestFailure(
            "internal error; the server's stderr has the details", kind="internal_error", code=INTERNAL_ERROR
        )
    ) from None


def _request_error(error: KitError) -> MCPError:
    code = error.code if isinstance(error, RequestFailure) else INVALID_PARAMS
    return MCPError(code=code, message=error.message, data=error.payload())


class _NotAgain(logging.Filter):
    """Drops FastMCP's own record of a failed call: `ErrorTranslation` maps it, and logs what is unexpected."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("Error calling tool")


def _quiet_logging(program: str) -> None:
    """Plain one-line errors on stderr and nothing else: a healthy server's stderr is silent."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"{program.replace('%', '%%')}: %(message)s"))
    handler.addFilter(_NotAgain())
    for name in ("fastmcp", "mcp", "mcpkit", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(logging.ERROR)


def harden(app: FastMCP[Any]) -> FastMCP[Any]:
    """Give an existing FastMCP server structured errors, masked unexpected exceptions and a quiet stderr.

    Idempotent. Returns the same server, for use in an expression.
    """
    if not any(isinstance(item, ErrorTranslation) for item in app.middleware):
        app.add_middleware(ErrorTranslation())
    _fastmcp.mask_unexpected_errors(app)
    _fastmcp.coded_request_errors(app)
    _quiet_logging(app.name)
    return app


def create_server(
    *,
    name: str,
    version: str,
    instructions: str,
    title: str | None = None,
    website_url: str | None = None,
    icons: Sequence[Icon] = (),
) -> FastMCP[Any]:
    """A hardened FastMCP server that offers tools and nothing else.

    Every setting that FastMCP would read from its environment is given explicitly.

    Args:
        name: for programs; part of `serverInfo`, as are all but the instructions.
        version: of the server.
        instructions: what an agent is told before its first call.
        title: the name for people.
        website_url: where people read about the server.
        icons: pictures of the server. Keep them small: in the 2026-07-28 era every result repeats `serverInfo`.

    Title, website and icons are sent under every protocol revision; clients of the older ones pass over them.
    """
    app: FastMCP[Any] = FastMCP(
        name,
        instructions=instructions,
        version=version,
        website_url=website_url,
        icons=list(icons) or None,
        mask_error_details=True,
        strict_input_validation=False,  # KitTool checks; FastMCP's strict mode refuses 1.0 as an integer
        on_duplicate="error",
        list_page_size=_ONE_PAGE,  # without a page size FastMCP takes any cursor; with one, a made-up cursor is -32602
    )
    _fastmcp.only_tools(app)
    _fastmcp.entitle(app, title)
    return harden(app)


def add_tool(
    app: FastMCP[Any],
    function: ToolFunction,
    *,
    annotations: ToolAnnotations,
    title: str,
    description: str,
    output_schema: dict[str, Any],
    name: str | None = None,
) -> KitTool:
    """Declare a tool. `annotations` is one of the presets of `mcpkit.annotations`: there is no default."""
    tool = KitTool.create(
        function,
        name=name or function.__name__,
        title=title,
        description=description,
        annotations=annotations,
        output_schema=output_schema,
    )
    app.add_tool(tool)
    return tool

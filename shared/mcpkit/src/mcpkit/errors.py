"""The errors a tool may raise, and what each becomes on the wire.

    KitError                      everything below; never raised itself
    ├── ToolFailure               the model sees it: a result with `isError` and `structuredContent.error`
    │   └── InvalidArguments      an argument does not fit the tool's schema: field and reason, never the value
    └── RequestFailure            the request failed: a JSON-RPC error with `code` and `data.kind`

Every error carries a stable `kind` (for programs), a message that says what to do next (for people) and, where it
helps, further members. `detail` is for stderr only and never leaves the process. Anything else that escapes a tool is
masked as `internal_error`; see `mcpkit.server`.

Standard library only: engines and command lines raise these without loading a framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "InvalidArguments",
    "KitError",
    "RequestFailure",
    "ToolFailure",
]

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603


class KitError(Exception):
    """Base of every error that reaches a client on purpose.

    Args:
        message: what went wrong and what to do next; shown to people, must hold no secret and no input value.
        kind: stable identifier of the case, lower_snake_case.
        data: further members for programs, JSON values only.
        detail: full text for the operator's stderr; never sent.
    """

    def __init__(
        self, message: str, *, kind: str, data: Mapping[str, Any] | None = None, detail: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.data: dict[str, Any] = dict(data or {})
        self.detail = detail

    def payload(self) -> dict[str, Any]:
        """`kind` followed by the further members: `data` of a JSON-RPC error, part of `structuredContent.error`."""
        return {"kind": self.kind, **self.data}


class ToolFailure(KitError):
    """The call ran and failed in a way the model can act on: a result with `isError`."""


class InvalidArguments(ToolFailure):
    """An argument does not fit the tool's input schema.

    Args:
        field: dotted path of the argument, `""` for the arguments as a whole.
        reason: what is expected, e.g. `must be a string`; never repeats the value.
    """

    def __init__(self, field: str, reason: str) -> None:
        where = f"argument {field!r}" if field else "arguments"
        super().__init__(
            f"invalid arguments: {where} {reason}",
            kind="invalid_arguments",
            data={"field": field, "reason": reason},
        )
        self.field = field
        self.reason = reason


class RequestFailure(KitError):
    """The request failed: a JSON-RPC error whose `data.kind` says why.

    Args:
        code: JSON-RPC error code; `INVALID_PARAMS` unless the fault is not the caller's.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        code: int = INVALID_PARAMS,
        data: Mapping[str, Any] | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(message, kind=kind, data=data, detail=detail)
        self.code = code

"""The one shape of every reply: `{ok, tool, version, cwd, data, warnings, error?}`, as text and as structured content."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from typing import Any, Final

from mcpkit.results import PreparedResult, compact_json
from ragit_mcp import __version__
from ragit_mcp.errors import RagitError, ServerError
from ragit_mcp.safety import masked_reply, masked_text

__all__ = ["OUTPUT_SCHEMA", "Envelopes"]

_LOG: Final = logging.getLogger("mcpkit.ragit-mcp")

OUTPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "Whether the call succeeded."},
        "tool": {"type": "string", "description": "The tool that was called."},
        "version": {"type": "string", "description": "Version of ragit-mcp."},
        "cwd": {"type": "string", "description": "The repository this server is bound to."},
        "data": {"description": "The answer, an object; null in a failed call."},
        "warnings": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What to mind when using the answer.",
        },
        "error": {
            "type": "object",
            "description": "Only in a failed call.",
            "properties": {
                "code": {"type": "string", "description": "Stable name of the case."},
                "category": {"type": "string", "description": "Whose turn it is."},
                "message": {"type": "string", "description": "What went wrong."},
                "retryable": {"type": "boolean", "description": "The same call may succeed later."},
                "details": {"type": "object", "description": "Further members for programs."},
                "recovery": {
                    "type": "object",
                    "properties": {"command": {"type": "string"}},
                    "description": "What to do next.",
                },
            },
            "required": ["code", "category", "message", "retryable", "details", "recovery"],
        },
    },
    "required": ["ok", "tool", "version", "cwd", "data", "warnings"],
    "additionalProperties": False,
}


class Envelopes:
    """Makes the replies of one server.

    Args:
        cwd: the repository it is bound to.
    """

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd

    def success(self, tool: str, data: dict[str, Any], warnings: Sequence[str]) -> PreparedResult:
        """The answer to a call; what it holds is masked by whoever made it."""
        return self._result({"ok": True, **self._head(tool), "data": data, "warnings": list(warnings)})

    def failure(self, tool: str, error: RagitError) -> PreparedResult:
        """A failed call: the error as the register and the case say it, masked."""
        payload = masked_reply(error.payload()).value
        return self._result({
            "ok": False,
            **self._head(masked_text(tool).text),
            "data": None,
            "warnings": [],
            "error": payload,
        })

    def unexpected(self, tool: str, error: BaseException) -> PreparedResult:
        """A fault of ours: nothing of it leaves; one masked line with a reference goes to stderr."""
        reference = self.record(tool, error)
        code = "MCP_INTERNAL_ERROR"
        message = f"The MCP tool failed unexpectedly; the server's stderr has reference {reference}."
        return self.failure(tool, ServerError(code, message))

    @staticmethod
    def record(place: str, error: BaseException) -> str:
        """Write one masked line about a fault of ours to stderr; the reference that stands in it."""
        reference = secrets.token_hex(4)
        said = " ".join(masked_text(str(error)).text.split())[:500]
        _LOG.error("%s: %s in %s: %s", reference, type(error).__name__, place, said)
        return reference

    def _head(self, tool: str) -> dict[str, Any]:
        return {"tool": tool, "version": __version__, "cwd": self._cwd}

    @staticmethod
    def _result(envelope: dict[str, Any]) -> PreparedResult:
        return PreparedResult(compact_json(envelope), structured=envelope, is_error=not envelope["ok"])

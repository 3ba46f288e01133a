"""What a request came to: a result, a result that says the call failed, or a JSON-RPC error."""

from __future__ import annotations

from typing import Any

__all__ = ["Outcome"]


class Outcome:
    """The reply to one request.

    Attributes:
        reply: the whole JSON-RPC response.
    """

    __slots__ = ("reply",)

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply

    def __repr__(self) -> str:
        return f"Outcome({self.reply!r})"

    @property
    def result(self) -> dict[str, Any]:
        """The result object.

        Raises:
            AssertionError: the request was answered with an error.
        """
        assert "result" in self.reply, f"the request failed: {self.reply.get('error')}"  # noqa: S101 - a test helper
        result: dict[str, Any] = self.reply["result"]
        return result

    @property
    def ok(self) -> bool:
        """Whether there is a result and, of a tool call, one that does not say it failed."""
        return "result" in self.reply and not self.is_tool_error

    @property
    def is_tool_error(self) -> bool:
        """Whether the result says that the tool call failed."""
        return bool(self.reply.get("result", {}).get("isError"))

    @property
    def structured(self) -> Any:
        """`structuredContent` of a tool call."""
        return self.result.get("structuredContent")

    @property
    def text(self) -> str:
        """The text blocks of a tool call, joined."""
        return "".join(block.get("text", "") for block in self.result.get("content", ()))

    @property
    def tool_error(self) -> dict[str, Any] | None:
        """The structured error of a failed tool call, empty if it has none; None if the call did not fail so."""
        if not self.is_tool_error:
            return None
        structured = self.result.get("structuredContent") or {}
        error: dict[str, Any] = structured.get("error", {})
        return error

    @property
    def error(self) -> dict[str, Any] | None:
        """The JSON-RPC error object; None if there is a result."""
        return self.reply.get("error")

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error."""
        return self.error["code"] if self.error else None

    @property
    def kind(self) -> str | None:
        """The stable name of the failure, whichever of the two kinds it is."""
        if self.error is not None:
            data = self.error.get("data")
            return data.get("kind") if isinstance(data, dict) else None
        return (self.tool_error or {}).get("kind")

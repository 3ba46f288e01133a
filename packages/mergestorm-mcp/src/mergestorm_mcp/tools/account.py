"""`whoami` and `credits`: whose key it is and what is left (contract 3.1 and 3.2)."""

from __future__ import annotations

from typing import Any

from fastmcp.tools import ToolResult

from mcpkit.annotations import READ
from mcpkit.server import KitTool
from mergestorm_mcp import __version__
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import OBJECT, OBJECT_OR_NULL, STRING, STRING_OR_NULL, declare, output, success

__all__ = ["tools"]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def whoami() -> ToolResult:
        from mergestorm_mcp.api.me import require_me  # httpx is not needed for a handshake

        api = runtime.api()
        me = await require_me(api)
        key = me["key"]
        data = {
            "key_prefix": key["prefix"],
            "key_name": key.get("name"),
            "plan_key": me.get("plan_key"),
            "plan_label_key": me.get("plan_label_key"),
            "api_base": api.base,
            "config_path": api.access.config_path if api.access else None,
            "usage": me.get("usage"),
            "mcp_version": __version__,
        }
        plan = me.get("plan_label_key") or me.get("plan_key") or "unknown plan"
        return success(one_line(f"{key['prefix']} · {plan}", 200), data)

    async def credits() -> ToolResult:  # noqa: A001 - the tool's name
        from mergestorm_mcp.api.me import require_me

        me = await require_me(runtime.api())
        usage = me.get("usage")
        standard = usage.get("standard") if isinstance(usage, dict) else None
        if not isinstance(usage, dict) or not isinstance(standard, dict):
            raise CommandError("Mergestorm reported no usage for this account; call again in a while.")
        return success(
            _left(standard, usage.get("bonus")), {"usage": usage, "resets_at": me.get("resets_at")}
        )

    return [
        declare(
            whoami,
            title="Who am I",
            description="The account behind the API key: key prefix and name, plan, usage. Never the whole key.",
            annotations=READ,
            output_schema=output(
                key_prefix=STRING,
                key_name=STRING_OR_NULL,
                plan_key=STRING_OR_NULL,
                plan_label_key=STRING_OR_NULL,
                api_base=STRING,
                config_path=STRING,
                usage=OBJECT_OR_NULL,
                mcp_version=STRING,
            ),
        ),
        declare(
            credits,
            title="Credits",
            description="Review credits used and left, and when they reset.",
            annotations=READ,
            output_schema=output(usage=OBJECT, resets_at=STRING_OR_NULL),
        ),
    ]


def _left(standard: dict[str, Any], bonus: Any) -> str:
    used, limit, remaining = (_number(standard.get(name)) for name in ("used", "limit", "remaining"))
    if remaining is None and limit is not None:
        remaining = max(0, limit - (used or 0))
    left = "unlimited" if remaining is None else f"{remaining:g} remaining"
    text = f"{used or 0:g} used · {left}"
    extra = _number(bonus.get("remaining")) if isinstance(bonus, dict) else None
    return text if extra is None else f"{text} · {extra:g} bonus remaining"


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

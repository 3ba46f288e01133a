"""Builds the server: the twenty tools in the order of the public page, and what an agent is told first."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from fastmcp import FastMCP

from mcpkit.server import KitTool, create_server
from mergestorm_mcp import __version__
from mergestorm_mcp.fault_reports import mask_reports
from mergestorm_mcp.icons import ICONS
from mergestorm_mcp.instructions import INSTRUCTIONS
from mergestorm_mcp.runtime import Runtime

__all__ = ["TOOL_ORDER", "create"]

TOOL_ORDER: Final = (
    "whoami",
    "credits",
    "review_list",
    "review_submit",
    "review_wait",
    "review_wait_pr",
    "review_dismiss",
    "issue_create",
    "stack_adopt",
    "stack_list",
    "stack_publish",
    "stack_publish_status",
    "stack_set",
    "stack_status",
    "stack_wait",
    "queue_status",
    "settings_get",
    "settings_set",
    "repo_settings_get",
    "repo_settings_set",
)
"""Names in the order of the public page."""

_MODULES: Final = (
    "account",
    "reviews_read",
    "reviews_submit",
    "dismiss",
    "issues",
    "stacks",
    "publication",
    "settings",
)


def create(runtime: Runtime | None = None) -> FastMCP[Any]:
    """The server.

    Args:
        runtime: the outside world; the process's own unless told.
    """
    world = runtime or Runtime()
    app = create_server(
        name="mergestorm",
        version=__version__,
        instructions=INSTRUCTIONS,
        title="Mergestorm",
        website_url="https://mergestorm.ai",
        icons=ICONS,
    )
    mask_reports(world.environment)
    found: dict[str, KitTool] = {}
    for name in _MODULES:
        for tool in import_module(f"mergestorm_mcp.tools.{name}").tools(world):
            found[tool.name] = tool
    for name in TOOL_ORDER:
        app.add_tool(found[name])
    return app

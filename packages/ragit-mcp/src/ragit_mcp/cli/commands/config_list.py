"""`ragit config list`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragit_mcp.cli.context import Answer, Context
from ragit_mcp.config import SETTINGS

if TYPE_CHECKING:
    from ragit_mcp.cli.screen import Screen

__all__ = ["run"]


def run(context: Context) -> Answer:
    """Every setting with its value, who chose it, and what it does."""
    config = context.config
    data = {
        "settings": [
            {
                "key": key,
                "value": _json(config.values[key]),
                "origin": str(config.origins[key]),
                "default": _json(setting.default),
                "environment": setting.variable,
                "summary": setting.summary,
            }
            for key, setting in SETTINGS.items()
        ]
    }
    warnings = tuple(f"{warning.key} ({warning.origin}) {warning.message}" for warning in config.warnings)
    return Answer(data, _draw, warnings)


def _draw(screen: Screen, data: Any) -> None:
    screen.table(
        ["setting", "value", "chosen by", "what it does"],
        [
            [
                (entry["key"], "name"),
                _text(entry["value"]),
                (entry["origin"], "faint" if entry["origin"] == "default" else "good"),
                (entry["summary"], "faint"),
            ]
            for entry in data["settings"]
        ],
    )


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, list) else str(value)

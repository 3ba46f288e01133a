"""The land gate: what keeps the unit's land PR from the real trunk (contract 3.15, A.12, C.6 and "land gate pending")."""

from __future__ import annotations

import re
from typing import Final

from mergestorm_mcp.stacks.model import Layer, Stack, Unit

__all__ = ["gate_detail", "is_pending", "open_land_pr", "without_land_pr"]

_PREFIX: Final = re.compile(r"\s*landing blocked:\s*", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[a-z_]+")
_UNAVAILABLE: Final = re.compile(r"\s*land_pr_unavailable\b:?\s*", re.IGNORECASE)


def is_pending(reason: str | None) -> bool:
    """Whether a block reason is only a wait: its first token ends in `_pending` or `_running`."""
    token = _TOKEN.search(_PREFIX.sub("", (reason or "").lower(), count=1))
    return token is not None and token.group().endswith(("_pending", "_running"))


def gate_detail(reason: str | None) -> str | None:
    """A block reason without the parts that every such reason has."""
    text = _UNAVAILABLE.sub("", _PREFIX.sub("", reason or "", count=1), count=1).strip()
    return text or None


def open_land_pr(stack: Stack) -> Layer | None:
    """The land PR if it is open, be it listed as a layer or not."""
    unit = stack.unit
    if unit is None:
        return None
    listed = next((layer for layer in stack.layers if layer.open and unit.is_land_pr(layer)), None)
    if listed is None and unit.land_pr is not None and unit.land_pr.open:
        return unit.land_pr
    return listed


def without_land_pr(stack: Stack) -> Unit | None:
    """The unit of a stack whose layers are all in, but which has no land PR to land them with, and will not get one."""
    unit = stack.unit
    if stack.archived or unit is None or unit.over or not all(layer.terminal for layer in stack.layers):
        return None
    if unit.landing_block_reason is None or is_pending(unit.landing_block_reason):
        return None
    merged = unit.land_pr is not None and unit.land_pr.state == "merged"
    return None if merged else unit

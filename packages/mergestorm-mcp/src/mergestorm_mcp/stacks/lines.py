"""One line about a stack, about a queue entry, and about what holds a stack up (contract 3.11 and 3.12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.stacks.model import QueueEntry, Stack
from mergestorm_mcp.text import one_line

__all__ = ["blockers_summary", "queue_line", "repair_line", "stack_line"]

_SHOWN_ISSUES: Final = 3
_SHOWN_FILES: Final = 10
_AGENTS: Final = {"cyclone": "Cyclone patches", "vortex": "Vortex reviews"}

Wire = Mapping[str, Any]


def stack_line(stack: Stack, summary: str = "") -> str:
    """A stack in one line.

    Args:
        stack: the stack.
        summary: what `blockers_summary` made of its assessment.
    """
    layers = stack.layers
    parts = [
        one_line(stack.repository, 200),
        f"{len(layers)} layer{'' if len(layers) == 1 else 's'}",
        _state(stack),
    ]
    parts.append(f"auto-land {'on' if stack.auto_land else 'off'}")
    parts += [
        f"{name} {'on' if value else 'off'}"
        for name, value in (("auto-review", stack.auto_review), ("auto-patch", stack.auto_patch))
        if value is not None
    ]
    if stack.owner_match is not None:
        parts.append(f"cyclone-owner {one_line(stack.owner_match, 40)}")
    return " · ".join(parts) + summary


def blockers_summary(status: Wire) -> str:
    """What holds a stack up, to follow its line; empty where nothing does.

    Args:
        status: the fields of `stack_status` or of a watch envelope; `held` may be missing from the latter, where a
            blocker with `actAfter` says the same.
    """
    attention, held = _attention(status)
    parts = []
    if attention is not None:
        parts.append(f"blocked: {_place(attention)}")
    elif held is not None:
        waiting = " and ".join(
            _AGENTS.get(name, name) for name in held.get("waitingOn") or status.get("waitingOn") or []
        )
        parts.append(f"blocked after the agents: {_place(held)}{f' ({waiting})' if waiting else ''}")
    elif status.get("busy"):
        busy = status["busy"]
        working = " and ".join(_AGENTS.get(item["agent"], item["agent"]) for item in busy)
        parts.append(f"held: {_place(busy[0])} while {working}")
    gate, queue = status.get("landGatePending"), status.get("queueWait")
    if attention is None and gate:
        parts.append(f"land gate: {_number(gate)} {gate['reason']} (wait)")
    if attention is None and queue:
        parts.append(f"queue: {_number(queue)} {queue['text']}")
    issues = [item for item in status.get("issues") or [] if held is None or not _same(item, held)]
    if issues:
        shown = "; ".join(_place(item) for item in issues[:_SHOWN_ISSUES])
        more = len(issues) - _SHOWN_ISSUES
        parts.append(f"issues: {shown}{f'; +{more} more' if more > 0 else ''}")
    return "".join(f" · {part}" for part in parts)


def repair_line(repair: Wire | None) -> str | None:
    """A repair in one line: kind, files, note, steps."""
    if repair is None:
        return None
    files = repair.get("files") or []
    listed = (
        f" ({', '.join(files[:_SHOWN_FILES])}{', …' if len(files) > _SHOWN_FILES else ''})" if files else ""
    )
    note = f"{repair['note']} " if repair.get("note") else ""
    return f"Repair {repair['kind']}{listed}: {note}{repair['steps']}"


def queue_line(entry: QueueEntry) -> str:
    """A queue entry in one line."""
    bounce = entry.bounce
    number = f"#{bounce.pr_number}" if bounce is not None and bounce.pr_number else ""
    parts = [
        one_line(entry.state or "unknown", 40),
        one_line(f"{entry.owner or '?'}/{entry.repo or '?'}{number}", 200),
        f"stack {one_line(entry.stack_id or '?', 100)}",
    ]
    reason = (bounce.kind if bounce is not None else None) or entry.bounce_reason or entry.wait_reason
    if reason:
        parts.append(one_line(reason))
    head = (bounce.head_sha if bounce is not None else None) or entry.verify_head_sha
    if head:
        parts.append(one_line(head[:7]))
    return " · ".join(parts)


def _state(stack: Stack) -> str:
    states = dict.fromkeys(one_line(layer.state or "unknown", 40) for layer in stack.layers if layer.open)
    if not stack.layers_known:
        return "layers not read"
    if states:
        return f"restack: {', '.join(states)}"
    if stack.unit is not None:
        return f"unit: {one_line(stack.unit.state or 'unknown', 40)}"
    return "no open layers"


def _attention(status: Wire) -> tuple[Wire | None, Wire | None]:
    if "attention" in status:
        return status["attention"], status.get("held")
    if status.get("blocker") is None:
        return None, None
    return (status, None) if status.get("actAfter") is None else (None, status)


def _place(item: Wire) -> str:
    return f"{_number(item)} {item['blocker']}"


def _number(item: Wire) -> str:
    return "stack" if item.get("prNumber") is None else f"#{item['prNumber']}"


def _same(item: Wire, held: Wire) -> bool:
    return bool(item.get("prNumber") == held.get("prNumber") and item.get("blocker") == held.get("blocker"))

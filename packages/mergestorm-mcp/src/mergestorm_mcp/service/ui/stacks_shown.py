"""A stack on the page."""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.service.agents import auto_land
from mergestorm_mcp.service.stacks.live import LiveLayer, LiveStack
from mergestorm_mcp.service.stacks.records import goes_on, live_entry
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.ui.layers_shown import pull_shown
from mergestorm_mcp.service.ui.seam import seam_is_stuck, seam_rests
from mergestorm_mcp.service.ui.words import plain

__all__ = ["stack_shown"]

_SEAM: Final = {
    "pending": ("seam review queued", "busy"),
    "reviewing": ("seam under review", "busy"),
    "pending_rereview": ("seam review queued again", "busy"),
    "approved": ("seam approved", "good"),
    "findings": ("seam findings", "bad"),
    "failed": ("seam review failed", "bad"),
}


def stack_shown(site: Site, stack: LiveStack) -> dict[str, Any]:
    """A stack with its layers in the order in which they land, the land PR last."""
    row = stack.row
    over = not goes_on(row)
    queued = live_entry(site.connection, row["id"]) is not None
    owner = site.connection.execute(
        "SELECT login FROM accounts WHERE id = ?", (row["account_id"],)
    ).fetchone()
    unit = stack.unit
    return {
        "id": row["id"],
        "repository": site.repository.full_name,
        "owner": owner["login"] if owner is not None else None,
        "trunk": row["trunk_branch"],
        "state": _state(row["landed_at"], row["archived_at"], queued=queued),
        "autoLand": bool(row["auto_land"]),
        "over": over,
        "unit": {"branch": unit["branch"], "state": plain(unit["state"])} if unit is not None else None,
        "notes": [] if over else _notes(site, stack, queued=queued),
        "layers": [_layer(site, stack, layer, over=over, queued=queued) for layer in stack.pulls],
    }


def _state(landed_at: str | None, archived_at: str | None, *, queued: bool) -> dict[str, str]:
    if landed_at is not None:
        return {"text": "landed", "tone": "good"}
    if archived_at is not None:
        return {"text": "archived", "tone": "calm"}
    return {"text": "in the queue", "tone": "busy"} if queued else {"text": "open", "tone": "calm"}


def _notes(site: Site, stack: LiveStack, *, queued: bool) -> list[str]:
    """What the stack as a whole waits for, in the order of importance."""
    row, candidate = stack.row, stack.candidate
    found = []
    if row["land_off_reason"] is not None and not row["auto_land"]:
        found.append(f"Auto land is off: {plain(row['land_off_reason'])}")
    if candidate is None:
        found.append("No pull request is open")
    elif row["settle_action"] is not None:
        step = "promoted" if row["settle_action"] == "promote" else "queued"
        found.append(f"#{row['settle_pull']} settles and is {step} then")
    elif row["wait_reason"] is not None:
        tries = f" ({row['wait_attempts']} attempts)" if row["wait_attempts"] else ""
        found.append(f"#{row['wait_pull']} waits: {plain(row['wait_reason'])}{tries}")
    elif not queued:
        why = auto_land.blocker(site, stack, candidate)
        if why is not None:
            found.append(f"#{candidate.pull.number} waits: {plain(why)}")
    return found


def _layer(site: Site, stack: LiveStack, layer: LiveLayer, *, over: bool, queued: bool) -> dict[str, Any]:
    shown = pull_shown(site, layer)
    shown["land"] = layer is stack.land
    shown["seam"] = _seam(site, stack, layer)
    if over:
        shown["actions"] = []
    elif layer.open:
        if layer is stack.candidate and not queued:
            shown["actions"].insert(0, "land")
        if seam_rests(site, stack, layer):
            shown["actions"].insert(0, "continue")
    return shown


def _seam(site: Site, stack: LiveStack, layer: LiveLayer) -> dict[str, str] | None:
    member = layer.member
    if member is None or not layer.open or member["seam_state"] == "none":
        return None
    text, tone = _SEAM.get(member["seam_state"], (plain(member["seam_state"]), "calm"))
    if seam_is_stuck(site, stack, layer):
        text, tone = f"{text}, and no review runs", "warn"
    return {"text": text, "tone": tone}

"""How pull requests become layers of a stack: registered one by one, or adopted as a chain."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mergestorm_mcp.service.agents.reactions import on_pull_changed
from mergestorm_mcp.service.github.access import require_surge, require_write
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.refusals import Refusal, not_found
from mergestorm_mcp.service.settings.values import effective_setting
from mergestorm_mcp.service.stacks.events import record
from mergestorm_mcp.service.stacks.live import live_stack
from mergestorm_mcp.service.stacks.policy import PINS, change_policy
from mergestorm_mcp.service.stacks.records import goes_on, layers_of, stack_by_id, stack_of_pull, unit_of
from mergestorm_mcp.service.stacks.site import Site, is_reserved
from mergestorm_mcp.service.stacks.units import arrange, ensure_unit

if TYPE_CHECKING:
    from mergestorm_mcp.service.accounts.keys import Caller
    from mergestorm_mcp.service.world import World

__all__ = ["Adopted", "adopt", "register"]

_MAX_LAYERS: Final = 50


def register(
    world: World,
    connection: sqlite3.Connection,
    account_id: int,
    repo_id: int,
    pull_number: int,
    *,
    auto_land: bool | None,
    auto_patch: bool | None = None,
) -> str:
    """Make an open pull request a layer of a stack of an account, and set the agents to work on it.

    A pull request that stands on the highest layer of a stack of the same account joins that stack. One that is in a
    stack of the account stays there.

    Args:
        world: the service.
        connection: of a write.
        account_id: whose stack.
        repo_id: the repository.
        pull_number: an open pull request.
        auto_land: Auto land of the stack. None leaves a present stack alone, and gives a new one the default of the
            repository, else of the account.
        auto_patch: pin of a new stack's Auto patch.

    Returns:
        The stack's id.

    Raises:
        Refusal: 404 for an unknown pull request, 409 `busy` if it is in a stack of another account.
    """
    site = Site.of(world, connection, repo_id)
    pull = site.hub.pull(connection, repo_id, pull_number)
    if pull is None:
        raise not_found("The pull request")
    policy: dict[str, bool | None] = {} if auto_land is None else {"autoEnqueueWhenReady": auto_land}
    present = _active(connection, repo_id, pull.number)
    if present is None and auto_patch is not None and _below(site, pull) is None:
        policy["autoPatchOverride"] = auto_patch
    return _put(site, account_id, [pull], policy)


@dataclass(frozen=True, slots=True)
class Adopted:
    """A stack and the chain it was adopted from, bottom first."""

    stack_id: str
    chain: Sequence[Pull]


def adopt(
    world: World,
    connection: sqlite3.Connection,
    caller: Caller,
    repo_id: int,
    pull_number: int,
    policy: Mapping[str, bool | None],
) -> Adopted:
    """Adopt the chain of open pull requests around one: down to the trunk, and up as long as something stands on it.

    Adopting it again finds the same stack, adds what stands on it by now, and sets the policy that is given.

    Raises:
        Refusal: 404 `not_found`, 403 `forbidden`, 400 `pr_closed`, `pr_merged`, `draft`, `reserved_branch`,
            `not_stacked` or what Surge or Cyclone lacks, 409 `busy`.
    """
    site = Site.of(world, connection, repo_id)
    require_write(world, connection, caller, site.repository)
    pull = site.hub.pull(connection, repo_id, pull_number)
    if pull is None:
        raise not_found("The pull request")
    if pull.state != "open":
        code = "pr_merged" if pull.state == "merged" else "pr_closed"
        raise Refusal(400, code, f"#{pull.number} is {pull.state}; only an open pull request can be adopted.")
    require_surge(world, connection, caller, site.repository)
    chain = _chain(site, pull)
    for item in chain:
        if is_reserved(item.head_branch):
            raise Refusal(400, "reserved_branch", f"#{item.number} comes from a branch of Mergestorm's own.")
        if item.draft:
            raise Refusal(400, "draft", f"#{item.number} is a draft; mark it ready first.")
    return Adopted(_put(site, caller.account_id, chain, policy), chain)


def _chain(site: Site, pull: Pull) -> list[Pull]:
    """The pull requests below and above one, bottom first. Where several stand on one, the oldest goes on."""
    chain = [pull]
    while (below := _parent(site, chain[0])) is not None:
        if below in chain or len(chain) >= _MAX_LAYERS:
            raise Refusal(
                400,
                "not_stacked",
                "The pull requests stand on each other in a circle, or in too great number.",
            )
        chain.insert(0, below)
    while len(chain) < _MAX_LAYERS and (above := _child(site, chain[-1])) is not None and above not in chain:
        chain.append(above)
    return chain


def _parent(site: Site, pull: Pull) -> Pull | None:
    if pull.base_branch == site.repository.default_branch:
        return None
    if is_reserved(pull.base_branch):
        # Its place is kept by the stack it is in: the layer below it there, if that is still to be merged.
        stack = _active(site.connection, site.repo_id, pull.number)
        if stack is None:
            raise Refusal(400, "not_stacked", f"#{pull.number} stands on a branch of Mergestorm's own.")
        return _layer_below(site, stack["id"], pull.number)
    found = site.hub.find_open_pull(site.connection, site.repo_id, pull.base_branch)
    if found is None and site.hub.pulls(site.connection, site.repo_id, head=pull.base_branch):
        raise Refusal(
            400,
            "not_stacked",
            f"#{pull.number} stands on {pull.base_branch}, whose pull request is not open.",
        )
    return found


def _layer_below(site: Site, stack_id: str, number: int) -> Pull | None:
    """The nearest open layer below one; a layer that was merged into the unit is behind it and not below."""
    rows = layers_of(site.connection, stack_id)
    place = next(row["position"] for row in rows if row["pull_number"] == number)
    for row in reversed(rows):
        pull = site.hub.pull(site.connection, site.repo_id, row["pull_number"])
        if row["position"] < place and pull is not None and pull.open:
            return pull
    return None


def _child(site: Site, pull: Pull) -> Pull | None:
    found = site.hub.pulls(site.connection, site.repo_id, base=pull.head_branch, state="open")
    return next((item for item in found if not is_reserved(item.head_branch)), None)


def _put(site: Site, account_id: int, chain: Sequence[Pull], policy: Mapping[str, bool | None]) -> str:
    """Make a chain the layers of one stack: of one that holds some of them, of the one below them, or of a new one."""
    connection = site.connection
    stacks = [_active(connection, site.repo_id, pull.number) for pull in chain]
    present = next((stack for stack in stacks if stack is not None), None) or _below(site, chain[0])
    if any(stack is not None and stack["account_id"] != account_id for stack in (*stacks, present)):
        raise Refusal(409, "busy", "The pull request belongs to a stack of another account.")
    if len({stack["id"] for stack in (*stacks, present) if stack is not None}) > 1:
        raise Refusal(409, "busy", "The pull requests belong to different stacks already.")
    if present is None:
        stack_id = _new(site, account_id, chain[0].base_branch, policy)
    else:
        stack_id = present["id"]
    added = _add_layers(site, stack_id, chain)
    row = stack_by_id(connection, stack_id)
    assert row is not None  # noqa: S101 - found or made just now
    if present is not None and policy:
        change_policy(site, row, policy)
    if len(layers_of(connection, stack_id)) > 1 and (added or unit_of(connection, stack_id) is None):
        ensure_unit(site, row)
        arrange(site, live_stack(site, row))
    for pull in chain:
        on_pull_changed(site.world, connection, site.repo_id, pull.number)
    return stack_id


def _new(site: Site, account_id: int, trunk: str, policy: Mapping[str, bool | None]) -> str:
    stack_id = str(uuid.uuid4())
    armed = policy.get("autoEnqueueWhenReady")
    if armed is None:
        armed = bool(effective_setting(site.connection, account_id, site.repo_id, "auto_land_default"))
    site.connection.execute(
        "INSERT INTO stacks (id, account_id, repo_id, trunk_branch, created_at, auto_land) VALUES (?, ?, ?, ?, ?, ?)",
        (stack_id, account_id, site.repo_id, trunk, site.now(), int(armed)),
    )
    record(site.world, site.connection, "stack", f"Stack registered on {trunk}", stack_id=stack_id)
    pins = {name: value for name, value in policy.items() if name in PINS}
    row = stack_by_id(site.connection, stack_id)
    if pins and row is not None:
        change_policy(site, row, pins)
    return stack_id


def _add_layers(site: Site, stack_id: str, chain: Sequence[Pull]) -> bool:
    known = {row["pull_number"] for row in layers_of(site.connection, stack_id)}
    place = len(known)
    for pull in chain:
        if pull.number in known:
            continue
        site.connection.execute(
            "INSERT INTO layers (stack_id, position, pull_number, branch, seen_head) VALUES (?, ?, ?, ?, ?)",
            (stack_id, place, pull.number, pull.head_branch, site.git.head(pull.head_branch)),
        )
        record(
            site.world, site.connection, "layer", f"#{pull.number} is layer {place + 1}", stack_id=stack_id
        )
        place += 1
    return place > len(known)


def _below(site: Site, pull: Pull) -> sqlite3.Row | None:
    """The stack whose highest layer a pull request stands on."""
    found = site.hub.find_open_pull(site.connection, site.repo_id, pull.base_branch)
    if found is None or found.number == pull.number:
        return None
    return _active(site.connection, site.repo_id, found.number)


def _active(connection: sqlite3.Connection, repo_id: int, number: int) -> sqlite3.Row | None:
    """The stack that goes on and holds a pull request."""
    row = stack_of_pull(connection, repo_id, number)
    return row if row is not None and goes_on(row) else None

"""What holds a stack up: a pure function of stack, queue, cursor and time (contract 3.15).

Every open layer is looked at from the bottom up, by the rules of table A, then by what Auto land and the queue say. What
concerns the layer to be merged next becomes the attention; what concerns layers above it becomes an issue. While an
agent works on the layer in question there is no attention: the blocker is either held (named, to be acted on when the
agents are idle) or kept silent, because the agent's work may well clear it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.stacks.agents import Busy, agents_busy, agents_view
from mergestorm_mcp.stacks.auto_land import wait_finding, wait_layer
from mergestorm_mcp.stacks.bounces import bounce_label, disarming_bounce
from mergestorm_mcp.stacks.candidate import OpenLayers, is_land_pr, open_layers
from mergestorm_mcp.stacks.cursor import Cursor
from mergestorm_mcp.stacks.land_gate import gate_detail, is_pending, open_land_pr, without_land_pr
from mergestorm_mcp.stacks.layer_blockers import LayerView, layer_finding, retry_scheduled
from mergestorm_mcp.stacks.model import Layer, QueueEntry, Stack, is_park_branch, same_head
from mergestorm_mcp.stacks.queue_wait import QueueWait, queue_wait
from mergestorm_mcp.stacks.repair import Situation, repair_for
from mergestorm_mcp.stacks.verdicts import NO_RUN_CLEARS, Finding, Issue
from mergestorm_mcp.text import one_line

__all__ = ["Assessment", "BusyAgent", "Held", "stack_blockers"]

_RETRY_LABEL: Final = "Vortex hit a temporary error on this head and will retry by itself"
_UNKNOWN_LABEL: Final = "Merge state unknown"
_CONFLICTS: Final = frozenset({"restack_conflict", "merge_conflict"})


@dataclass(frozen=True, slots=True)
class BusyAgent:
    """An agent whose work keeps an attention back."""

    pr_number: int
    head_sha: str | None
    agent: str
    blocker: str

    def wire(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "prNumber": self.pr_number,
            "headSha": self.head_sha,
            "agent": self.agent,
            "blocker": self.blocker,
        }


@dataclass(frozen=True, slots=True)
class Held:
    """A blocker to act on once the agents are idle."""

    issue: Issue
    waiting_on: tuple[str, ...]

    def wire(self) -> dict[str, Any]:
        """The JSON form."""
        return {**self.issue.wire(), "actAfter": "agents_idle", "waitingOn": list(self.waiting_on)}


@dataclass(frozen=True, slots=True)
class Assessment:
    """What there is to say about a stack.

    Attributes:
        candidate: the layer to be merged next.
        attention: what somebody has to act on now.
        bounce: the bounce to stamp when the attention is reported.
        held: what somebody has to act on when the agents are idle.
        issues: what else is wrong, or will be.
        busy: the agents that keep an attention back.
        agents: who is at work on the layer in question, as results show it.
        repair: how to mend the attention or the held blocker, as results show it.
        land_gate: the land PR's gate while it only waits, as results show it.
        queue: the merge queue's wait; None where it is stuck or there is no candidate.
        queue_live: whether the stack is in the merge queue.
    """

    candidate: Layer | None
    attention: Issue | None
    bounce: QueueEntry | None
    held: Held | None
    issues: tuple[Issue, ...]
    busy: tuple[BusyAgent, ...]
    agents: dict[str, Any] | None
    repair: dict[str, Any] | None
    land_gate: dict[str, Any] | None
    queue: QueueWait | None
    queue_live: bool

    def candidate_wire(self) -> dict[str, Any] | None:
        """`currentCandidate`."""
        if self.candidate is None:
            return None
        return {"prNumber": self.candidate.pr_number, "headSha": self.candidate.head_sha}

    def queue_wire(self) -> dict[str, Any] | None:
        """`queueWait`."""
        if self.queue is None or self.candidate is None:
            return None
        place = {"prNumber": self.candidate.pr_number, "headSha": self.candidate.head_sha}
        queue = self.queue
        return {**place, "text": queue.text, "since": queue.since, "waitReason": queue.wait_reason}


@dataclass(slots=True)
class _Choice:
    """The attention so far."""

    finding: Finding
    layer: Layer | None
    issue: Issue


def stack_blockers(
    stack: Stack, entries: tuple[QueueEntry, ...], cursor: Cursor | None, now: float
) -> Assessment:
    """Assess a stack.

    Args:
        stack: the stack.
        entries: its own queue entries.
        cursor: what was reported before; None to report everything.
        now: seconds since the epoch.
    """
    layers = open_layers(stack)
    waiting = queue_wait(entries, now)
    choice, issues = _walk(stack, layers, entries, cursor, waiting, now)
    settle = _settling(stack, layers, choice, issues)
    if settle is not None:
        issues.append(settle)
    unlandable = _unlandable(stack, layers)
    if unlandable is not None:
        choice = unlandable
    layer = choice.layer if choice is not None else layers.candidate
    busy = agents_busy(layer, now) if layer is not None else Busy(vortex=False, cyclone=False)
    stalled = waiting is not None and waiting.stalled
    land_pr = open_land_pr(stack)
    reason = stack.unit.landing_block_reason if stack.unit is not None else None
    verdict = _held_back(stack, choice, issues, busy, waiting)
    return Assessment(
        candidate=layers.candidate,
        agents=agents_view(layer, busy) if layer is not None else None,
        land_gate=(
            {"prNumber": land_pr.pr_number, "headSha": land_pr.head_sha, "reason": one_line(reason or "")}
            if land_pr is not None and is_pending(reason)
            else None
        ),
        queue=None if stalled or layers.candidate is None else waiting,
        queue_live=waiting is not None,
        attention=verdict.attention,
        bounce=verdict.bounce,
        held=verdict.held,
        issues=verdict.issues,
        busy=verdict.busy,
        repair=verdict.repair,
    )


def _walk(
    stack: Stack,
    layers: OpenLayers,
    entries: tuple[QueueEntry, ...],
    cursor: Cursor | None,
    waiting: QueueWait | None,
    now: float,
) -> tuple[_Choice | None, list[Issue]]:
    choice: _Choice | None = None
    issues: list[Issue] = []
    waited_for = wait_layer(stack, layers)
    for place, layer in enumerate(layers.layers):
        is_candidate = layers.is_candidate(layer)
        view = LayerView(stack, layer, agents_busy(layer, now), entries, cursor, is_candidate, place == 0)
        finding = layer_finding(view)
        if finding is None and is_candidate:
            finding, bounced = _disarmed(stack, layer, entries)
            issues += bounced
        if finding is None and layer is waited_for:
            finding = wait_finding(stack, layer, now)
        if finding is None and is_candidate and not stack.archived:
            finding = _stuck_queue(waiting)
        if finding is None:
            if not stack.archived and layers.reaches(place):
                issues += _passing_troubles(layer)
            continue
        issue = Issue(layer.pr_number, layer.head_sha, finding.label, finding.bounce_kind)
        comes_first = is_candidate or finding.reason == "unit_abandoned"
        steps_in = choice is None and (layer is layers.child or finding.from_auto_land)
        if comes_first or steps_in:
            choice = _Choice(finding, layer, issue)
        elif layers.reaches(place):
            issues.append(issue)
    if choice is None and waited_for is not None and all(layer is not waited_for for layer in layers.layers):
        finding = wait_finding(stack, waited_for, now)
        if finding is not None:
            issue = Issue(waited_for.pr_number or None, waited_for.head_sha, finding.label)
            choice = _Choice(finding, waited_for, issue)
    return choice, issues


def _disarmed(
    stack: Stack, layer: Layer, entries: tuple[QueueEntry, ...]
) -> tuple[Finding | None, list[Issue]]:
    entry = disarming_bounce(stack, entries)
    if entry is None or entry.bounce is None:
        return None, []
    kind = entry.bounce.kind
    place = entry.bounce.pr_number or layer.pr_number
    bounced = Issue(place, entry.bounce_head, bounce_label(entry), kind)
    return Finding(f"Auto land off after {kind} bounce", "auto_land_off", kind, entry), [bounced]


def _stuck_queue(waiting: QueueWait | None) -> Finding | None:
    if waiting is None or not waiting.stalled:
        return None
    return Finding(f"Merge queue stuck: {waiting.text}", "queue_stalled")


def _passing_troubles(layer: Layer) -> list[Issue]:
    """What is not wrong yet but worth knowing (C.4)."""
    found = []
    if retry_scheduled(layer):
        found.append(Issue(layer.pr_number, layer.head_sha, _RETRY_LABEL))
    undecided = layer.mergeable is None and layer.mergeable_state == "pending"
    if undecided and layer.at_head(layer.mergeable_head_sha) and not is_park_branch(layer.parent_branch):
        found.append(Issue(layer.pr_number, layer.head_sha, _unknown_label(layer)))
    return found


def _unknown_label(layer: Layer | None) -> str:
    parent = layer.parent_branch if layer is not None and not is_park_branch(layer.parent_branch) else None
    return f"{_UNKNOWN_LABEL} vs {one_line(parent)}" if parent else _UNKNOWN_LABEL


def _settling(stack: Stack, layers: OpenLayers, choice: _Choice | None, issues: list[Issue]) -> Issue | None:
    """Auto land that waits for GitHub's verdict on a merge (C.5)."""
    settle = stack.settle
    if settle is None or settle.action != "mergeability" or settle.pr_number <= 0 or stack.archived:
        return None
    if choice is not None and choice.issue.pr_number == settle.pr_number:
        return None
    if any(item.pr_number == settle.pr_number and item.blocker.startswith(_UNKNOWN_LABEL) for item in issues):
        return None
    listed = (*layers.layers, *stack.layers)
    layer = next((item for item in listed if item.pr_number == settle.pr_number), None)
    if layer is not None and (layer.terminal or not same_head(layer.head_sha, settle.head_sha)):
        return None
    label = f"{_unknown_label(layer)}; Auto land is waiting for a mergeability verdict"
    return Issue(settle.pr_number, layer.head_sha if layer is not None else settle.head_sha, label)


def _unlandable(stack: Stack, layers: OpenLayers) -> _Choice | None:
    """A stack whose layers are all in, with no land PR to land them (C.6)."""
    unit = without_land_pr(stack) if layers.candidate is None else None
    if unit is None:
        return None
    land_pr = unit.land_pr
    number = unit.land_pr_number or (land_pr.pr_number if land_pr is not None else 0)
    if not number and stack.layers:
        number = stack.layers[-1].pr_number
    detail = gate_detail(unit.landing_block_reason)
    branch = one_line(unit.branch or "the review unit")
    label = f"No open land PR for {branch} — {one_line(detail or 'the layers are merged but cannot land')}"
    head = land_pr.head_sha if land_pr is not None else None
    return _Choice(Finding(label, "land_pr_missing"), None, Issue(number or None, head, label))


@dataclass(frozen=True, slots=True)
class _Verdict:
    attention: Issue | None
    bounce: QueueEntry | None
    held: Held | None
    issues: tuple[Issue, ...]
    busy: tuple[BusyAgent, ...]
    repair: dict[str, Any] | None


def _held_back(
    stack: Stack,
    choice: _Choice | None,
    issues: list[Issue],
    busy: Busy,
    waiting: QueueWait | None,
) -> _Verdict:
    """Whether the agents' work keeps the attention back (3.15 E)."""
    if choice is None:
        return _Verdict(None, None, None, tuple(issues), (), None)
    issue, finding, layer = choice.issue, choice.finding, choice.layer
    names = busy.names if layer is not None else []
    situation = Situation(stack, layer, finding, issue, waiting)
    if not names or layer is None:
        repair = repair_for(situation, finding.bounce)
        return _Verdict(issue, finding.bounce, None, tuple(issues), (), repair)
    agents = tuple(BusyAgent(layer.pr_number, layer.head_sha, name, finding.label) for name in names)
    if not _stays_named(stack, layer, finding):
        return _Verdict(None, None, None, tuple(issues), agents, None)
    held = Held(issue, tuple(names))
    return _Verdict(None, None, held, (issue, *issues), agents, repair_for(situation, None))


def _stays_named(stack: Stack, layer: Layer, finding: Finding) -> bool:
    if finding.reason not in NO_RUN_CLEARS:
        return False
    # Cyclone may resolve a conflict by itself, unless that is off, was given up, or it is the land PR's.
    handoff = layer.conflict_handoff
    gave_up = handoff is not None and layer.at_head(handoff.head_sha)
    resolving = stack.conflict_off is None and not is_land_pr(stack, layer) and not gave_up
    return not (finding.reason in _CONFLICTS and resolving)

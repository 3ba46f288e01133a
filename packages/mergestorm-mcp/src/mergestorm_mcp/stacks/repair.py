"""What to do about a blocker (contract 3.15 F): a kind, its facts, and steps in our own words.

Names of branches and repositories are other people's text and stand in shell commands here, so every one is quoted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.stacks.candidate import is_land_pr
from mergestorm_mcp.stacks.handoff_words import handoff_words
from mergestorm_mcp.stacks.land_gate import gate_detail
from mergestorm_mcp.stacks.layer_blockers import findings_handoff, skip_reason
from mergestorm_mcp.stacks.live_parent import live_parent
from mergestorm_mcp.stacks.model import Handoff, Layer, QueueEntry, Stack
from mergestorm_mcp.stacks.queue_wait import QueueWait
from mergestorm_mcp.stacks.seam_gate import STUCK_SEAM_REASONS
from mergestorm_mcp.stacks.verdicts import Finding, Issue
from mergestorm_mcp.text import one_line

__all__ = ["Situation", "repair_for"]

_MAX_FILES: Final = 200
_CONFLICT_LIST: Final = re.compile(r"conflict in ([^\r\n]+)", re.IGNORECASE)

_HANDS_OFF: Final = "Do not patch and do not push."


@dataclass(frozen=True, slots=True)
class Situation:
    """A blocker and everything around it.

    Attributes:
        stack: its stack.
        layer: the layer that is blocked; None for a land PR that does not exist.
        finding: why.
        issue: where.
        queue: the merge queue's wait.
    """

    stack: Stack
    layer: Layer | None
    finding: Finding
    issue: Issue
    queue: QueueWait | None

    @property
    def branch(self) -> str:
        """The blocked branch, safe in a shell command."""
        branch = self.layer.branch if self.layer is not None else None
        return shlex.quote(one_line(branch or "the-branch", 250))


def repair_for(situation: Situation, bounce: QueueEntry | None) -> dict[str, Any] | None:
    """The `repair` member of results; None where there is nothing concrete to do.

    Args:
        situation: the blocker.
        bounce: the bounce that is reported with it.
    """
    reason, kind = situation.finding.reason, situation.finding.bounce_kind
    build = _BY_REASON.get(reason)
    if build is None and kind in {"restack_conflict", "ci_failure"}:
        build = _conflict if kind == "restack_conflict" else _ci_failure
    if build is None:
        return None
    facts = build(situation, bounce)
    layer = situation.layer
    branch = (
        layer.branch if layer is not None else situation.stack.unit.branch if situation.stack.unit else None
    )
    kind_name, steps = facts.pop("kind"), facts.pop("steps")
    place = {"prNumber": situation.issue.pr_number, "headSha": situation.issue.head_sha, "branch": branch}
    return {"kind": kind_name, **place, "steps": steps, **facts}


def _conflict(situation: Situation, bounce: QueueEntry | None) -> dict[str, Any]:
    stack, layer = situation.stack, situation.layer
    assert layer is not None  # noqa: S101 - only a land PR that is missing has no layer, and that is another kind
    parent = live_parent(stack, layer)
    kind = "merge_conflict" if situation.finding.reason == "merge_conflict" else "restack_conflict"
    facts: dict[str, Any] = {"kind": kind, "liveParent": parent, "files": _files(layer, bounce)}
    note = _note(stack, layer, layer.conflict_handoff, stack.conflict_off, "resolve this conflict")
    if note is not None:
        facts["note"] = note
    if parent is None:
        facts["steps"] = (
            f"No live branch is known to merge {situation.branch} with. Stop, and ask the human which base it belongs on. "
            "Never merge or rebase onto an mg-park-* branch, and do not retarget the pull request."
        )
    else:
        source = shlex.quote(one_line(f"origin/{parent}", 250))
        facts["steps"] = (
            f"git fetch origin; check out the live head of {situation.branch}; git merge {source}; resolve the conflicts; "
            "run the tests; push without force. Never rebase onto the trunk or an mg-park-* branch, and do not change the "
            "pull request's base."
        )
    return facts


def _restack_failed(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    layer = situation.layer
    assert layer is not None  # noqa: S101 - see _conflict
    error = layer.restack_error
    parent = live_parent(situation.stack, layer)
    source = shlex.quote(one_line(f"origin/{parent}", 250)) if parent is not None else None
    merge = (
        f"merge {source} into {situation.branch}, test"
        if source
        else "ask the human which base it belongs on"
    )
    return {
        "kind": "restack_failed",
        "liveParent": parent,
        "restackKind": error.kind if error is not None else None,
        "steps": (
            f"Read why the restack failed, then fetch and check out the live head. If it lacks its base, {merge} and push "
            "without force. Otherwise ask the human to restack it on Mergestorm. Do not change the pull request's base."
        ),
    }


def _unit_abandoned(_situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "unit_abandoned",
        "steps": (
            f"{_HANDS_OFF} The review unit under this layer was given up, so nothing can land through it. Tell the human, "
            "who may start a new unit or move the pull request."
        ),
    }


def _seam_stuck(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    unit, layer = situation.stack.unit, situation.layer
    member = unit.member(layer) if unit is not None and layer is not None else None
    return {
        "kind": "seam_review_stuck",
        "seamState": member.seam_state if member is not None else None,
        "steps": (
            f"{_HANDS_OFF} Ask the human to press Continue on this member on Mergestorm: that queues its seam review again "
            "at the live head."
        ),
    }


def _auto_land_off(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "auto_land_off",
        "bounceKind": situation.finding.bounce_kind,
        "steps": (
            "Find out why the merge queue threw the stack back and mend that first. Then set auto_land to true with "
            "stack_set: once for this bounce, three times at most in one watch. After that ask the human."
        ),
    }


def _vortex_failed(_situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "vortex_failed",
        "detail": None,
        "steps": (
            f"{_HANDS_OFF} The review itself failed, not the code. Ask the human to start it again on Mergestorm, then wait."
        ),
    }


def _vortex_skipped(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    reason = skip_reason(situation.layer) if situation.layer is not None else None
    return {
        "kind": "vortex_skipped",
        "skipReason": reason,
        "steps": f"{_HANDS_OFF} {_SKIP_STEPS.get(reason or '', _SKIP_STEPS[''])}",
    }


_SKIP_STEPS: Final = {
    "auto_review_off": "Ask the human to turn auto-review on, or to start this review on Mergestorm.",
    "billing_blocked": "Ask the human to look at the account's billing, then to start the review again.",
    "billing_unavailable": "Ask the human to look at the account's billing, then to start the review again.",
    "ignored_author": "Ask the human to take the author off the ignored list, or to land this without a review.",
    "repo_disabled": "Ask the human to turn reviews on for this repository, then to start the review.",
    "incomplete": "Ask the human to let the review continue on Mergestorm, so that it covers the whole pull request.",
    "": "Ask the human to start the review on Mergestorm.",
}


def _members_remaining(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "members_remaining",
        "detail": _wait_detail(situation.stack),
        "steps": (
            f"{_HANDS_OFF} Some layers are not in the review unit. Tell the human which, to promote them or take them out."
        ),
    }


def _ci_pending(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "ci_pending",
        "since": _wait_since(situation.stack),
        "steps": (
            f"Look which check of {situation.branch} does not finish and why. Run it again if you may; otherwise tell the "
            "human which one it is. Do not push just to start it."
        ),
    }


def _vortex_not_green(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    number = situation.issue.pr_number
    return {
        "kind": "vortex_not_green",
        "since": _wait_since(situation.stack),
        "steps": (
            f"Read the review of #{number} with review_wait_pr. Mend what it found; if there is no review of this head, "
            "ask the human to start one."
        ),
    }


def _ci_unreadable(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "ci_unreadable",
        **_wait_facts(situation.stack),
        "steps": (
            f"{_HANDS_OFF} Mergestorm cannot read this head's CI. Ask the human to check that the Mergestorm Surge App is "
            "installed on the repository and may read checks and statuses."
        ),
    }


def _auto_land_waiting(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    return {
        "kind": "auto_land_waiting",
        **_wait_facts(situation.stack),
        "steps": (
            "Read stack_status and see whether the named reason still holds. Mend it if it is in the branch; if it is on "
            "Mergestorm or GitHub, tell the human what Auto land waits for."
        ),
    }


def _promote_failed(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    wait = situation.stack.auto_land_wait
    return {
        "kind": "promote_failed",
        "attempts": wait.attempts if wait is not None else None,
        "message": _wait_detail(situation.stack),
        "steps": (
            "Read why the layer does not merge into its unit. Mend a cause that is in the branch with an ordinary push; "
            "otherwise tell the human. Do not switch Auto land off and on."
        ),
    }


def _vortex_findings(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    stack, layer = situation.stack, situation.layer
    reason = findings_handoff(stack, layer) if layer is not None else None
    path = f"repos/{stack.owner}/{stack.repo}/pulls/{situation.issue.pr_number}/reviews"
    why = f" (Cyclone will not patch: {handoff_words(reason)})" if reason is not None else ""
    return {
        "kind": "vortex_findings",
        "handoff": reason,
        "findings": f"gh api {shlex.quote(one_line(path))}",
        "steps": (
            f"Read the findings{why}. Check each against the checkout. Mend the real ones with the smallest patch, test and "
            "push without force. Dismiss with review_dismiss only what you have proved wrong."
        ),
    }


def _ci_failure(situation: Situation, bounce: QueueEntry | None) -> dict[str, Any]:
    stack, layer = situation.stack, situation.layer
    assert layer is not None  # noqa: S101 - see _conflict
    check = layer.checks.failing_name if layer.checks is not None else None
    if bounce is not None and bounce.bounce is not None and bounce.bounce.failing_check:
        check = bounce.bounce.failing_check
    facts: dict[str, Any] = {"kind": "ci_failure", "failingCheck": one_line(check) if check else None}
    note = _note(stack, layer, layer.ci_handoff, stack.ci_off, "fix this check")
    if note is not None:
        facts["note"] = note
    facts["steps"] = (
        f"Read the failing run of {situation.branch}. Make the smallest fix and run the tests. See that the remote head has "
        "not moved, then push without force."
    )
    return facts


def _queue_stalled(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    queue = situation.queue
    if queue is not None and queue.picked_up:
        steps = "Read queue_status for what the queue is doing. Tell the human what it is stuck on; do not push to move it."
    else:
        steps = f"{_HANDS_OFF} The merge queue does not pick the stack up. Tell the human to look at it on Mergestorm."
    return {
        "kind": "queue_stalled",
        "since": queue.since if queue is not None else None,
        "waitReason": queue.wait_reason if queue is not None else None,
        "steps": steps,
    }


def _land_pr_unavailable(situation: Situation, _bounce: QueueEntry | None) -> dict[str, Any]:
    unit = situation.stack.unit
    detail = gate_detail(unit.landing_block_reason) if unit is not None else None
    return {
        "kind": "land_pr_unavailable",
        "detail": one_line(detail) if detail else None,
        "steps": (
            f"{_HANDS_OFF} Every layer is merged, but no land PR is open to bring them to the trunk. Tell the human to "
            "open it again on Mergestorm."
        ),
    }


_BY_REASON: Final[dict[str, Callable[[Situation, QueueEntry | None], dict[str, Any]]]] = {
    "queue_stalled": _queue_stalled,
    "restack_conflict": _conflict,
    "merge_conflict": _conflict,
    "restack_failed": _restack_failed,
    "unit_abandoned": _unit_abandoned,
    **dict.fromkeys(STUCK_SEAM_REASONS, _seam_stuck),
    "auto_land_off": _auto_land_off,
    "vortex_failed": _vortex_failed,
    "vortex_skipped": _vortex_skipped,
    "auto_land_members_remaining": _members_remaining,
    "auto_land_ci_pending": _ci_pending,
    "auto_land_vortex_wait": _vortex_not_green,
    "auto_land_ci_unreadable": _ci_unreadable,
    "auto_land_waited": _auto_land_waiting,
    "auto_land_promote_failed": _promote_failed,
    "vortex_findings_need_person": _vortex_findings,
    "ci_failed": _ci_failure,
    "land_pr_missing": _land_pr_unavailable,
}


def _note(stack: Stack, layer: Layer, handoff: Handoff | None, off: str | None, task: str) -> str | None:
    """Why Cyclone leaves this to somebody else. It never repairs a land PR, so there it needs no saying."""
    if is_land_pr(stack, layer):
        return None
    if handoff is not None and layer.at_head(handoff.head_sha):
        return f"Cyclone did not {task}: {handoff_words(handoff.reason or 'handed_off')}."
    return f"Cyclone will not {task}: {handoff_words(off)}." if off is not None else None


def _files(layer: Layer, bounce: QueueEntry | None) -> list[str]:
    if bounce is not None and bounce.bounce is not None and bounce.bounce.conflict_paths:
        return [one_line(path, 500) for path in bounce.bounce.conflict_paths[:_MAX_FILES]]
    details = (layer.restack_error.detail if layer.restack_error is not None else None, layer.conflict_detail)
    for detail in details:
        listed = _CONFLICT_LIST.search(detail or "")
        if listed is not None:
            names = [one_line(name, 500) for name in listed.group(1).split(",")]
            return [name for name in names if name][:_MAX_FILES]
    return []


def _wait_since(stack: Stack) -> str | None:
    return stack.auto_land_wait.since if stack.auto_land_wait is not None else None


def _wait_detail(stack: Stack) -> str | None:
    wait = stack.auto_land_wait
    return one_line(wait.detail) if wait is not None and wait.detail else None


def _wait_facts(stack: Stack) -> dict[str, Any]:
    wait = stack.auto_land_wait
    return {"since": _wait_since(stack), "reason": wait.reason if wait is not None else None}

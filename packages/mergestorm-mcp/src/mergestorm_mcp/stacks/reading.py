"""What `stack_list`, `stack_status` and `queue_status` answer (contract 3.9, 3.11, 3.12)."""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.answers import Answer, failure, limited, named, success
from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit
from mergestorm_mcp.api.stacks import get_queue, get_stacks, get_stacks_enriched
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.stacks.blockers import stack_blockers
from mergestorm_mcp.stacks.lines import blockers_summary, queue_line, repair_line, stack_line
from mergestorm_mcp.stacks.model import Stack, read_entries, same_id
from mergestorm_mcp.stacks.obligation import done_watch, open_watch, terminal_reason
from mergestorm_mcp.stacks.reader import entries_of, find_stack, listed_stacks
from mergestorm_mcp.text import one_line, plain

__all__ = ["MAX_SUMMARY", "list_queue", "list_stacks", "stack_status"]

MAX_SUMMARY: Final = 12_000
"""Characters of a summary."""

_MAX_LINES: Final = 100


async def list_stacks(runtime: Runtime) -> Answer:
    """The stacks of the key's owner, one line each."""
    api = runtime.api()
    try:
        reply = await get_stacks(api)
        _check_read(reply, "list stacks")
        stacks = listed_stacks(reply.body) or []
        raw_entries = await _entries(api, None) if stacks else []
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return limited(error)
    lines = []
    for raw in stacks[:_MAX_LINES]:
        stack = Stack.read(raw)
        entries = read_entries(raw_entries, stack.id)
        assessment = stack_blockers(stack, entries, None, runtime.clock.now())
        summary = blockers_summary(_status_fields(assessment)) if stack.layers_known else ""
        lines.append(f"{stack_line(stack, summary)} · stack {one_line(stack.id, 100)}")
    if len(stacks) > _MAX_LINES:
        lines.append(f"and {len(stacks) - _MAX_LINES} more")
    return success(plain("\n".join(lines) or "No stacks", MAX_SUMMARY), {"stacks": stacks})


async def stack_status(runtime: Runtime, stack_id: str) -> Answer:
    """One stack now: what holds it up, who is at work, and what to do next."""
    api = runtime.api()
    try:
        reply = await get_stacks_enriched(api, stack_id)
        _check_read(reply, "read the stack")
        listed = listed_stacks(reply.body)
        if listed is None:
            raise CommandError("Mergestorm's answer lists no stacks; call again in a while.")
        raw = find_stack(listed, stack_id)
        if raw is None:
            watch = done_watch("not_found")
            message = f"Stack not found: {one_line(stack_id, 200)}."
            error = {"code": "stack_not_found", "message": message, "stack_id": stack_id}
            return failure(f"{watch['message']}\n\n{message}", {"error": error, "watch": watch})
        stack = Stack.read(raw)
        if not stack.layers_known:
            raise CommandError("Mergestorm's answer lists no layers; call again in a while.")
        raw_entries = await _entries(api, str(raw["id"]).strip())
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return limited(
            error, open_watch(stack_id, reason="rate_limited", retry_after=error.retry_after_seconds)
        )
    assessment = stack_blockers(stack, read_entries(raw_entries, stack.id), None, runtime.clock.now())
    ended = terminal_reason(stack)
    attention = assessment.attention
    head = assessment.candidate.head_sha if assessment.candidate is not None else None
    watch = (
        done_watch(ended)
        if ended is not None
        else open_watch(
            stack.id,
            reason="open" if attention is None else "attention",
            selectors={"enrolled_head_sha": head},
            fresh=True,
            pr_number=attention.pr_number if attention is not None else None,
            blocker=attention.blocker if attention is not None else None,
        )
    )
    fields = _status_fields(assessment)
    lines = [watch["message"], "", stack_line(stack, blockers_summary(fields))]
    repair = repair_line(assessment.repair)
    lines += [repair] if repair is not None else []
    shown = {name: value for name, value in fields.items() if name != "queueWait"}
    return success(plain("\n".join(lines), MAX_SUMMARY), {"stack": raw, **shown, "watch": watch})


def _status_fields(assessment: Any) -> dict[str, Any]:
    attention, held = assessment.attention, assessment.held
    return {
        "attention": attention.wire() if attention is not None else None,
        "held": held.wire() if held is not None else None,
        "issues": [issue.wire() for issue in assessment.issues],
        "currentCandidate": assessment.candidate_wire(),
        "busy": [item.wire() for item in assessment.busy],
        "agents": assessment.agents,
        "repair": assessment.repair,
        "landGatePending": assessment.land_gate,
        "queueWait": assessment.queue_wire(),
    }


async def list_queue(runtime: Runtime, stack_id: str | None) -> Answer:
    """The merge queue, of one stack or of all."""
    try:
        raw = await _entries(runtime.api(), stack_id)
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return limited(error)
    kept = [
        item
        for item in raw
        if isinstance(item, dict)
        and (
            stack_id is None or (isinstance(item.get("stackId"), str) and same_id(item["stackId"], stack_id))
        )
    ]
    if stack_id is not None and not kept:
        message = f"The merge queue has no entry, live or bounced, of stack {one_line(stack_id, 200)}."
        error_members = {"code": "queue_entry_not_found", "message": message, "stack_id": stack_id}
        return failure(named("queue_entry_not_found", None, message), {"error": error_members})
    lines = [queue_line(entry) for entry in read_entries(kept[:_MAX_LINES])]
    if len(kept) > _MAX_LINES:
        lines.append(f"and {len(kept) - _MAX_LINES} more")
    text = "\n".join(lines) or "No merge queue entries (live or bounced)"
    return success(plain(text, MAX_SUMMARY), {"entries": kept})


async def _entries(api: Api, stack_id: str | None) -> list[Any]:
    """The merge queue's entries, of one stack or of all.

    Raises:
        CommandError: `rate_limited`, or without a code for any other answer than a list.
    """
    reply = await get_queue(api, stack_id)
    _check_read(reply, "get queue status")
    entries = entries_of(reply.body)
    if entries is None:
        raise failed_to("get queue status", reply)
    return entries


def _check_read(reply: Reply, what: str) -> None:
    if reply.ok:
        return
    raise_rate_limit(reply)
    if reply.status == 404:
        raise CommandError(
            f"Failed to {what}: this Mergestorm service does not offer it (HTTP 404); update it."
        )
    raise failed_to(what, reply)

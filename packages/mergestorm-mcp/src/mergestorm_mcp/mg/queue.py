"""`mg queue`: the list is a tool's; putting a stack in and taking one out are the command line's own.

No tool offers these two writes. Neither is ever repeated.
"""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal
from mergestorm_mcp.api.stacks import cancel_entry, enqueue, get_queue
from mergestorm_mcp.errors import CommandError, usage
from mergestorm_mcp.mg.outcome import Call, Outcome
from mergestorm_mcp.mg.parser import is_stack_id
from mergestorm_mcp.stacks.model import LIVE_STATES, read_entries
from mergestorm_mcp.stacks.reader import entries_of

__all__ = ["COMMANDS"]

_CODES: Final = frozenset({"busy", "ci_failed", "conflict_unchanged", "forbidden", "github_unreadable"})


async def queue(call: Call) -> Outcome:
    """List the queue, add a stack, or remove one."""
    verb, target = call.values.get("verb", "list"), call.values.get("target", "").strip()
    if verb == "list":
        if target:
            raise usage("mg queue list takes no id; --stack ID lists one stack.")
        from mergestorm_mcp.mg.twins import queue_list

        return await queue_list(call)
    if not target or "stack_id" in call.values:
        raise usage(f"Name what to {verb}: mg queue {verb} ID.")
    if verb == "add":
        return await _add(call.runtime.api(), target)
    return await _remove(call.runtime.api(), target)


COMMANDS: Final = {"queue": queue}


async def _add(api: Api, stack_id: str) -> Outcome:
    if not is_stack_id(stack_id):
        raise usage("mg queue add takes a stack id; mg stack list names them.")
    reply = await enqueue(api, stack_id.lower())
    if not 200 <= reply.status < 300:
        raise _refusal("queue the stack", reply, "There is no such stack; mg stack list names them.")
    document = _answer(reply)
    was_there = document.get("duplicate") is True
    text = f"Stack {stack_id.lower()} {'was in the queue already' if was_there else 'is in the queue'}."
    return Outcome(document, lambda terminal: terminal.line(text))


async def _remove(api: Api, wanted: str) -> Outcome:
    entry = await _live_entry(api, wanted.lower()) if is_stack_id(wanted) else None
    entry_id = entry or wanted
    reply = await cancel_entry(api, entry_id)
    if not 200 <= reply.status < 300:
        raise _refusal("take the entry out of the queue", reply, "The queue has no such entry; see mg queue.")
    text = f"Asked for entry {entry_id} to be taken out; mg queue shows when it is."
    return Outcome({"entry_id": entry_id, **_answer(reply)}, lambda terminal: terminal.line(text))


async def _live_entry(api: Api, stack_id: str) -> str | None:
    """The entry of a stack that is on its way; None where the id is no stack's, for it may be an entry's."""
    reply = await get_queue(api, stack_id)
    raise_rate_limit(reply)
    listed = entries_of(reply.body) if reply.ok else None
    if listed is None:
        raise failed_to("read the queue", reply)
    entries = read_entries(listed, stack_id)
    live = [entry for entry in entries if entry.state in LIVE_STATES and entry.id]
    if live:
        return live[0].id
    if entries:
        raise CommandError(
            "That stack is not in the queue: it has landed, bounced or been taken out.",
            code="queue_entry_not_found",
        )
    return None


def _refusal(what: str, reply: Reply, missing: str) -> CommandError:
    raise_rate_limit(reply)
    surge = surge_refusal(reply)
    if surge is not None:
        return surge
    code = reply.text("error")
    if reply.status == 404 and code in {"stack_not_found", "entry_not_found"}:
        return CommandError(
            missing, code="stack_not_found" if code == "stack_not_found" else "queue_entry_not_found"
        )
    return CommandError(
        service_words(reply) or failed_to(what, reply).message, code=code if code in _CODES else None
    )


def _answer(reply: Reply) -> dict[str, Any]:
    return dict(reply.body) if isinstance(reply.body, dict) else {}

"""What `stack_adopt` and `stack_set` do: register a chain of pull requests, change a stack's policy (contract 3.8, 3.10).

Both are one write that is never repeated, and both hand over the watch contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mergestorm_mcp.answers import Answer, invalid_input, success, thrown
from mergestorm_mcp.api.client import Reply
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal
from mergestorm_mcp.api.stacks import adopt, set_policy
from mergestorm_mcp.errors import ADOPT_CODES, CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.stacks.obligation import open_watch
from mergestorm_mcp.text import one_line

__all__ = ["adopt_stack", "set_stack"]

_POLICY: Final = {
    "auto_land": "autoEnqueueWhenReady",
    "auto_review": "autoReviewOverride",
    "auto_patch": "autoPatchOverride",
    "auto_resolve_conflicts": "autoResolveConflictsOverride",
    "auto_fix_ci": "autoFixCiOverride",
}
"""Arguments and what the service calls them."""

_ADOPT_FALLBACKS: Final = {
    "not_stacked": "That pull request is not part of a chain of pull requests; name one that another one builds on.",
    "supabase_unconfigured": "This Mergestorm service has no storage for stacks; tell whoever runs it.",
}


async def adopt_stack(
    runtime: Runtime, owner: str, repo: str, number: int, policy: Mapping[str, Any]
) -> Answer:
    """Register the chain that a pull request belongs to as a stack.

    Args:
        runtime: the outside world.
        owner: of the repository.
        repo: its name.
        number: a pull request of the chain.
        policy: what to pin, by the tool's argument names.
    """
    if not owner or not repo:
        return invalid_input("owner and repo must name a repository.")
    request = {"owner": owner, "repo": repo, "prNumber": number, **_body(policy)}
    try:
        reply = await adopt(runtime.api(), request)
        if not reply.ok:
            raise _adopt_refusal(reply)
        if not isinstance(reply.body, dict):
            raise CommandError(
                "Mergestorm's answer is no result, so it is not known whether the stack was adopted: read stack_list before "
                "you try again."
            )
    except CommandError as error:
        if error.code is not None:
            return thrown(error)
        coded = CommandError(
            error.message,
            exit_code=error.exit_code,
            code="stack_adopt_failed",
            retry_after_seconds=error.retry_after_seconds,
        )
        return thrown(coded)
    result = reply.body
    data: dict[str, Any] = {"owner": owner, "repo": repo, "pr_number": number, "result": result}
    stack = reply.member("stack")
    stack_id = stack.get("id") if isinstance(stack, dict) else None
    text = one_line(f"Adopted {owner}/{repo}#{number}", 400)
    if not isinstance(stack_id, str) or not stack_id.strip():
        return success(text, data)
    watch = open_watch(stack_id.strip(), reason="unread", fresh=True)
    lines = f"{text} as stack {one_line(stack_id.strip(), 200)}. Check policy and Cyclone ownership with stack_status."
    return success(f"{watch['message']}\n\n{lines}", {**data, "watch": watch})


def _adopt_refusal(reply: Reply) -> CommandError:
    raise_rate_limit(reply)
    refusal = surge_refusal(reply)
    if refusal is not None:
        return refusal
    code = reply.text("error")
    message = (
        service_words(reply)
        or _ADOPT_FALLBACKS.get(code or "")
        or failed_to("import the stack", reply).message
    )
    return CommandError(message, code=code if code in ADOPT_CODES else None)


async def set_stack(runtime: Runtime, stack_id: str, policy: Mapping[str, Any]) -> Answer:
    """Change the policy of one stack; arguments as `adopt_stack`."""
    if not stack_id:
        return invalid_input("stack_id is blank; stack_list names the stacks there are.")
    if not policy:
        return invalid_input(f"Nothing to set; pass at least one of {', '.join(_POLICY)}.", stack_id=stack_id)
    reply = await set_policy(runtime.api(), stack_id, _body(policy))
    if not reply.ok:
        raise _set_refusal(reply, stack_id)
    if not isinstance(reply.body, dict):
        raise CommandError(
            "Mergestorm's answer is no result, so it is not known whether the policy was set: read stack_status before you "
            "try again."
        )
    watch = open_watch(stack_id, reason="unread", fresh=True)
    states = ", ".join(_policy_words(name, value) for name, value in policy.items())
    text = one_line(f"{states} for stack {stack_id}", 600)
    data = {"stack_id": stack_id, **policy, "result": reply.body, "watch": watch}
    return success(f"{watch['message']}\n\n{text}", data)


def _policy_words(name: str, value: bool | None) -> str:
    shown = "Auto land" if name == "auto_land" else name.replace("_", "-")
    return f"{shown} {'default' if value is None else 'on' if value else 'off'}"


def _set_refusal(reply: Reply, stack_id: str) -> CommandError:
    raise_rate_limit(reply)
    refusal = surge_refusal(reply)
    if refusal is not None:
        return refusal
    code = reply.text("error")
    if reply.status == 404 and code == "stack_not_found":
        return CommandError(
            f"Stack not found: {one_line(stack_id, 200)}. stack_list names the stacks there are."
        )
    words = service_words(reply)
    if code == "cyclone_not_connected":
        return CommandError(words or "Cyclone is not connected to this repository.", code=code)
    return CommandError(words) if words is not None else failed_to("set the stack's policy", reply)


def _body(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {_POLICY[name]: value for name, value in policy.items()}

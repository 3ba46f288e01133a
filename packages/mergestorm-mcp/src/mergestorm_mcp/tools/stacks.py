"""The stack tools: stack_adopt, stack_list, stack_set, stack_status, stack_wait, queue_status (contract 3.8 to 3.14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastmcp.tools import ToolResult
from pydantic import Field, WithJsonSchema

from mcpkit.annotations import DESTRUCTIVE_WRITE, IDEMPOTENT_DESTRUCTIVE_WRITE, READ
from mcpkit.inputs import ABSENT, JsonInteger, NullableBoolean, given
from mcpkit.server import KitTool
from mergestorm_mcp.errors import ADOPT_CODES, CommandError, usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import plain
from mergestorm_mcp.tools.kit import (
    ARRAY,
    BOOLEAN,
    BOOLEAN_OR_NULL,
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER,
    OBJECT,
    OBJECT_OR_NULL,
    STRING,
    STRING_OR_NULL,
    NonEmpty,
    NullableText,
    declare,
    failure,
    named,
    output,
    progress_reporter,
    success,
    thrown,
)

if TYPE_CHECKING:
    from mergestorm_mcp.api.client import Api, Reply
    from mergestorm_mcp.stacks.envelope import WatchEnvelope

__all__ = ["tools"]

_MAX_SUMMARY: Final = 12_000
_MAX_LINES: Final = 100
_DEFAULT_WAIT: Final = 45.0

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

Owner = Annotated[NonEmpty, Field(max_length=200, description="Repository owner.")]
Repo = Annotated[NonEmpty, Field(max_length=200, description="Repository name.")]
PrNumber = Annotated[
    JsonInteger,
    Field(ge=1, description="A pull request of the chain."),
    WithJsonSchema({"type": "integer", "minimum": 1}),
]
StackId = Annotated[NonEmpty, Field(max_length=200, description="Stack id.")]
OptionalStackId = Annotated[NonEmpty, Field(max_length=200, description="Only this stack.")]
AutoLand = Annotated[bool, Field(description="Auto land.")]
AutoReview = Annotated[NullableBoolean, Field(description="Vortex auto-review.")]
AutoPatch = Annotated[NullableBoolean, Field(description="Cyclone auto-patch.")]
AutoResolve = Annotated[NullableBoolean, Field(description="Resolve merge conflicts.")]
AutoFixCi = Annotated[NullableBoolean, Field(description="Fix failing CI.")]
WaitSeconds = Annotated[
    float,
    Field(ge=0, le=45, allow_inf_nan=False, description="Seconds to wait, 0 to 45; 0 takes one snapshot."),
]
EnrolledHead = Annotated[
    NullableText, Field(description="Cursor: head when the watch began, or the SHA you pushed.")
]
AfterFinished = Annotated[NullableText, Field(description="Cursor: when the last reported bounce finished.")]
BounceId = Annotated[NullableText, Field(description="Cursor: last reported bounce.")]

_FOLLOW: Final = "Follow watch.next.args until watch.done."


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def stack_adopt(
        owner: Owner,
        repo: Repo,
        pr_number: PrNumber,
        auto_land: AutoLand | None = None,
        auto_review: AutoReview = ABSENT,
        auto_patch: AutoPatch = ABSENT,
        auto_resolve_conflicts: AutoResolve = ABSENT,
        auto_fix_ci: AutoFixCi = ABSENT,
    ) -> ToolResult:
        policy = given(
            auto_land=ABSENT if auto_land is None else auto_land,
            auto_review=auto_review,
            auto_patch=auto_patch,
            auto_resolve_conflicts=auto_resolve_conflicts,
            auto_fix_ci=auto_fix_ci,
        )
        return await _adopt(runtime, owner.strip(), repo.strip(), pr_number, policy)

    async def stack_list() -> ToolResult:
        return await _list(runtime)

    async def stack_set(
        stack_id: StackId,
        auto_land: AutoLand | None = None,
        auto_review: AutoReview = ABSENT,
        auto_patch: AutoPatch = ABSENT,
        auto_resolve_conflicts: AutoResolve = ABSENT,
        auto_fix_ci: AutoFixCi = ABSENT,
    ) -> ToolResult:
        policy = given(
            auto_land=ABSENT if auto_land is None else auto_land,
            auto_review=auto_review,
            auto_patch=auto_patch,
            auto_resolve_conflicts=auto_resolve_conflicts,
            auto_fix_ci=auto_fix_ci,
        )
        return await _set(runtime, stack_id.strip(), policy)

    async def stack_status(stack_id: StackId) -> ToolResult:
        return await _status(runtime, _named_stack(stack_id))

    async def stack_wait(
        stack_id: StackId,
        timeout_s: WaitSeconds = _DEFAULT_WAIT,
        enrolled_head_sha: EnrolledHead = ABSENT,
        after_finished_at: AfterFinished = ABSENT,
        bounce_id: BounceId = ABSENT,
    ) -> ToolResult:
        selectors = given(
            enrolled_head_sha=enrolled_head_sha, after_finished_at=after_finished_at, bounce_id=bounce_id
        )
        return await _wait(runtime, _named_stack(stack_id), timeout_s, selectors)

    async def queue_status(stack_id: OptionalStackId | None = None) -> ToolResult:
        return await _queue(runtime, _named_stack(stack_id) if stack_id is not None else None)

    return [
        declare(
            stack_adopt,
            title="Adopt PR stack",
            description=(
                "Register an open chain of pull requests as a stack. Policy left out follows the account (it does not "
                f"force Cyclone off); null clears a pin. Check the result with stack_status. {_FOLLOW}"
            ),
            annotations=DESTRUCTIVE_WRITE,
            output_schema=output(owner=STRING, repo=STRING, pr_number=INTEGER, result=OBJECT, watch=OBJECT),
        ),
        declare(
            stack_list,
            title="List stacks",
            description="The key owner's stacks, one line each. The shared queue drops old bounces: ask stack_status.",
            annotations=READ,
            output_schema=output(stacks=ARRAY),
        ),
        declare(
            stack_set,
            title="Set stack policy",
            description=(
                "Change policy of one stack: true or false pins it, null lets it follow the account again. At least one. "
                f"{_FOLLOW}"
            ),
            annotations=IDEMPOTENT_DESTRUCTIVE_WRITE,
            output_schema=output(
                stack_id=STRING,
                auto_land=BOOLEAN,
                auto_review=BOOLEAN_OR_NULL,
                auto_patch=BOOLEAN_OR_NULL,
                auto_resolve_conflicts=BOOLEAN_OR_NULL,
                auto_fix_ci=BOOLEAN_OR_NULL,
                result=OBJECT,
                watch=OBJECT,
            ),
        ),
        declare(
            stack_status,
            title="Get stack status",
            description=(
                "One stack now: attention (act on it), held (act when the agents are idle), issues, repair, who is busy. "
                f"{_FOLLOW}"
            ),
            annotations=READ,
            output_schema=output(
                stack=OBJECT,
                attention=OBJECT_OR_NULL,
                held=OBJECT_OR_NULL,
                issues=ARRAY,
                currentCandidate=OBJECT_OR_NULL,
                busy=ARRAY,
                agents=OBJECT_OR_NULL,
                repair=OBJECT_OR_NULL,
                landGatePending=OBJECT_OR_NULL,
                watch=OBJECT,
            ),
        ),
        declare(
            stack_wait,
            title="Wait for stack attention",
            description=(
                "Wait until a stack needs you or ends. waiting and in_progress: call again with watch.next.args. Busy "
                f"agents mean wait. A lost cursor means a fresh snapshot. {_FOLLOW}"
            ),
            annotations=READ,
            output_schema=output(
                schema=STRING,
                status=STRING,
                stackId=STRING,
                blocker=STRING_OR_NULL,
                bounceKind=STRING_OR_NULL,
                prNumber=INTEGER_OR_NULL,
                headSha=STRING_OR_NULL,
                cursor=OBJECT,
                issues=ARRAY,
                currentCandidate=OBJECT_OR_NULL,
                assessment=STRING,
                busy=ARRAY,
                actAfter=STRING_OR_NULL,
                waitingOn=ARRAY,
                agents=OBJECT_OR_NULL,
                repair=OBJECT_OR_NULL,
                landGatePending=OBJECT_OR_NULL,
                queueWait=OBJECT_OR_NULL,
                watch=OBJECT,
                retry_after_seconds=NUMBER,
            ),
        ),
        declare(
            queue_status,
            title="Get merge queue status",
            description="Merge queue entries: live ones, and those that bounced.",
            annotations=READ,
            output_schema=output(entries=ARRAY),
        ),
    ]


def _named_stack(stack_id: str) -> str:
    wanted = stack_id.strip()
    if not wanted:
        raise usage("stack_id is blank; stack_list names the stacks there are.")
    return wanted


def _invalid(message: str, **members: Any) -> ToolResult:
    error = {"code": "invalid_input", "message": message, **members}
    return failure(named("invalid_input", None, message), {"error": error})


def _limited(error: CommandError, watch: Mapping[str, Any] | None = None) -> ToolResult:
    members: dict[str, Any] = {"code": "rate_limited", "message": error.message}
    if error.retry_after_seconds is not None:
        members["retry_after_seconds"] = error.retry_after_seconds
    data: dict[str, Any] = {"error": members}
    text = named("rate_limited", None, error.message)
    if watch is not None:
        data["watch"] = watch
        text = f"{watch['message']}\n\n{text}"
    return failure(text, data)


def _body(policy: Mapping[str, Any]) -> dict[str, Any]:
    return {_POLICY[name]: value for name, value in policy.items()}


# -- stack_adopt ---------------------------------------------------------------------------------------------------


async def _adopt(
    runtime: Runtime, owner: str, repo: str, number: int, policy: Mapping[str, Any]
) -> ToolResult:
    from mergestorm_mcp.api.stacks import adopt  # httpx is not needed for a handshake
    from mergestorm_mcp.stacks.obligation import open_watch

    if not owner or not repo:
        return _invalid("owner and repo must name a repository.")
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
    text = plain(f"Adopted {owner}/{repo}#{number}", 400)
    if not isinstance(stack_id, str) or not stack_id.strip():
        return success(text, data)
    watch = open_watch(stack_id.strip(), reason="unread", fresh=True)
    lines = f"{text} as stack {plain(stack_id.strip(), 200)}. Check policy and Cyclone ownership with stack_status."
    return success(f"{watch['message']}\n\n{lines}", {**data, "watch": watch})


def _adopt_refusal(reply: Reply) -> CommandError:
    from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal

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


# -- stack_list ----------------------------------------------------------------------------------------------------


async def _list(runtime: Runtime) -> ToolResult:
    from mergestorm_mcp.api.stacks import get_stacks
    from mergestorm_mcp.stacks.blockers import stack_blockers
    from mergestorm_mcp.stacks.lines import blockers_summary, stack_line
    from mergestorm_mcp.stacks.model import Stack, read_entries
    from mergestorm_mcp.stacks.reader import listed_stacks

    api = runtime.api()
    try:
        reply = await get_stacks(api)
        _check_read(reply, "list stacks")
        stacks = listed_stacks(reply.body) or []
        raw_entries = await _entries(api, None) if stacks else []
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return _limited(error)
    lines = []
    for raw in stacks[:_MAX_LINES]:
        stack = Stack.read(raw)
        entries = read_entries(raw_entries, stack.id)
        assessment = stack_blockers(stack, entries, None, runtime.clock.now())
        summary = blockers_summary(_status_fields(assessment)) if stack.layers_known else ""
        lines.append(f"{stack_line(stack, summary)} · stack {plain(stack.id, 100)}")
    if len(stacks) > _MAX_LINES:
        lines.append(f"and {len(stacks) - _MAX_LINES} more")
    return success(plain("\n".join(lines) or "No stacks", _MAX_SUMMARY), {"stacks": stacks})


# -- stack_set -----------------------------------------------------------------------------------------------------


async def _set(runtime: Runtime, stack_id: str, policy: Mapping[str, Any]) -> ToolResult:
    from mergestorm_mcp.api.stacks import set_policy
    from mergestorm_mcp.stacks.obligation import open_watch

    if not stack_id:
        return _invalid("stack_id is blank; stack_list names the stacks there are.")
    if not policy:
        return _invalid(f"Nothing to set; pass at least one of {', '.join(_POLICY)}.", stack_id=stack_id)
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
    text = plain(f"{states} for stack {stack_id}", 600)
    data = {"stack_id": stack_id, **policy, "result": reply.body, "watch": watch}
    return success(f"{watch['message']}\n\n{text}", data)


def _policy_words(name: str, value: bool | None) -> str:
    shown = "Auto land" if name == "auto_land" else name.replace("_", "-")
    return f"{shown} {'default' if value is None else 'on' if value else 'off'}"


def _set_refusal(reply: Reply, stack_id: str) -> CommandError:
    from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit, service_words, surge_refusal

    raise_rate_limit(reply)
    refusal = surge_refusal(reply)
    if refusal is not None:
        return refusal
    code = reply.text("error")
    if reply.status == 404 and code == "stack_not_found":
        return CommandError(
            f"Stack not found: {plain(stack_id, 200)}. stack_list names the stacks there are."
        )
    words = service_words(reply)
    if code == "cyclone_not_connected":
        return CommandError(words or "Cyclone is not connected to this repository.", code=code)
    return CommandError(words) if words is not None else failed_to("set the stack's policy", reply)


# -- stack_status --------------------------------------------------------------------------------------------------


async def _status(runtime: Runtime, stack_id: str) -> ToolResult:
    from mergestorm_mcp.api.stacks import get_stacks_enriched
    from mergestorm_mcp.stacks.blockers import stack_blockers
    from mergestorm_mcp.stacks.lines import blockers_summary, repair_line, stack_line
    from mergestorm_mcp.stacks.model import Stack, read_entries
    from mergestorm_mcp.stacks.obligation import done_watch, open_watch, terminal_reason
    from mergestorm_mcp.stacks.reader import find_stack, listed_stacks

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
            message = f"Stack not found: {plain(stack_id, 200)}."
            error = {"code": "stack_not_found", "message": message, "stack_id": stack_id}
            return failure(f"{watch['message']}\n\n{message}", {"error": error, "watch": watch})
        stack = Stack.read(raw)
        if not stack.layers_known:
            raise CommandError("Mergestorm's answer lists no layers; call again in a while.")
        raw_entries = await _entries(api, str(raw["id"]).strip())
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return _limited(
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
    return success(plain("\n".join(lines), _MAX_SUMMARY), {"stack": raw, **shown, "watch": watch})


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


# -- stack_wait ----------------------------------------------------------------------------------------------------


async def _wait(
    runtime: Runtime, stack_id: str, seconds: float, selectors: Mapping[str, str | None]
) -> ToolResult:
    from mergestorm_mcp.stacks.cursor import Cursor
    from mergestorm_mcp.stacks.envelope import WatchEnvelope
    from mergestorm_mcp.stacks.reader import ApiStackReader
    from mergestorm_mcp.stacks.watch import StackWatchError, StackWatchTimeout, WatchTerms, watch_slice

    wanted = stack_id.lower()
    cursor = Cursor.from_selectors(wanted, selectors)
    terms = WatchTerms(runtime.clock, seconds, runtime.jitter, progress_reporter())
    try:
        reader = ApiStackReader(runtime.api())
    except CommandError as error:  # no key, or one that may not be used: nothing was read
        return _unread(WatchEnvelope(cursor or Cursor(wanted)), error)
    try:
        envelope = await watch_slice(reader, wanted, terms, cursor)
    except StackWatchTimeout as timeout:
        envelope = timeout.envelope
    except StackWatchError as error:
        if not error.envelope.done:
            return _unread(error.envelope, error.error)
        envelope = error.envelope
    return success(_wait_summary(envelope), envelope.wire())


def _unread(envelope: WatchEnvelope, error: CommandError) -> ToolResult:
    data = envelope.wire(error.retry_after_seconds)
    members = thrown(error).structured_content or {}
    data["error"] = members["error"]
    if error.retry_after_seconds is not None:
        data["retry_after_seconds"] = error.retry_after_seconds
    text = f"{_wait_summary(envelope, error.retry_after_seconds)}\n{named(error.code, error.reason, error.message)}"
    return failure(plain(text, _MAX_SUMMARY), data)


def _wait_summary(envelope: WatchEnvelope, retry_after: float | None = None) -> str:
    from mergestorm_mcp.stacks.lines import blockers_summary, repair_line

    data = envelope.wire(retry_after)
    line = f"Stack {data['stackId']} · {data['status']}{blockers_summary(data)}"
    if not envelope.available:
        line += " · assessment unavailable"
    lines = [data["watch"]["message"], "", line]
    repair = repair_line(data["repair"])
    lines += [repair] if repair is not None else []
    if not envelope.done and data["status"] in {"waiting", "in_progress"}:
        lines.append(f"Selectors of the next call: {_selectors(envelope)}")
    return plain("\n".join(lines), _MAX_SUMMARY)


def _selectors(envelope: WatchEnvelope) -> str:
    import json

    selectors = envelope.cursor.selectors()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in selectors.items())


# -- queue_status --------------------------------------------------------------------------------------------------


async def _queue(runtime: Runtime, stack_id: str | None) -> ToolResult:
    from mergestorm_mcp.stacks.lines import queue_line
    from mergestorm_mcp.stacks.model import read_entries, same_id

    try:
        raw = await _entries(runtime.api(), stack_id)
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        return _limited(error)
    kept = [
        item
        for item in raw
        if isinstance(item, dict)
        and (
            stack_id is None or (isinstance(item.get("stackId"), str) and same_id(item["stackId"], stack_id))
        )
    ]
    if stack_id is not None and not kept:
        message = f"The merge queue has no entry, live or bounced, of stack {plain(stack_id, 200)}."
        error_members = {"code": "queue_entry_not_found", "message": message, "stack_id": stack_id}
        return failure(named("queue_entry_not_found", None, message), {"error": error_members})
    lines = [queue_line(entry) for entry in read_entries(kept[:_MAX_LINES])]
    if len(kept) > _MAX_LINES:
        lines.append(f"and {len(kept) - _MAX_LINES} more")
    text = "\n".join(lines) or "No merge queue entries (live or bounced)"
    return success(plain(text, _MAX_SUMMARY), {"entries": kept})


async def _entries(api: Api, stack_id: str | None) -> list[Any]:
    """The merge queue's entries, of one stack or of all.

    Raises:
        CommandError: `rate_limited`, or without a code for any other answer than a list.
    """
    from mergestorm_mcp.api.refusals import failed_to
    from mergestorm_mcp.api.stacks import get_queue
    from mergestorm_mcp.stacks.reader import entries_of

    reply = await get_queue(api, stack_id)
    _check_read(reply, "get queue status")
    entries = entries_of(reply.body)
    if entries is None:
        raise failed_to("get queue status", reply)
    return entries


def _check_read(reply: Reply, what: str) -> None:
    from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit

    if reply.ok:
        return
    raise_rate_limit(reply)
    if reply.status == 404:
        raise CommandError(
            f"Failed to {what}: this Mergestorm service does not offer it (HTTP 404); update it."
        )
    raise failed_to(what, reply)

"""The stack tools: stack_adopt, stack_list, stack_set, stack_status, stack_wait, queue_status (contract 3.8 to 3.14).

What they do is in `mergestorm_mcp.stacks`, loaded when a tool is called: httpx is not needed for a handshake.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastmcp.tools import ToolResult
from pydantic import Field, WithJsonSchema

from mcpkit.annotations import DESTRUCTIVE_WRITE, IDEMPOTENT_DESTRUCTIVE_WRITE, READ
from mcpkit.inputs import ABSENT, JsonInteger, NullableBoolean, given
from mcpkit.server import KitTool
from mergestorm_mcp.errors import usage
from mergestorm_mcp.runtime import Runtime
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
    output,
    progress_reporter,
    shown,
)

__all__ = ["tools"]

_DEFAULT_WAIT: Final = 45.0

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
        from mergestorm_mcp.stacks.changing import adopt_stack

        policy = given(
            auto_land=ABSENT if auto_land is None else auto_land,
            auto_review=auto_review,
            auto_patch=auto_patch,
            auto_resolve_conflicts=auto_resolve_conflicts,
            auto_fix_ci=auto_fix_ci,
        )
        return shown(await adopt_stack(runtime, owner.strip(), repo.strip(), pr_number, policy))

    async def stack_list() -> ToolResult:
        from mergestorm_mcp.stacks.reading import list_stacks

        return shown(await list_stacks(runtime))

    async def stack_set(
        stack_id: StackId,
        auto_land: AutoLand | None = None,
        auto_review: AutoReview = ABSENT,
        auto_patch: AutoPatch = ABSENT,
        auto_resolve_conflicts: AutoResolve = ABSENT,
        auto_fix_ci: AutoFixCi = ABSENT,
    ) -> ToolResult:
        from mergestorm_mcp.stacks.changing import set_stack

        policy = given(
            auto_land=ABSENT if auto_land is None else auto_land,
            auto_review=auto_review,
            auto_patch=auto_patch,
            auto_resolve_conflicts=auto_resolve_conflicts,
            auto_fix_ci=auto_fix_ci,
        )
        return shown(await set_stack(runtime, stack_id.strip(), policy))

    async def stack_status(stack_id: StackId) -> ToolResult:
        from mergestorm_mcp.stacks.reading import stack_status as stack_status_now

        return shown(await stack_status_now(runtime, _named_stack(stack_id)))

    async def stack_wait(
        stack_id: StackId,
        timeout_s: WaitSeconds = _DEFAULT_WAIT,
        enrolled_head_sha: EnrolledHead = ABSENT,
        after_finished_at: AfterFinished = ABSENT,
        bounce_id: BounceId = ABSENT,
    ) -> ToolResult:
        from mergestorm_mcp.stacks.waiting import wait_for_stack

        selectors = given(
            enrolled_head_sha=enrolled_head_sha, after_finished_at=after_finished_at, bounce_id=bounce_id
        )
        return shown(
            await wait_for_stack(runtime, _named_stack(stack_id), timeout_s, selectors, progress_reporter())
        )

    async def queue_status(stack_id: OptionalStackId | None = None) -> ToolResult:
        from mergestorm_mcp.stacks.reading import list_queue

        return shown(await list_queue(runtime, _named_stack(stack_id) if stack_id is not None else None))

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
            description="Merge queue entries: live ones, and those that bounced; of one stack only with stack_id.",
            annotations=READ,
            output_schema=output(entries=ARRAY),
        ),
    ]


def _named_stack(stack_id: str) -> str:
    wanted = stack_id.strip()
    if not wanted:
        raise usage("stack_id is blank; stack_list names the stacks there are.")
    return wanted

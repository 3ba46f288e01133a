"""`review_submit`: a change of a checkout, or a diff, to be reviewed (contract 3.4)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastmcp.tools import ToolResult
from pydantic import Field

from mcpkit.annotations import WRITE
from mcpkit.server import KitTool
from mergestorm_mcp.errors import CommandError
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import declare, failure, success
from mergestorm_mcp.tools.reviews_read import JOB_OUTPUT, timed_out_envelope, waiting

__all__ = ["tools"]

_DEFAULT_WAIT: Final = 45.0
_MAX_PATH: Final = 4096
# A diff at its limit and what JSON may have to escape in it; longer ones are refused with a better reason below.
_MAX_DIFF: Final = 8_000_000

Cwd = Annotated[str, Field(max_length=_MAX_PATH, description="Directory of the checkout.")]
Base = Annotated[str, Field(max_length=1024, description="Revision to compare with. Default: the trunk.")]
Head = Annotated[str, Field(max_length=1024, description="Revision to review. Default: HEAD.")]
Diff = Annotated[str, Field(max_length=_MAX_DIFF, description="Review this unified diff instead.")]
Router = Annotated[
    Literal["off", "standard", "max", "manual"], Field(description="Specialist choice; manual: as named.")
]
Specialists = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100)]],
    Field(max_length=5, description="Of security, performance, architecture, tests, data, api, frontend."),
]
Context = Annotated[str, Field(max_length=1_000_000, description="What the reviewer should know.")]
ContextFiles = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=_MAX_PATH)]],
    Field(max_length=10, description="Text files inside the sandbox root."),
]
Thread = Annotated[str, Field(min_length=1, max_length=120, description="Thread to continue.")]
Key = Annotated[
    str, Field(min_length=1, max_length=128, description="The same key never makes a second job.")
]
Wait = Annotated[bool, Field(description="Wait for the result.")]
WaitSeconds = Annotated[
    float, Field(gt=0, le=300, allow_inf_nan=False, description="Seconds to wait, 300 at most.")
]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def review_submit(
        cwd: Cwd | None = None,
        base: Base | None = None,
        head: Head | None = None,
        diff: Diff | None = None,
        router: Router | None = None,
        specialists: Specialists | None = None,
        context: Context | None = None,
        context_files: ContextFiles | None = None,
        thread: Thread | None = None,
        idempotency_key: Key | None = None,
        wait: Wait = False,
        timeout_s: WaitSeconds = _DEFAULT_WAIT,
    ) -> ToolResult:
        from mergestorm_mcp.reviews.submit import (
            ReviewRequest,
        )  # git and httpx are not needed for a handshake

        request = ReviewRequest(
            cwd=cwd,
            base=base or None,
            head=head or None,
            diff=diff,
            router=router,
            specialists=specialists,
            context=context,
            context_files=context_files,
            thread=thread,
            idempotency_key=idempotency_key,
        )
        return await _submit(runtime, request, timeout_s if wait else None)

    return [
        declare(
            review_submit,
            title="Submit review",
            description=(
                "Submit committed changes of a checkout for review, read from head, not from the work tree. Returns the "
                "job_id for review_wait at once unless wait is true. After a lost answer read review_list before "
                "submitting again."
            ),
            annotations=WRITE,
            output_schema=JOB_OUTPUT,
        )
    ]


async def _submit(runtime: Runtime, request: Any, wait_seconds: float | None) -> ToolResult:
    from mcpkit.threads import run_in_thread
    from mergestorm_mcp.reviews.submit import job_id_of, prepare_submission, send_submission

    api = runtime.api()
    submission = await run_in_thread(lambda cancel: prepare_submission(runtime.environment, request, cancel))
    envelope, failed = await send_submission(api, submission)
    job_id = job_id_of(envelope)
    if wait_seconds is not None and job_id is not None:
        envelope = await _waited(runtime, api, job_id, submission.fallback, wait_seconds)
    summary = _summary(envelope, submission.notes)
    return failure(summary, envelope) if failed else success(summary, envelope)


async def _waited(
    runtime: Runtime, api: Any, job_id: str, fallback: dict[str, Any], seconds: float
) -> dict[str, Any]:
    from mergestorm_mcp.reviews.envelope import job_envelope
    from mergestorm_mcp.reviews.poll import JobPollTimeout, poll_review

    try:
        return job_envelope(await poll_review(api, job_id, waiting(runtime, seconds)), **fallback)
    except JobPollTimeout as timeout:
        return timed_out_envelope(job_id, timeout.last_row, seconds, fallback)
    except CommandError as error:
        if error.code != "rate_limited":
            raise CommandError(
                f"Job {one_line(job_id, 100)} was submitted, but waiting for it failed: {error.message} Call review_wait with "
                "that job_id; do not submit again.",
                exit_code=error.exit_code,
                code=error.code,
                reason=error.reason,
                retry_after_seconds=error.retry_after_seconds,
            ) from None
        return job_envelope(
            job_id=job_id,
            status="rate_limited",
            error=error.message,
            retry_after=error.retry_after_seconds,
            **fallback,
        )


def _summary(envelope: dict[str, Any], notes: list[str]) -> str:
    from mergestorm_mcp.reviews.envelope import job_summary

    lines = [one_line(job_summary(envelope), 300)]
    if isinstance(envelope["error"], str):
        lines.append(one_line(envelope["error"], 600))
    return "\n".join([*lines, *notes])

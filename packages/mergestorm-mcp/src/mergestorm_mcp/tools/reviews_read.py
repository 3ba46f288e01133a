"""`review_list`, `review_wait` and `review_wait_pr`: what became of reviews (contract 3.3, 3.5 and 3.6)."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastmcp.tools import ToolResult
from pydantic import Field

from mcpkit.annotations import READ
from mcpkit.inputs import JsonInteger
from mcpkit.server import KitTool
from mergestorm_mcp.errors import CommandError, usage
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.text import one_line
from mergestorm_mcp.tools.kit import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    INTEGER_OR_NULL,
    NUMBER,
    OBJECT_OR_NULL,
    STRING,
    STRING_OR_NULL,
    NonEmpty,
    TimeoutSeconds,
    declare,
    output,
    progress_reporter,
    success,
)

__all__ = ["JOB_OUTPUT", "timed_out_envelope", "tools", "waiting"]

JOB_OUTPUT: Final = output(
    schema=STRING,
    job_id=STRING_OR_NULL,
    status=STRING,
    thread=OBJECT_OR_NULL,
    base_label=STRING_OR_NULL,
    head_label=STRING_OR_NULL,
    router_mode=STRING_OR_NULL,
    specialists_requested=ARRAY,
    specialists_run=ARRAY,
    verdict=STRING_OR_NULL,
    summary=STRING_OR_NULL,
    findings=OBJECT_OR_NULL,
    truncated=BOOLEAN,
    error={"type": ["string", "object", "null"]},
    credits=OBJECT_OR_NULL,
    webhook_secret=STRING_OR_NULL,
    created_at=STRING_OR_NULL,
    finished_at=STRING_OR_NULL,
    retry_after_seconds=NUMBER,
)
"""Output schema of every tool that shows a review job."""

_PR_OUTPUT: Final = output(
    schema=STRING,
    id=STRING,
    owner=STRING,
    repo=STRING,
    pr_number=INTEGER,
    status=STRING,
    raw_status=STRING_OR_NULL,
    phase=STRING_OR_NULL,
    verdict=STRING_OR_NULL,
    summary=STRING_OR_NULL,
    head_sha=STRING_OR_NULL,
    review_count=INTEGER,
    skip_reason=STRING_OR_NULL,
    reviewed_at=STRING_OR_NULL,
    finding_count=INTEGER_OR_NULL,
    findings=OBJECT_OR_NULL,
    patch_policy=OBJECT_OR_NULL,
    newer_pass_pending=BOOLEAN,
    error={"type": ["string", "object"]},
    retry_after_seconds=NUMBER,
    **{"pass": INTEGER_OR_NULL},
)

_DEFAULT_WAIT: Final = 45.0

Limit = Annotated[JsonInteger, Field(ge=1, le=50, description="Most jobs to list.")]
JobId = Annotated[NonEmpty, Field(description="job_id of review_submit or review_list.")]
Owner = Annotated[NonEmpty, Field(description="Repository owner.")]
Repo = Annotated[NonEmpty, Field(description="Repository name.")]
PrNumber = Annotated[JsonInteger, Field(ge=1, description="Pull request number.")]
AfterSha = Annotated[str, Field(description="Head that must be reviewed; full, or at least 7 characters.")]
RequiredPass = Annotated[JsonInteger, Field(ge=1, description="Exactly this pass.")]
AfterPass = Annotated[JsonInteger, Field(ge=1, description="A pass later than this one.")]


def tools(runtime: Runtime) -> list[KitTool]:
    """The tools of this group."""

    async def review_list(limit: Limit = 10) -> ToolResult:
        from mergestorm_mcp.api.reviews import list_reviews  # httpx is not needed for a handshake
        from mergestorm_mcp.reviews.envelope import job_envelope

        items = [job_envelope(row) for row in await list_reviews(runtime.api(), limit)]
        count = "No review jobs" if not items else f"{len(items)} review job{'s' if len(items) > 1 else ''}"
        return success(count, {"items": items})

    async def review_wait(job_id: JobId, timeout_s: TimeoutSeconds = _DEFAULT_WAIT) -> ToolResult:
        wanted = job_id.strip()
        if not wanted:
            raise usage("job_id is blank; pass the one that review_submit returned.")
        return await _job_result(runtime, wanted, timeout_s)

    async def review_wait_pr(
        owner: Owner,
        repo: Repo,
        pr_number: PrNumber,
        after_sha: AfterSha | None = None,
        pass_: RequiredPass | None = None,  # published as `pass`, see kit
        after_pass: AfterPass | None = None,
        timeout_s: TimeoutSeconds = _DEFAULT_WAIT,
    ) -> ToolResult:
        from mergestorm_mcp.reviews.pr import PrSelector

        selector = PrSelector(owner.strip(), repo.strip(), pr_number, after_sha, pass_, after_pass)
        if not selector.owner or not selector.repo:
            raise usage("owner and repo must name a repository.")
        return await _pr_result(runtime, selector, timeout_s)

    return [
        declare(
            review_list,
            title="List reviews",
            description="Newest local review jobs of this account.",
            annotations=READ,
            output_schema=output(items=ARRAY),
        ),
        declare(
            review_wait,
            title="Wait for review",
            description=(
                "Wait for a local review job. Status queued or in_progress at the end of the wait is no failure: call "
                "again."
            ),
            annotations=READ,
            output_schema=JOB_OUTPUT,
        ),
        declare(
            review_wait_pr,
            title="Wait for GitHub PR Vortex review",
            description=(
                "Wait for the Vortex review of a pull request. in_progress at the end: call again. none: no review of "
                "that head was seen; call once more, and if it is none again, Vortex is not reviewing that head."
            ),
            annotations=READ,
            output_schema=_PR_OUTPUT,
        ),
    ]


async def _job_result(runtime: Runtime, job_id: str, timeout_s: float) -> ToolResult:
    from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit
    from mergestorm_mcp.api.reviews import get_review
    from mergestorm_mcp.reviews.envelope import job_envelope, job_summary
    from mergestorm_mcp.reviews.poll import JobPollTimeout, poll_review

    api = runtime.api()
    try:
        if timeout_s == 0:
            reply = await get_review(api, job_id)
            raise_rate_limit(reply)
            if reply.status == 404:
                raise CommandError(
                    f"Review not found: {one_line(job_id, 100)}. review_list names the jobs there are."
                )
            if not reply.ok:
                raise failed_to("load the review", reply)
            if reply.text("status") is None:
                raise CommandError(
                    "Mergestorm answered with something that is no review job; call again in a while."
                )
            envelope = job_envelope(reply.body, job_id=job_id)
        else:
            envelope = job_envelope(await poll_review(api, job_id, waiting(runtime, timeout_s)))
    except JobPollTimeout as timeout:
        envelope = timed_out_envelope(job_id, timeout.last_row, timeout_s)
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        envelope = job_envelope(
            job_id=job_id, status="rate_limited", error=error.message, retry_after=error.retry_after_seconds
        )
    return success(one_line(job_summary(envelope), 300), envelope)


def timed_out_envelope(
    job_id: str, last_row: dict[str, Any] | None, seconds: float, fallback: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The envelope of a job that was still running when the wait for it ended."""
    from mergestorm_mcp.reviews.envelope import job_envelope

    text = f"The wait timed out after {seconds:g}s; the job goes on. Call review_wait with this job_id again."
    return job_envelope(last_row, job_id=job_id, status="in_progress", error=text, **fallback or {})


def waiting(runtime: Runtime, seconds: float) -> Any:
    """How a tool waits: the runtime's clock, progress to the client."""
    from mergestorm_mcp.reviews.poll import Waiting

    return Waiting(runtime.clock, seconds, runtime.jitter, progress_reporter())


async def _pr_result(runtime: Runtime, selector: Any, timeout_s: float) -> ToolResult:
    from mergestorm_mcp.reviews.pr import PrPollTimeout, matches_head, poll_pr_review, read_pr_review

    api = runtime.api()
    try:
        if timeout_s == 0:
            review = await read_pr_review(api, selector)
        else:
            review = await poll_pr_review(api, selector, waiting(runtime, timeout_s))
    except PrPollTimeout as timeout:
        last = timeout.last or {}
        at_head = matches_head(selector.after_sha, last.get("head_sha"))
        none = timeout.read and not timeout.found
        review = {
            "status": "none" if none else "in_progress",
            "head_sha": last.get("head_sha"),
            "pass": last.get("pass") if at_head else None,
            "finding_count": last.get("finding_count") if at_head else None,
            "phase": last.get("phase"),
            "error": _PR_NONE if none else _PR_GOES_ON if timeout.read else _PR_UNREAD,
        }
    except CommandError as error:
        if error.code != "rate_limited":
            raise
        review = {"status": "rate_limited", "error": error.message}
        if error.retry_after_seconds is not None:
            review["retry_after_seconds"] = error.retry_after_seconds
    return success(_pr_summary(selector.label, review), review)


_PR_GOES_ON: Final = "The wait timed out before the review was done. Call again with the same arguments."
_PR_NONE: Final = "No review of that pull request and head was seen during the wait. Call again once."
_PR_UNREAD: Final = "Mergestorm did not answer during the wait, so nothing is known. Call again."


def _pr_summary(label: str, review: dict[str, Any]) -> str:
    parts = [label, str(review.get("status"))]
    head, count, phase = review.get("head_sha"), review.get("finding_count"), review.get("phase")
    if isinstance(head, str) and head:
        parts.append(f"sha {head[:7]}")
    if isinstance(count, int) and not isinstance(count, bool):
        parts.append(f"{count} finding{'' if count == 1 else 's'}")
    if isinstance(phase, str) and phase:
        parts.append(phase)
    return one_line(" · ".join(parts), 400)

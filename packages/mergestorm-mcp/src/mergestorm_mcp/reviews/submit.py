"""Submits a change for review: checks, collects, sends once, reads the answer (contract 3.4 and section 4).

The order of the checks is the contract's. Whatever is refused here is `usage`, exit 2, and nothing was sent. The POST
is made once: a repeated one would be a second job unless an idempotency key was given, so a lost answer says what to
do instead.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from mcpkit.git import CancelCheck
from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.refusals import raise_rate_limit
from mergestorm_mcp.api.reviews import submit_review
from mergestorm_mcp.config import Environment
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout, usage
from mergestorm_mcp.reviews.admission import refuse_secrets
from mergestorm_mcp.reviews.collect import MAX_DIFF_BYTES, Changes, collect_changes, discover_trunk
from mergestorm_mcp.reviews.context import context_text, read_context_files, refuse_standard_input
from mergestorm_mcp.reviews.envelope import job_envelope
from mergestorm_mcp.text import one_line

__all__ = [
    "SPECIALISTS",
    "ReviewRequest",
    "Submission",
    "job_id_of",
    "prepare_submission",
    "send_submission",
]

SPECIALISTS: Final = frozenset({
    "security",
    "performance",
    "architecture",
    "tests",
    "data",
    "api",
    "frontend",
})
"""Lanes that can be asked for; governance and seam reviews start by themselves."""

_THREAD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,119}")
_MAX_PLAIN_BODY: Final = 240
_HTML: Final = re.compile(r"\s*(?:<!doctype|<html|<head|<body|<\?xml)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What the caller wants reviewed; None leaves a choice to the rules."""

    cwd: str | None = None
    base: str | None = None
    head: str | None = None
    diff: str | None = None
    router: str | None = None
    specialists: Sequence[str] | None = None
    context: str | None = None
    context_files: Sequence[str] | None = None
    thread: str | None = None
    idempotency_key: str | None = None
    webhook_url: str | None = None  # the command line's; no tool offers it


@dataclass(frozen=True, slots=True)
class Submission:
    """A review ready to be sent.

    Attributes:
        body: the request's body; None where nothing changed.
        fallback: what the envelope says where the service does not.
        notes: what was left out, for people.
    """

    body: dict[str, Any] | None
    fallback: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def prepare_submission(
    environment: Environment, request: ReviewRequest, cancel: CancelCheck | None = None
) -> Submission:
    """Check a request and collect what it sends. Blocking: call it in a thread.

    Raises:
        CommandError: `usage`, `not_a_repo`, `outside_sandbox` or `sandbox_root_required`, all exit 2.
    """
    router, specialists = _lanes(request)
    if request.thread is not None and not _THREAD.fullmatch(request.thread):
        raise usage(
            "thread must begin with a letter or digit and hold letters, digits, '.', '_', '/' and '-' only, 120 at most."
        )
    refuse_standard_input(request.context)
    changes = _changes(environment, request, cancel)
    thread = request.thread or changes.thread
    fallback: dict[str, Any] = {
        "thread": thread,
        "base_label": changes.base_label,
        "head_label": changes.head_label,
        "router_mode": router,
        "specialists": specialists,
    }
    if not changes.diff.strip():
        return Submission(None, fallback)
    context = context_text(request.context)
    files = read_context_files(environment, request.cwd, request.context_files or ())
    body: dict[str, Any] = {
        "thread": thread,
        "branch": changes.branch,
        "repo": changes.repo,
        "base_label": changes.base_label,
        "head_label": changes.head_label,
        "diff": changes.diff,
        "files": changes.files,
        "router_mode": router,
        "specialists": specialists or None,
        "context": context,
        "context_files": files or None,
        "idempotency_key": request.idempotency_key,
        "webhook_url": _webhook(request.webhook_url),
    }
    texts = [("diff", changes.diff), ("context", context or "")]
    texts += [(f"file {item['path']}", item["content"]) for item in (*changes.files, *files)]
    refuse_secrets(environment, texts, cancel or (lambda: False))
    return Submission(
        {name: value for name, value in body.items() if value is not None}, fallback, changes.notes
    )


async def send_submission(api: Api, submission: Submission) -> tuple[dict[str, Any], bool]:
    """Send it, once, and read the answer.

    Returns:
        The job's envelope, and whether it is a failure.

    Raises:
        CommandError: no answer, with what to do next; an accepted job without an id.
    """
    if submission.body is None:
        return job_envelope(status="no_changes", **submission.fallback), False
    try:
        reply = await submit_review(api, submission.body)
    except (RequestTimeout, ConnectionFailed) as error:
        raise _lost(error, keyed="idempotency_key" in submission.body) from None
    if reply.status in {200, 202}:
        if not any(reply.text(name) for name in ("job_id", "id")):
            raise CommandError(
                "Mergestorm accepted the review but named no job_id; review_list shows whether there is a job."
            )
        return job_envelope(reply.body, status="queued", **submission.fallback), False
    if reply.status == 402:
        words = _words(reply) or "The review quota of this account is used up; credits tells when it resets."
        return job_envelope(status="quota_exceeded", error=words, **submission.fallback), False
    try:
        raise_rate_limit(reply)
    except CommandError as error:
        envelope = job_envelope(
            status="rate_limited",
            error=error.message,
            retry_after=error.retry_after_seconds,
            **submission.fallback,
        )
        return envelope, False
    return job_envelope(status="failed", error=_refusal(reply), **submission.fallback), True


def _lanes(request: ReviewRequest) -> tuple[str | None, list[str]]:
    """Router mode and specialists; naming specialists means choosing them by hand."""
    wanted = list(dict.fromkeys(request.specialists or ()))
    if not set(wanted) <= SPECIALISTS:
        raise usage(f"specialists must be among {', '.join(sorted(SPECIALISTS))}.")
    if request.router == "manual" and not wanted:
        raise usage("router manual needs specialists: name at least one.")
    if request.router == "off" and wanted:
        raise usage("router off runs no specialists; leave one of the two out.")
    return request.router or ("manual" if wanted else None), wanted


def _webhook(address: str | None) -> str | None:
    if address is None:
        return None
    try:
        parts = urlsplit(address.strip())
        fits = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        raise usage("webhook_url must be an https address.")
    return address.strip()


def _changes(environment: Environment, request: ReviewRequest, cancel: CancelCheck | None) -> Changes:
    diff = request.diff
    if diff is None or not diff.strip():
        return collect_changes(
            environment, cwd=request.cwd, base=request.base, head=request.head, cancel=cancel
        )
    data = diff.encode("utf-8", "replace")
    if len(data) > MAX_DIFF_BYTES:
        raise usage(f"diff is larger than {MAX_DIFF_BYTES:,} bytes; send it in parts.")
    return Changes(
        branch="local",
        thread=f"local/diff-{hashlib.sha256(data).hexdigest()[:12]}",
        repo=None,
        base_label=request.base or discover_trunk(environment, request.cwd, cancel) or "main",
        head_label=request.head or "HEAD",
        diff=diff,
        files=[],
        notes=[],
    )


def _lost(error: CommandError, *, keyed: bool) -> CommandError:
    """The error of a submission whose answer did not come: whether there is a job is unknown."""
    advice = (
        "Call review_submit again with the same idempotency_key: a job that was made is returned, not doubled."
        if keyed
        else "A job may exist all the same: read review_list before you submit again."
    )
    return CommandError(f"{error.message} {advice}", exit_code=error.exit_code, code=error.code)


def _words(reply: Reply) -> str | None:
    """What the service says went wrong: its message, its code, or its text where that is none of a web page."""
    for name in ("message", "error"):
        told = reply.text(name)
        if told is not None:
            return one_line(told, 2000) or None
    if isinstance(reply.body, str) and not _HTML.match(reply.body):
        return one_line(reply.body, _MAX_PLAIN_BODY) or None
    return None


def _refusal(reply: Reply) -> str:
    words = _words(reply)
    if reply.status == 413:
        none = "No job was created and no credits were charged."
        return (
            f"{words} {none}"
            if words is not None
            else f"The upload was rejected (HTTP 413) before there was a job: a review takes 1 MB ({MAX_DIFF_BYTES:,} "
            f"bytes) at most. {none}"
        )
    if words is not None:
        return f"Failed (HTTP {reply.status}): {words}"
    return f"Failed (HTTP {reply.status}): the answer had no JSON error body."


def job_id_of(envelope: Mapping[str, Any]) -> str | None:
    """The id to wait with."""
    found = envelope.get("job_id")
    return found if isinstance(found, str) and found else None

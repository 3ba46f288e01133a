"""`mg review`, `mg status` and `mg pr`: reviews, waited for as long as a person likes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from mcpkit.threads import run_in_thread
from mergestorm_mcp.api.client import Api
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit
from mergestorm_mcp.api.reviews import get_review, list_reviews
from mergestorm_mcp.errors import (
    EXIT_ATTENTION,
    EXIT_AUTH,
    EXIT_FAILED,
    EXIT_RATE_LIMITED,
    EXIT_TIMEOUT,
    CommandError,
    usage,
)
from mergestorm_mcp.mg.outcome import Call, Outcome
from mergestorm_mcp.mg.parser import pull_request
from mergestorm_mcp.mg.terminal import Progress, Terminal
from mergestorm_mcp.reviews.envelope import job_envelope, job_summary
from mergestorm_mcp.reviews.poll import JobPollTimeout, Waiting, poll_review
from mergestorm_mcp.reviews.pr import PrPollTimeout, PrSelector, matches_head, poll_pr_review, read_pr_review
from mergestorm_mcp.reviews.submit import ReviewRequest, job_id_of, prepare_submission, send_submission
from mergestorm_mcp.text import one_line

__all__ = ["COMMANDS"]

_DEFAULT_WAIT: Final = 480.0
_MAX_CONTEXT: Final = 60_000
_MAX_FINDINGS: Final = 200
_RUNNING: Final = frozenset({"queued", "in_progress"})
_EXITS: Final = {
    "failed": EXIT_FAILED,
    "quota_exceeded": EXIT_ATTENTION,
    "trial_expired": EXIT_ATTENTION,
    "rate_limited": EXIT_RATE_LIMITED,
}
_KEY_CODES: Final = frozenset({"missing_api_key", "auth_invalid"})

Command = Callable[[Call], Awaitable[Outcome]]


def _key_is_exit_6(command: Command) -> Command:
    """These commands tell a missing or refused key apart from other failures."""

    async def told(call: Call) -> Outcome:
        try:
            return await command(call)
        except CommandError as error:
            if error.code in _KEY_CODES:
                raise CommandError(error.message, exit_code=EXIT_AUTH, code=error.code) from None
            raise

    return told


# -- review and status ---------------------------------------------------------------------------------------------


async def review(call: Call) -> Outcome:
    """Submit the checkout's committed changes, and wait unless told not to."""
    values, runtime = call.values, call.runtime
    specialists = values.get("specialists")
    if specialists is not None and not 1 <= len(specialists) <= 5:
        raise usage("--specialists takes one to five names, separated by commas.")
    if len(values.get("idempotency_key", "x")) not in range(1, 129):
        raise usage("--idempotency-key takes 1 to 128 characters.")
    if len(values.get("context_files", ())) > 10:
        raise usage("--context-file can be given 10 times at most.")
    context = values.get("context")
    if context is not None:
        context = call.terminal.text_or_input(context, _MAX_CONTEXT)
    request = ReviewRequest(
        base=values.get("base"),
        head=values.get("head"),
        router=values.get("router"),
        specialists=specialists,
        context=context,
        context_files=values.get("context_files"),
        thread=values.get("thread"),
        idempotency_key=values.get("idempotency_key"),
        webhook_url=values.get("webhook_url"),
    )
    api = runtime.api()
    submission = await run_in_thread(lambda cancel: prepare_submission(runtime.environment, request, cancel))
    envelope, _failed = await send_submission(api, submission)
    for note in submission.notes:
        call.terminal.note(note)
    job_id = job_id_of(envelope)
    waits = values.get("wait", True)
    if waits and job_id is not None and envelope["status"] in _RUNNING:
        call.terminal.note(f"Review job {job_id} is submitted.")
        secret = envelope["webhook_secret"]
        envelope = await _waited(call, api, job_id, submission.fallback)
        envelope["webhook_secret"] = envelope["webhook_secret"] or secret  # told once, with the submission
    return _job(envelope, timed_out=waits and envelope["status"] in _RUNNING)


async def status(call: Call) -> Outcome:
    """Show a job, the newest unless one is named."""
    values, api = call.values, call.runtime.api()
    job_id = values.get("job_id", "").strip()
    if not job_id:
        newest = await list_reviews(api, 1)
        if not newest:
            raise CommandError("There are no review jobs yet; submit one with `mg review`.")
        job_id = job_id_of(job_envelope(newest[0])) or ""
        if not job_id:
            raise CommandError("The newest review job has no id; name one of `mg jobs`.")
    if values.get("wait") or "timeout" in values:
        envelope = await _waited(call, api, job_id, {})
        return _job(envelope, timed_out=envelope["status"] in _RUNNING)
    reply = await get_review(api, job_id)
    raise_rate_limit(reply)
    if reply.status == 404:
        raise CommandError("There is no such review job; `mg jobs` lists them.")
    if not reply.ok:
        raise failed_to("load the review", reply)
    if reply.text("status") is None:
        raise CommandError("Mergestorm answered with something that is no review job; try again in a while.")
    return _job(job_envelope(reply.body, job_id=job_id), timed_out=False)


async def _waited(call: Call, api: Api, job_id: str, fallback: Mapping[str, Any]) -> dict[str, Any]:
    seconds = call.values.get("timeout", _DEFAULT_WAIT)
    try:
        with call.terminal.waiting(f"Review job {job_id}") as progress:
            return job_envelope(await poll_review(api, job_id, _waiting(call, seconds, progress)), **fallback)
    except JobPollTimeout as timeout:
        text = f"The wait timed out after {seconds:g}s; the job goes on. Run: mg status {job_id} --wait"
        return job_envelope(timeout.last_row, job_id=job_id, status="in_progress", error=text, **fallback)
    except CommandError as error:
        if error.code != "rate_limited":
            raise CommandError(
                f"Waiting for job {job_id} failed: {error.message} The job goes on: mg status {job_id} --wait",
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


def _waiting(call: Call, seconds: float, progress: Progress) -> Waiting:
    return Waiting(call.runtime.clock, seconds, call.runtime.jitter, progress)


def _job(envelope: dict[str, Any], *, timed_out: bool) -> Outcome:
    exit_code = EXIT_TIMEOUT if timed_out else _EXITS.get(envelope["status"], 0)
    return Outcome(envelope, lambda terminal: _show_job(terminal, envelope), exit_code)


def _show_job(terminal: Terminal, envelope: Mapping[str, Any]) -> None:
    if envelope["status"] == "no_changes":
        terminal.line(
            f"Nothing to review: {envelope['head_label']} changes nothing on {envelope['base_label']}. "
            "What is not committed is not reviewed."
        )
        return
    terminal.line(one_line(job_summary(envelope), 1000))
    if isinstance(envelope["error"], str):
        terminal.note(envelope["error"])
    _show_summary(terminal, envelope)
    credits_used = envelope["credits"]
    if isinstance(credits_used, dict) and isinstance(credits_used.get("standard"), (int, float)):
        amount = credits_used["standard"]
        terminal.note(f"Used {amount:g} credit{'' if amount == 1 else 's'}.")


# -- pr ------------------------------------------------------------------------------------------------------------


async def pr(call: Call) -> Outcome:
    """Show the review of a pull request, or wait for one."""
    values = call.values
    waits = bool(values.get("wait")) or "timeout" in values
    if "after_sha" in values and not waits:
        raise usage("--after-sha needs --wait.")
    selector = PrSelector(
        *named_pull(values["pull"]),
        after_sha=values.get("after_sha"),
        required_pass=values.get("required_pass"),
        after_pass=values.get("after_pass"),
    )
    api = call.runtime.api()
    exit_code: int | None = None
    try:
        if waits:
            seconds = values.get("timeout", _DEFAULT_WAIT)
            with call.terminal.waiting(f"Review of {selector.label}") as progress:
                found = await poll_pr_review(api, selector, _waiting(call, seconds, progress))
        else:
            found = await read_pr_review(api, selector)
    except PrPollTimeout as timeout:
        found, exit_code = _not_yet(selector, timeout), EXIT_TIMEOUT
    except CommandError as error:
        if error.code != "not_found":
            raise
        raise CommandError(
            _no_review(selector),
            exit_code=EXIT_FAILED,
            code="not_found",
        ) from None
    if exit_code is None:
        exit_code = _EXITS.get(str(found.get("status")), 0)
    as_json = not values.get("pretty") and not call.terminal.interactive
    return Outcome(found, lambda terminal: _show_pr(terminal, selector.label, found), exit_code, as_json)


def named_pull(words: list[str]) -> tuple[str, str, int]:
    """The pull request of a command line.

    Raises:
        CommandError: `usage`.
    """
    try:
        return pull_request(words)
    except ValueError:
        raise usage("Name the pull request as owner/repo#number.") from None


def _no_review(selector: PrSelector) -> str:
    wanted = selector.required_pass is not None or selector.after_pass is not None
    return (
        f"Mergestorm has no review of {selector.label}{' of that pass' if wanted else ''}. If the number is right, "
        "it may not have begun: wait for it with --wait."
    )


def _not_yet(selector: PrSelector, timeout: PrPollTimeout) -> dict[str, Any]:
    last = timeout.last or {}
    at_head = matches_head(selector.after_sha, last.get("head_sha"))
    if not timeout.read:
        text = "Mergestorm did not answer during the wait, so nothing is known."
    elif not timeout.found:
        text = "No review of that pull request was seen during the wait."
    else:
        text = "The wait timed out before the review was done."
    return {
        "status": "none" if timeout.read and not timeout.found else "in_progress",
        "head_sha": last.get("head_sha"),
        "pass": last.get("pass") if at_head else None,
        "finding_count": last.get("finding_count") if at_head else None,
        "phase": last.get("phase"),
        "error": f"{text} Run the same command again.",
    }


def _show_pr(terminal: Terminal, label: str, found: Mapping[str, Any]) -> None:
    parts = [label, found.get("status"), found.get("verdict"), found.get("phase")]
    head, number = found.get("head_sha"), found.get("pass")
    parts.append(f"head {head[:12]}" if isinstance(head, str) and head else None)
    parts.append(f"pass {number}" if number is not None else None)
    parts.append(f"review {found['id']}" if str(found.get("id") or "").isdecimal() else None)
    terminal.line(one_line(" · ".join(str(part) for part in parts if part), 1000))
    if isinstance(found.get("error"), str):
        terminal.note(found["error"])
    _show_summary(terminal, found)


# -- what both show ------------------------------------------------------------------------------------------------


def _show_summary(terminal: Terminal, shown: Mapping[str, Any]) -> None:
    if isinstance(shown.get("summary"), str) and shown["summary"].strip():
        terminal.line(shown["summary"].strip())
    found = _findings(shown.get("findings"))
    for finding in found[:_MAX_FINDINGS]:
        place = str(finding.get("path") or "general")
        if isinstance(finding.get("line"), int):
            place += f":{finding['line']}"
        title = finding.get("title") or str(finding.get("body") or "").strip().partition("\n")[0]
        parts = [str(finding.get("severity") or "finding"), place, str(title)]
        parts += [f"[{finding['id']}]"] if isinstance(finding.get("id"), (str, int)) else []
        terminal.line("  " + "  ".join(one_line(part, 1000) for part in parts))
    if len(found) > _MAX_FINDINGS:
        terminal.line(f"  and {len(found) - _MAX_FINDINGS} more; --json shows all")


def _findings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, dict):
        return []
    found: list[Any] = []
    for name in ("inline", "off_diff", "offDiff"):
        part = value.get(name)
        found += part if isinstance(part, list) else []
    return [item for item in found if isinstance(item, dict)]


COMMANDS: Final = {"review": _key_is_exit_6(review), "status": _key_is_exit_6(status), "pr": pr}

"""Reads and waits for the review of a GitHub pull request (contract 3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.pr_reviews import get_pr_review
from mergestorm_mcp.api.refusals import failed_to, raise_rate_limit
from mergestorm_mcp.errors import EXIT_FAILED, CommandError
from mergestorm_mcp.reviews.poll import PollTimeout, Waiting, poll_until, review_failed

__all__ = ["PrPollTimeout", "PrSelector", "matches_head", "poll_pr_review", "read_pr_review", "rests"]

_SHORTEST_SHA: Final = 7


@dataclass(frozen=True, slots=True)
class PrSelector:
    """Which review is meant.

    Attributes:
        owner: owner of the repository.
        repo: its name.
        pr_number: the pull request.
        after_sha: the head that must have been reviewed, full or abbreviated to at least 7 characters.
        required_pass: exactly this pass.
        after_pass: a pass later than this one.
    """

    owner: str
    repo: str
    pr_number: int
    after_sha: str | None = None
    required_pass: int | None = None
    after_pass: int | None = None

    @property
    def label(self) -> str:
        """The pull request as people write it."""
        return f"{self.owner}/{self.repo}#{self.pr_number}"

    def query(self) -> dict[str, str | int]:
        """The query, the same for the whole of a wait: a pass seen in between never replaces `after_pass`."""
        optional = {"after_sha": self.after_sha, "pass": self.required_pass, "after_pass": self.after_pass}
        return {
            "owner": self.owner,
            "repo": self.repo,
            "pr_number": self.pr_number,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def wants_pass(self, review: dict[str, Any]) -> bool:
        """Whether the review's pass is one that was asked for; checked here too, since a service may ignore it."""
        if self.required_pass is None and self.after_pass is None:
            return True
        number = review.get("pass")
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            return False
        return (self.required_pass is None or number == self.required_pass) and (
            self.after_pass is None or number > self.after_pass
        )


class PrPollTimeout(PollTimeout):
    """The review is not there yet.

    Attributes:
        last: the wanted review read last, still running or at another head; None if none was.
        found: whether the service had any review of the pull request.
        read: whether any answer came at all.
    """

    def __init__(self, last: dict[str, Any] | None, *, found: bool, read: bool) -> None:
        super().__init__("the review is not there yet")
        self.last = last
        self.found = found
        self.read = read


def matches_head(wanted: str | None, head: Any) -> bool:
    """Whether a head is the wanted one: the same but for case, where the shorter may be an abbreviation."""
    if not isinstance(head, str) or not wanted or not head or len(wanted) < _SHORTEST_SHA:
        return False
    one, other = wanted.lower(), head.lower()
    return one.startswith(other) or other.startswith(one)


def rests(review: dict[str, Any]) -> bool:
    """Whether nothing more is coming by itself."""
    raw = review.get("raw_status")
    status = review.get("status") if raw is None else raw
    return status != "in_progress" and review.get("newer_pass_pending") is not True


async def read_pr_review(api: Api, selector: PrSelector) -> dict[str, Any]:
    """Read the review once.

    Raises:
        CommandError: `not_found` (exit 4), `rate_limited`, `review_failed`.
    """
    reply = await get_pr_review(api, selector.query())
    raise_rate_limit(reply)
    if reply.status == 404:
        raise CommandError(
            "Mergestorm has no review of that pull request and pass yet; wait with timeout_s, or check the number.",
            exit_code=EXIT_FAILED,
            code="not_found",
        )
    return _review(reply)


async def poll_pr_review(api: Api, selector: PrSelector, waiting: Waiting) -> dict[str, Any]:
    """Wait for a review that rests, is of the wanted pass and, if one was named, at the wanted head.

    Raises:
        PrPollTimeout: the time is up.
        CommandError: see `mergestorm_mcp.reviews.poll.poll_until`; `review_failed` also for an answer that is none.
    """
    last: dict[str, Any] | None = None
    found = read = False

    def settled(reply: Reply) -> dict[str, Any] | None:
        nonlocal last, found, read
        read = True
        if reply.status == 404:
            return None
        review = _review(reply)
        found = True
        if not selector.wants_pass(review):
            return None
        last = review
        at_head = not selector.after_sha or matches_head(selector.after_sha, review.get("head_sha"))
        return review if rests(review) and at_head else None

    try:
        review: dict[str, Any] = await poll_until(
            lambda seconds: get_pr_review(api, selector.query(), seconds=seconds),
            settled,
            waiting,
            what="load the pull request's review",
        )
    except PollTimeout:
        raise PrPollTimeout(last, found=found, read=read) from None
    return review


def _review(reply: Reply) -> dict[str, Any]:
    if not reply.ok:
        raise review_failed(failed_to("load the pull request's review", reply).message)
    if not isinstance(reply.body, dict) or reply.text("status") is None:
        raise review_failed("Mergestorm answered with something that is no review; call again in a while.")
    review: dict[str, Any] = reply.body
    return review

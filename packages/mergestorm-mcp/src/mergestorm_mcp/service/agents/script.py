"""How the agents behave in one repository. A scenario writes this under `agents:`; what it leaves out is as below.

    agents:
      ci:
        seconds: 20
        checks:
          - name: tests
            fails_when: {path: "src/*", text: "raise NotImplementedError"}
      reviewer:
        seconds: 30
        findings:
          - {path: "src/*", text: "eval(", severity: error, title: "eval of user input"}
      patcher:
        seconds: 20
        fixes:
          - {path: "src/*", text: "eval(", with: "ast.literal_eval("}
      queue:
        seconds: 20
        outcomes: [{bounce: merge_failed, message: "GitHub refused the merge"}, {}]

Seconds are those of the simulated day: `--speed` shortens them. A path is a pattern in which `*` also crosses slashes.
"""

from __future__ import annotations

import fnmatch
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

__all__ = [
    "AgentScript",
    "CheckRule",
    "CiScript",
    "Condition",
    "FindingRule",
    "FixRule",
    "Outcome",
    "PatcherScript",
    "QueueScript",
    "ReviewerScript",
    "matches_path",
]

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Short = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Condition(_Strict):
    """True while a file whose path fits holds the text; without a text, while there is such a file."""

    path: Pattern = "*"
    text: Text | None = None


class CheckRule(_Strict):
    """One check of every head. Without `fails_when` it passes."""

    name: Short
    fails_when: Condition | None = None
    never_finishes: bool = False


class CiScript(_Strict):
    """What CI reports. An empty list stands for a repository without CI."""

    seconds: Seconds = 20
    checks: Annotated[list[CheckRule], Field(max_length=20)] = [CheckRule(name="tests")]


class FindingRule(_Strict):
    """A finding that is raised while an added or changed line of a fitting path holds the text.

    Attributes:
        where: `inline` at the line, `off_diff` only listed in the review, `body` for a review that is nothing but text.
        kind: which review raises it: the pull request's own (core) or the integration review (seam).
    """

    path: Pattern = "*"
    text: Text
    severity: Literal["error", "warning", "info"] = "error"
    title: Short
    body: Text | None = None
    where: Literal["inline", "off_diff", "body"] = "inline"
    kind: Literal["core", "seam"] = "core"


class ReviewerScript(_Strict):
    """How Vortex reviews.

    Attributes:
        queued_seconds: before a review begins.
        seconds: how long it takes then.
        findings: what it looks for.
        built_in: whether it also looks for what every reviewer would (merge markers, eval, written passwords ...).
        failures: how many reviews fail before the first that works.
        incomplete_above: a diff of more changed paths than this is reviewed only in part.
    """

    queued_seconds: Seconds = 3
    seconds: Seconds = 30
    findings: Annotated[list[FindingRule], Field(max_length=50)] = []
    built_in: bool = True
    failures: Annotated[int, Field(ge=0, le=100)] = 0
    incomplete_above: Annotated[int, Field(ge=0)] | None = None


class FixRule(_Strict):
    """Cyclone replaces the text in every fitting file that the pull request changes."""

    path: Pattern = "*"
    text: Text
    replacement: Annotated[str, StringConstraints(max_length=2000)] = Field(alias="with")


class PatcherScript(_Strict):
    """How Cyclone patches. Where no fix applies, it hands over to a person.

    Attributes:
        seconds: how long a patch takes.
        fixes: for findings and red checks.
        conflicts: how it resolves merge conflicts: with the pull request's side, the base's, or not at all.
    """

    seconds: Seconds = 25
    fixes: Annotated[list[FixRule], Field(max_length=50)] = []
    conflicts: Literal["hand_off", "ours", "theirs"] = "hand_off"


class Outcome(_Strict):
    """How one run of the queue ends: with a landing, or with this bounce."""

    bounce: (
        Literal[
            "ci_failure",
            "ci_timeout",
            "head_moved",
            "seam_findings",
            "restack_conflict",
            "pr_draft",
            "must_consolidate",
            "merge_failed",
            "gh_error",
        ]
        | None
    ) = None
    message: Short | None = None
    check: Short | None = None


class QueueScript(_Strict):
    """How the merge queue runs.

    Attributes:
        queued_seconds: before it takes an entry up.
        seconds: how long it verifies then.
        outcomes: of the runs, in order; every later one lands if it can.
        settle_seconds: how long Auto land lets a ready head settle; the account's setting where it is not given.
    """

    queued_seconds: Seconds = 5
    seconds: Seconds = 20
    outcomes: Annotated[list[Outcome], Field(max_length=50)] = []
    settle_seconds: Seconds | None = None


class AgentScript(_Strict):
    """All agents of a repository."""

    ci: CiScript = CiScript()
    reviewer: ReviewerScript = ReviewerScript()
    patcher: PatcherScript = PatcherScript()
    queue: QueueScript = QueueScript()


def matches_path(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern; letter case counts."""
    return fnmatch.fnmatchcase(path, pattern)

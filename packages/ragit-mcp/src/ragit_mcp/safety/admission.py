"""Admission: whether a document may enter the index, by its path and by what it holds.

The reasons and their order are the contract's (A10). Two of them are narrower here than in the reference, which keeps
out every document that shows an `Authorization:` header or three lines such as `PORT=8080`: a header or an
environment listing counts only if a real credential stands in it. Placeholders and the examples that documentation
shows everywhere (`postgres://user:password@host`) never count. Whatever the decision, only masked text is handed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Final

from mcpkit.secrets import Finding, find_secrets, mask

__all__ = [
    "BLOCKED_TEXT",
    "Action",
    "AdmissionMode",
    "AdmissionReport",
    "Decision",
    "Outcome",
    "Reason",
    "admit_artifact_text",
    "decide",
    "is_high_risk_path",
    "outcome_of",
]

BLOCKED_TEXT: Final = "[BLOCKED BY RAGIT ADMISSION CONTROL]"
"""What stands for a session or harness text that was kept out."""


class AdmissionMode(StrEnum):
    """The configuration key `security.admission_mode`."""

    ENFORCE = "enforce"
    REPORT_ONLY = "report-only"


class Action(StrEnum):
    """What was decided about a text."""

    ALLOW = "allow"
    QUARANTINE = "quarantine"
    BLOCK = "block"


class Reason(StrEnum):
    """Why; in the order in which reasons are reported, except that `credential_dump` follows the first dump."""

    HIGH_RISK_PATH = "high_risk_path"
    PRIVATE_KEY_BLOCK = "private_key_block"
    HEADER_OR_COOKIE_DUMP = "header_or_cookie_dump"
    CREDENTIAL_DUMP = "credential_dump"
    ENV_DUMP = "env_dump"
    MULTI_SECRET_PAYLOAD = "multi_secret_payload"  # noqa: S105 - the name of a reason
    SECRET_PATTERN = "secret_pattern"  # noqa: S105 - the name of a reason


class Outcome(StrEnum):
    """What ingest does with a document."""

    INDEX = "index"
    """Index the decision's text (masked where anything was found)."""
    SKIP = "skip"
    """Leave the document out, with one warning; count it as skipped and as blocked."""
    REFUSE = "refuse"
    """The user named this very document: log the decision, then fail."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one text.

    Attributes:
        action: allow, quarantine (index it masked) or block.
        reasons: why, in the contract's order; empty for allow.
        text: the text without secrets; equal to the input if it holds none.
        masked_count: number of secrets hidden in it.
    """

    action: Action
    reasons: tuple[Reason, ...]
    text: str = field(repr=False)
    masked_count: int = 0


_RISKY_NAMES: Final = frozenset((
    ".npmrc",
    "kubeconfig",
    "config.json",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
))
_RISKY_SUFFIXES: Final = (".pem", ".key", ".p12", ".pfx")
_RISKY_FOLDERS: Final = frozenset((
    "secret",
    "secrets",
    "credential",
    "credentials",
    "ssh",
    ".ssh",
    "gcloud",
    ".gcloud",
    "aws",
    ".aws",
))
# A line that is a header of an HTTP exchange, and a line that sets a variable.
_HEADER_LINE: Final = re.compile(
    r"^[ \t]{0,64}+(?:authorization|cookie|set-cookie|x-api-key)[ \t]{0,8}+:", re.IGNORECASE | re.MULTILINE
)
_ENVIRONMENT_LINE: Final = re.compile(r"^[ \t]{0,64}+[A-Z][A-Z0-9_]{0,127}+=[^\s]", re.MULTILINE)
# The same line, seen only as far as the credential that begins in its value.
_ENVIRONMENT_VALUE: Final = re.compile(r"[ \t]{0,64}+[A-Z][A-Z0-9_]{0,127}+=")
_DUMP_LINES: Final = 3
_MULTI_SECRET: Final = 3


def is_high_risk_path(path: str) -> bool:
    """Whether a repository path is one where credentials are kept: `.env`, `id_rsa`, `*.pem`, any `secrets/`."""
    *folders, name = path.replace("\\", "/").lower().split("/")
    return (
        name.startswith(".env")
        or name in _RISKY_NAMES
        or name.endswith(_RISKY_SUFFIXES)
        or any(folder in _RISKY_FOLDERS for folder in folders)
    )


def decide(path: str, text: str, *, path_is_trusted: Callable[[str], bool] | None = None) -> Decision:
    """Decide about one document, and mask it.

    Args:
        path: repository path, `/` between its parts; `""` for a text that has none.
        text: the whole document.
        path_is_trusted: says of a path that the project's configuration exempts it from the path rule. The content
            rules hold for every path.

    Returns:
        The decision with the masked text. Linear in the length of the text.
    """
    findings = find_secrets(text)
    masked = mask(text) if findings else None
    real = [finding for finding in findings if not finding.example]
    reasons: dict[Reason, None] = {}
    if is_high_risk_path(path) and not (path_is_trusted is not None and path_is_trusted(path)):
        reasons[Reason.HIGH_RISK_PATH] = None
    if any(finding.kind == "private_key" for finding in findings):
        reasons[Reason.PRIVATE_KEY_BLOCK] = None
    if _line_holds_one(_HEADER_LINE, text, real):
        reasons[Reason.HEADER_OR_COOKIE_DUMP] = reasons[Reason.CREDENTIAL_DUMP] = None
    if _is_environment_dump(text, real):
        reasons[Reason.ENV_DUMP] = reasons[Reason.CREDENTIAL_DUMP] = None
    if len(real) >= _MULTI_SECRET:
        reasons[Reason.MULTI_SECRET_PAYLOAD] = None
    blocked = bool(reasons)
    if findings:
        reasons[Reason.SECRET_PATTERN] = None
    action = Action.BLOCK if blocked else Action.QUARANTINE if findings else Action.ALLOW
    return Decision(
        action,
        tuple(reasons),
        text if masked is None else masked.text,
        0 if masked is None else masked.hidden,
    )


def _line_holds_one(pattern: re.Pattern[str], text: str, findings: list[Finding]) -> bool:
    """Whether a finding begins on a line that the pattern matches."""
    if not findings:
        return False
    line = 0
    for finding in findings:
        start = max(text.rfind("\n", line, finding.start) + 1, line)
        if pattern.match(text, start, finding.start):
            return True
        line = start
    return False


def _is_environment_dump(text: str, findings: list[Finding]) -> bool:
    """Whether at least three lines set a variable and a real credential stands in one of them."""
    if not _line_holds_one(_ENVIRONMENT_VALUE, text, findings):
        return False
    return sum(1 for _ in islice(_ENVIRONMENT_LINE.finditer(text), _DUMP_LINES)) == _DUMP_LINES


def outcome_of(decision: Decision, mode: AdmissionMode, *, explicit: bool) -> Outcome:
    """What ingest does with a decided document.

    Args:
        decision: of `decide`.
        mode: report-only indexes blocked documents masked, and still reports them as blocked.
        explicit: the user named the document (`--path`, `--files`) rather than found it by a glob.
    """
    if decision.action is not Action.BLOCK or mode is AdmissionMode.REPORT_ONLY:
        return Outcome.INDEX
    return Outcome.REFUSE if explicit else Outcome.SKIP


def admit_artifact_text(text: str, mode: AdmissionMode) -> Decision:
    """Decide about a text of a session or of the harness, which has no path.

    Returns:
        The decision; its `text` is what may be stored: masked, or under enforce `BLOCKED_TEXT` for a blocked one.
    """
    decision = decide("", text)
    if decision.action is Action.BLOCK and mode is AdmissionMode.ENFORCE:
        return Decision(decision.action, decision.reasons, BLOCKED_TEXT, decision.masked_count)
    return decision


class AdmissionReport:
    """The decisions of one command: the member `admission` of its result, and the lines of the admission log.

    Args:
        mode: the mode under which they were made.
        operation: the command, such as `ingest`.
    """

    def __init__(self, mode: AdmissionMode, operation: str) -> None:
        self.mode = mode
        self.operation = operation
        self._count = dict.fromkeys(Action, 0)
        self._items: list[dict[str, Any]] = []

    def add(self, source: str, surface: str, decision: Decision) -> None:
        """Note a decision.

        Args:
            source: path of the document or id of the artifact; shown masked.
            surface: what was decided about, such as `document` or `session`.
            decision: allowed ones are only counted.
        """
        self._count[decision.action] += 1
        if decision.action is not Action.ALLOW:
            self._items.append({
                "sourceRef": mask(source).text,
                "surface": surface,
                "action": decision.action.value,
                "reasonCodes": [reason.value for reason in decision.reasons],
                "operation": self.operation,
            })

    def count(self, action: Action) -> int:
        """How many texts were decided this way."""
        return self._count[action]

    def to_json(self) -> dict[str, Any]:
        """`{mode, allowed, quarantined, blocked, items}` as the contract's ingest result has it (A9)."""
        return {
            "mode": self.mode.value,
            "allowed": self._count[Action.ALLOW],
            "quarantined": self._count[Action.QUARANTINE],
            "blocked": self._count[Action.BLOCK],
            "items": [dict(item) for item in self._items],
        }

"""What a check has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Check", "Examination", "bad", "good"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: stable name.
        ok: nothing is wrong.
        detail: what was found, in words; no secret, no absolute path.
        recovery: the command that helps, if something is wrong.
    """

    name: str
    ok: bool
    detail: str
    recovery: str | None = None

    def to_json(self) -> dict[str, Any]:
        """One entry of `checks`."""
        value: dict[str, Any] = {"name": self.name, "ok": self.ok, "detail": self.detail}
        if self.recovery is not None:
            value["recovery"] = self.recovery
        return value


@dataclass(frozen=True, slots=True)
class Examination:
    """All checks of one run."""

    checks: tuple[Check, ...]

    @property
    def has_failure(self) -> bool:
        """Whether anything is wrong."""
        return not all(check.ok for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The data of the reply."""
        return {"checks": [check.to_json() for check in self.checks], "hasFailure": self.has_failure}


def good(name: str, detail: str) -> Check:
    """A check that found nothing wrong."""
    return Check(name, ok=True, detail=detail)


def bad(name: str, detail: str, recovery: str) -> Check:
    """A check that found something wrong."""
    return Check(name, ok=False, detail=detail, recovery=recovery)

"""What ragit remembers of its own work beside the index: events, admission decisions, audits.

    .ragit/log/events/<day>.jsonl           one line an event (contract A16)
    .ragit/security/admission/<day>.jsonl   documents that were masked or kept out
    .ragit/security/quarantine/<day>.jsonl  those of them that were indexed masked
    .ragit/security/state.json              the last audit

`reading` counts and summarises, for status and doctor; `writing` appends, for commands; `audit` looks for secrets in all of
it and in the store. Nothing here holds a secret: what
is written passes through masking.
"""

from __future__ import annotations

from ragit_mcp.ledger.reading import (
    AuditState,
    EventSummary,
    SecuritySummary,
    read_audit_state,
    summarise_events,
    summarise_security,
)

__all__ = [
    "AuditState",
    "EventSummary",
    "SecuritySummary",
    "read_audit_state",
    "summarise_events",
    "summarise_security",
]

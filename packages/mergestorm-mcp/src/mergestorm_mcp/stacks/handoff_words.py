"""Why Cyclone will not, or did not, repair something: the service's reason tokens in plain words (contract 3.15 F)."""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.text import one_line

__all__ = ["handoff_words"]

_WORDS: Final = {
    "account_auto_fix_ci_off": "fixing CI is switched off for the account",
    "account_auto_patch_off": "patching is switched off for the account",
    "account_auto_resolve_off": "resolving conflicts is switched off for the account",
    "auto_fix_ci_daily_cap": "it has used up today's CI fixes",
    "auto_fix_ci_off": "fixing CI is switched off",
    "auto_patch_off": "patching is switched off",
    "auto_resolve_daily_cap": "it has used up today's conflict resolutions",
    "auto_resolve_off": "resolving conflicts is switched off",
    "ci_billing_block": "GitHub does not run the checks because of a billing problem",
    "ci_fix_did_not_hold": "its fix did not make CI pass",
    "ci_missing_secrets": "the checks need secrets that are not there",
    "ci_needs_actions_read": "it may not read the repository's Actions runs",
    "ci_red_on_base": "the same check fails on the base branch too",
    "ci_rerun_exhausted": "running the checks again did not help",
    "ci_rerun_unavailable": "the checks cannot be run again",
    "ci_unreadable": "it cannot read the check's output",
    "ci_unresolved": "it found no fix",
    "ci_unverified": "it could not verify its fix",
    "conflict_needs_person": "the conflict needs a person's decision",
    "conflict_unresolved": "it found no resolution of the conflict",
    "credits_exhausted": "the account is out of credits",
    "cyclone_not_connected": "Cyclone is not connected to the repository",
    "handed_off": "it left this head to a person",
    "hold": "it was told to hold",
    "infra_failure": "its run failed for reasons of its own",
    "no_billing": "the account has no billing set up",
    "no_changes": "it found nothing to change",
    "patch_job_lost": "its run was lost",
    "policy_owner_changed": "the stack's policy belongs to somebody else now",
    "stack_auto_fix_ci_off": "fixing CI is switched off for this stack",
    "stack_auto_patch_off": "patching is switched off for this stack",
    "stack_auto_resolve_off": "resolving conflicts is switched off for this stack",
    "unsupported_language": "it does not patch this language",
    "vortex_patch_cap": "it has made as many patches as one pull request gets",
}


def handoff_words(reason: str) -> str:
    """A reason token in words; one that is not known with spaces for underscores."""
    return _WORDS.get(reason) or one_line(reason.replace("_", " "))

"""A pull request on the page: its head, checks, review, who is at work on it, what holds it up, what can be done."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from mergestorm_mcp.service.agents import cyclone
from mergestorm_mcp.service.pr_reviews.passes import open_findings
from mergestorm_mcp.service.stacks.live import LiveLayer
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.ui.words import plain

__all__ = ["checks_shown", "pull_shown", "review_shown"]

_VERDICTS: Final = {"approve": "approved", "comment": "commented", "request_changes": "changes requested"}
_TONES: Final = {"approve": "good", "comment": "warn", "request_changes": "bad"}
_HANDOFFS: Final = {"findings": "findings", "conflict": "conflict", "ci": "failing check"}


def pull_shown(site: Site, layer: LiveLayer) -> dict[str, Any]:
    """What is the same for a pull request in a stack and outside one. Shown values have a text and a tone."""
    pull = layer.pull
    actions = []
    if layer.open:
        if layer.checks and not any(check.status == "pending" for check in layer.checks):
            actions.append("rerun")
        actions.append("close")
    return {
        "repository": site.repository.full_name,
        "number": pull.number,
        "title": pull.title,
        "branch": pull.head_branch,
        "base": pull.base_branch,
        "author": pull.author_login,
        "head": layer.head[:7] if layer.head is not None else None,
        "state": _state(layer),
        "checks": checks_shown(layer),
        "review": review_shown(site, layer),
        "agents": _agents(site, layer),
        "blockers": _blockers(site, layer) if layer.open else [],
        "actions": actions,
    }


def checks_shown(layer: LiveLayer) -> dict[str, str]:
    """The checks of the head in a few words."""
    counts = Counter(check.status for check in layer.checks)
    if layer.ci == "none":
        return _value("no checks", "calm")
    if layer.ci == "failure":
        names = [check.name for check in layer.checks if check.status == "failure"]
        return _value(f"failed: {', '.join(names)}", "bad")
    if layer.ci == "pending":
        return _value(f"{len(layer.checks) - counts['pending']} of {len(layer.checks)} done", "busy")
    return _value(f"{counts['success']} passed" if counts["success"] else "neutral", "good")


def review_shown(site: Site, layer: LiveLayer) -> dict[str, str]:
    """What Vortex says of the head, dismissals taken into account."""
    core = layer.core
    if layer.verdict.running:
        return _value("under review", "busy")
    if core is None or core["head_sha"] != layer.head or core["status"] == "stopped":
        return _value("not reviewed", "calm")
    if core["status"] == "skipped":
        return _value(f"skipped: {plain(core['skip_reason'] or 'no reason given')}", "warn")
    if core["status"] == "failed":
        again = core["skip_reason"] == "retry_scheduled"
        return _value("failed, will be tried again" if again else "failed", "bad")
    verdict = layer.verdict.verdict or ""
    found = len(open_findings(site.connection, core["id"]))
    words = _VERDICTS.get(verdict, "reviewed")
    if found:
        words += f", {found} open finding{'' if found == 1 else 's'}"
    if layer.verdict.incomplete:
        words += " (only a part was read)"
    return _value(words, _TONES.get(verdict, "calm"))


def _state(layer: LiveLayer) -> dict[str, str]:
    if layer.promoted:
        return _value("in the unit", "good")
    if layer.pull.state == "merged":
        return _value("merged", "good")
    if layer.pull.state == "closed":
        return _value("closed", "calm")
    if layer.pull.draft:
        return _value("draft", "calm")
    if layer.merge is not None and not layer.merge.clean:
        return _value("conflict", "warn")
    words = {"conflict": "conflict", "needs_restack": "needs restack"}.get(layer.state)
    return _value("open", "calm") if words is None else _value(words, "warn")


def _agents(site: Site, layer: LiveLayer) -> list[str]:
    if not layer.open:
        return []
    at_work = []
    if layer.verdict.running:
        at_work.append("Vortex reviews")
    if layer.seam_running:
        at_work.append("Vortex reviews the seam")
    if cyclone.patching(site.connection, site.repo_id, layer.pull.number):
        at_work.append("Cyclone patches")
    return at_work


def _blockers(site: Site, layer: LiveLayer) -> list[str]:
    found = []
    if layer.merge is not None and not layer.merge.clean:
        paths = ", ".join(layer.merge.conflicts) or "unrelated histories"
        found.append(f"conflict with {layer.pull.base_branch}: {paths}")
    if layer.row is not None and layer.row["restack_kind"] is not None:
        found.append(f"restack failed: {layer.row['restack_detail'] or plain(layer.row['restack_kind'])}")
    for kind, words in _HANDOFFS.items():
        run = cyclone.handoff(site.connection, site.repo_id, layer.pull.number, layer.head, kind)
        if run is not None:
            found.append(f"Cyclone left the {words} to a person: {plain(run['reason'] or 'no reason given')}")
    return found


def _value(text: str, tone: str) -> dict[str, str]:
    return {"text": text, "tone": tone}

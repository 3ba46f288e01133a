"""CI: checks at every head of a pull request, green or red by what the files of the head say."""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.service.agents.script import CheckRule, Condition, matches_path
from mergestorm_mcp.service.agents.scripts import script_of
from mergestorm_mcp.service.github.hub import CheckStatus
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.timeline import schedule

__all__ = ["FINISH", "finish", "holds", "start"]

FINISH: Final = "ci.finish"

_MAX_FILES: Final = 2000
_MAX_BYTES: Final = 1 << 20


def start(site: Site, sha: str, *, again: bool = False) -> None:
    """Start the checks of a head, unless they were started before.

    Args:
        site: where.
        sha: the head.
        again: forget earlier results, as a rerun does.
    """
    script = script_of(site.connection, site.repo_id).ci
    present = [check.name for check in site.hub.checks(site.connection, site.repo_id, sha)]
    names = dict.fromkeys([check.name for check in script.checks] + present)
    if not names or (present and not again):
        return
    for name in names:
        site.hub.set_check(site.connection, site.repo_id, sha, name, "pending", site.now())
    payload = {"repo_id": site.repo_id, "sha": sha}
    schedule(site.connection, FINISH, payload, site.world.pace.after(script.seconds))


def finish(site: Site, sha: str) -> None:
    """Give the results of a head's checks; one that never finishes stays pending."""
    pending = {
        check.name
        for check in site.hub.checks(site.connection, site.repo_id, sha)
        if check.status == "pending"
    }
    rules = {rule.name: rule for rule in script_of(site.connection, site.repo_id).ci.checks}
    for name in pending:
        rule = rules.get(name, CheckRule(name=name))  # the queue's own check may be among those run again
        if not rule.never_finishes:
            status: CheckStatus = "failure" if _fails(site, sha, rule) else "success"
            site.hub.set_check(site.connection, site.repo_id, sha, name, status, site.now())


def _fails(site: Site, sha: str, rule: CheckRule) -> bool:
    return rule.fails_when is not None and holds(site, sha, rule.fails_when)


def holds(site: Site, sha: str, condition: Condition) -> bool:
    """Whether a condition is true of the files of a commit. Of very many or very large files only the first count."""
    entries = [
        entry
        for entry in site.git.repository.list_tree(sha)
        if entry.type == "blob" and matches_path(condition.path, entry.path.decode("utf-8", "replace"))
    ]
    if condition.text is None:
        return bool(entries)
    wanted = condition.text.encode()
    small = [entry.oid for entry in entries if (entry.size or 0) <= _MAX_BYTES][:_MAX_FILES]
    with site.git.repository.blobs() as reader:
        return any(isinstance(content, bytes) and wanted in content for _, content in reader.read_many(small))

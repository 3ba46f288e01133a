"""Merging a pull request in git: into its unit, or onto the trunk."""

from __future__ import annotations

from mergestorm_mcp.service.github.bare import MergeResult
from mergestorm_mcp.service.github.hub import Pull
from mergestorm_mcp.service.stacks.site import Site

__all__ = ["merge_pull"]


def merge_pull(site: Site, pull: Pull, head: str, *, into: str, at: str) -> str | MergeResult:
    """Merge a pull request's head into a branch, unless git has it already, and move the branch.

    Args:
        site: the repository.
        pull: names the merge.
        head: the commit that is merged.
        into: the branch.
        at: the commit that the branch stands at.

    Returns:
        The commit that the branch stands at now, or the conflicts.
    """
    if site.contains(at, head):
        return at
    made = site.git.merge_commit(
        at,
        head,
        message=f"Merge pull request #{pull.number} from {pull.head_branch}",
        when=site.moment(),
    )
    if not isinstance(made, MergeResult):
        site.git.move(into, made, at)
    return made

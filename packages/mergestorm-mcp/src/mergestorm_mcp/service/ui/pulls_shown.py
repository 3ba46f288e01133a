"""Open pull requests that are in no stack that goes on."""

from __future__ import annotations

from typing import Any, Final

from mergestorm_mcp.service.stacks.live import live_pull
from mergestorm_mcp.service.stacks.records import goes_on, stack_of_pull
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.ui.layers_shown import pull_shown

__all__ = ["other_pulls"]

_SHOWN: Final = 30


def other_pulls(site: Site) -> list[dict[str, Any]]:
    """The oldest open pull requests of a repository that nobody has made a stack of."""
    found = [
        pull
        for pull in site.hub.pulls(site.connection, site.repo_id, state="open")
        if not _in_a_stack(site, pull.number)
    ]
    return [pull_shown(site, live_pull(site, pull)) for pull in found[:_SHOWN]]


def _in_a_stack(site: Site, number: int) -> bool:
    stack = stack_of_pull(site.connection, site.repo_id, number)
    return stack is not None and goes_on(stack)

"""The tables of every room."""

from __future__ import annotations

from typing import Final

from mergestorm_mcp.service import knobs, timeline
from mergestorm_mcp.service.accounts import tables as accounts
from mergestorm_mcp.service.agents import tables as agents
from mergestorm_mcp.service.github import tables as github
from mergestorm_mcp.service.local_reviews import tables as local_reviews
from mergestorm_mcp.service.pr_reviews import tables as pr_reviews
from mergestorm_mcp.service.settings import tables as settings
from mergestorm_mcp.service.stacks import tables as stacks

__all__ = ["SCHEMAS", "VERSION"]

VERSION: Final = 1
"""Raised whenever a table changes; a data folder of another version is refused."""

SCHEMAS: Final = (
    timeline.SCHEMA,
    knobs.SCHEMA,
    accounts.SCHEMA,
    settings.SCHEMA,
    github.SCHEMA,
    local_reviews.SCHEMA,
    stacks.SCHEMA,
    pr_reviews.SCHEMA,
    agents.SCHEMA,
)

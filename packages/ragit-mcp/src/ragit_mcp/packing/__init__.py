"""Context packs: passages for a goal within a budget.

context      `context_pack`: the command's and the tool's data
selecting    which passages go into a budget
"""

from __future__ import annotations

from ragit_mcp.packing.context import DEFAULT_BUDGET, Unit, context_pack
from ragit_mcp.packing.selecting import STRATEGY, SelectionState, check_budget, select

__all__ = ["DEFAULT_BUDGET", "STRATEGY", "SelectionState", "Unit", "check_budget", "context_pack", "select"]

"""`ragit init`: makes a repository ready to be indexed.

workspace    `.ragit/` with its configuration and its own .gitignore: all that `--yes` writes
scaffold     starter documents and AGENTS.md, written only when asked for
scanning     what kind of repository it is
"""

from __future__ import annotations

from ragit_mcp.init.workspace import InitOutcome, InitRequest, initialise

__all__ = ["InitOutcome", "InitRequest", "initialise"]

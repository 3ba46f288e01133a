"""What the branch on GitHub is to the one that was sent (contract 5.4)."""

from __future__ import annotations

from typing import Literal

from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.publication.rebuild import Rebuilt

__all__ = ["Standing", "standing"]

Standing = Literal["absent", "same", "behind", "replaceable", "changed"]
"""Not there; there already; holds only what was sent or its base; may be replaced; holds other work."""


def standing(bare: Bare, live: str | None, base: str, rebuilt: Rebuilt, replace_head: str | None) -> Standing:
    """How the branch stands.

    Args:
        bare: the repository.
        live: the branch's commit; None if it is not there.
        base: where the sent line begins.
        rebuilt: the sent line as it is here.
        replace_head: the commit that may be replaced.

    Raises:
        GitError: git cannot be asked.
    """
    if live is None:
        return "absent"
    if live == rebuilt.head.oid:
        return "same"
    # What the base's history holds, the sent line holds, too.
    if any(live == copy.oid for copy in rebuilt.copies) or bare.is_ancestor(live, base):
        return "behind"
    if replace_head is not None and replace_head.lower() == live:
        return "replaceable"
    return "changed"

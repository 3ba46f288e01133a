"""Similarity of a question's vector to every passage of a snapshot: an exact scan.

All vectors of a generation lie in one block of float32, and a product of block and question takes milliseconds even for
100,000 passages; an index that only estimates would lose recall to save time that nobody waits for. The scan only chooses
candidates. The similarities that are shown and compared are computed again in double precision, one passage at a time:
a product over the block may differ in its last digit with a passage's place in the block, and that place depends on what
else was ever indexed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ragit_mcp.store import Membership

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["exact_similarities", "scan"]

# Below this share of the block its rows are picked out; above, scanning all of it is faster than copying.
_PICKED_SHARE: Final = 0.05


def scan(
    block: npt.NDArray[np.float32], members: Membership, vector: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """The similarity of every chunk of a snapshot, by row number, good to about six digits; 0 for all other rows.

    Args:
        block: of `Store.vectors`.
        members: the snapshot.
        vector: the question's, of unit length.
    """
    import numpy as np

    rows = members.unique_rows
    scores = np.zeros(members.row_limit + 1, dtype=np.float64)
    if len(rows) < _PICKED_SHARE * len(block):
        scores[rows] = block[rows - 1] @ vector
    else:
        scores[1 : len(block) + 1] = block @ vector
        scores[~members.mask] = 0.0
    return scores


def exact_similarities(
    block: npt.NDArray[np.float32], rows: npt.NDArray[np.int64], vector: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """The similarities of some chunks, the same wherever in the block they lie."""
    import numpy as np

    picked = block[rows - 1].astype(np.float64)
    picked *= vector.astype(np.float64)
    return np.asarray(picked.sum(axis=1), dtype=np.float64)

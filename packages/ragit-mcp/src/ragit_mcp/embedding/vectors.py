"""Vectors on their way in: checked, of length one, float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ragit_mcp.errors import EmbeddingError

if TYPE_CHECKING:  # numpy takes a tenth of a second to import; whoever embeds imports it
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FloatArray", "checked_vectors", "invalid_response", "unit_vectors"]

FloatArray: TypeAlias = "NDArray[np.float32]"


def unit_vectors(vectors: FloatArray) -> FloatArray:
    """The vectors scaled to length one; a vector of zeros, which has no direction, stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths[lengths == 0.0] = 1.0
    return np.ascontiguousarray(vectors / lengths, dtype=np.float32)


def checked_vectors(rows: Sequence[object], *, count: int, dimensions: int, provider: str) -> FloatArray:
    """The vectors of a service's answer, after JSON, as an array.

    Raises:
        EmbeddingError: `RESPONSE_INVALID` (another number of vectors, no list of finite numbers) or
            `DIMENSION_MISMATCH`.
    """
    import numpy as np

    if len(rows) != count:
        raise invalid_response(provider, "count")
    vectors = np.empty((count, dimensions), dtype=np.float32)
    for place, row in enumerate(rows):
        if not isinstance(row, list) or not all(type(value) in {int, float} for value in row):
            raise invalid_response(provider, "vector")
        if len(row) != dimensions:
            raise EmbeddingError(
                "DIMENSION_MISMATCH",
                "The embedding service answers with vectors of another length than the configured model has.",
                details={"provider": provider, "expected": dimensions, "received": len(row)},
            )
        try:
            # Overflow on the way to float32 becomes an infinity, which is refused below.
            with np.errstate(over="ignore"):
                vectors[place] = row
        except (OverflowError, ValueError):  # an integer beyond any float
            raise invalid_response(provider, "number") from None
    if not np.isfinite(vectors).all():
        raise invalid_response(provider, "number")
    return vectors


def invalid_response(provider: str, reason: str) -> EmbeddingError:
    """The error for an answer that is none; it holds nothing of the answer."""
    return EmbeddingError(
        "RESPONSE_INVALID",
        "The embedding service answered with something that is no set of vectors.",
        details={"provider": provider, "reason": reason},
    )

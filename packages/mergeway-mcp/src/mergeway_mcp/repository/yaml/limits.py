"""The bounds that keep reading any file within bounded time and memory."""

from __future__ import annotations

from typing import Final

#: Levels of lists and maps, aliases followed. Far beyond any record; below the 255 levels at which the serialisers
#: of replies give up.
MAX_DEPTH: Final = 200

#: Decimal digits of an integer: CPython's own limit, above which conversion takes quadratic time.
MAX_INT_DIGITS: Final = 4300

#: Keys of one map that are not text. Their hashes are not salted, so a file could choose many that collide.
MAX_TYPED_KEYS: Final = 1_000

#: `%TAG` directives of one file: libyaml compares each with all before it.
MAX_TAG_DIRECTIVES: Final = 1_000

#: Aliases may stand for this many values in all, however small the document, ...
FREE_ALIASED_NODES: Final = 1_000
#: ... for this many times the values that are written out, ...
ALIASED_NODES_PER_WRITTEN: Final = 99
#: ... and never for more than this many plus a ninth of the values that are written out.
MAX_ALIASED_NODES: Final = 1_000_000


def too_much_aliasing(*, written: int, aliased: int) -> bool:
    """Whether a document's aliases expand to more than it may ask for.

    Args:
        written: Nodes that stand in the document.
        aliased: Nodes that aliases add to them when every alias is replaced by what it names.
    """
    if aliased <= FREE_ALIASED_NODES:
        return False
    return aliased > ALIASED_NODES_PER_WRITTEN * written or aliased > MAX_ALIASED_NODES + written // 9

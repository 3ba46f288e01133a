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

#: Few long texts named often enough are as bad as many values. In memory they are shared, in a reply they are not:
#: this many characters may be repeated by aliases in all, ...
FREE_ALIASED_CHARACTERS: Final = 1 << 20
#: ... and beyond them this many times the characters that are written out.
ALIASED_CHARACTERS_PER_WRITTEN: Final = 10


def too_much_aliasing(
    *, written: int, aliased: int, written_characters: int = 0, aliased_characters: int = 0
) -> bool:
    """Whether a document's aliases expand to more than it may ask for.

    Args:
        written: Nodes that stand in the document.
        aliased: Nodes that aliases add to them when every alias is replaced by what it names.
        written_characters: Characters of the scalars that stand in the document.
        aliased_characters: Characters that aliases add to them.
    """
    if aliased_characters > FREE_ALIASED_CHARACTERS + ALIASED_CHARACTERS_PER_WRITTEN * written_characters:
        return True
    if aliased <= FREE_ALIASED_NODES:
        return False
    return aliased > ALIASED_NODES_PER_WRITTEN * written or aliased > MAX_ALIASED_NODES + written // 9

r"""Glob patterns over repository paths.

    *        any characters within one name            **       any number of directories, none included
    ?        one character of a name                   [a-z]    one of these characters; `[!a]`, `[^a]`: none of them
    {a,b}    either of them                            \x       the character itself

A pattern is matched against the whole path, from the repository's root: `README.md` is the one at the root,
`**/README.md` every one. `docs/` is short for `docs/**`. A name that begins with a dot is matched only by a pattern
whose name begins with one, unless the set is told to see them; case counts.

Patterns come from a repository that may be hostile. Matching runs a bit set over the pattern's positions, so that the
work is bounded by pattern and path alone and no choice of stars makes it explode; braces and lengths are capped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from ragit_mcp.errors import IngestError

__all__ = ["MAX_EXPANSIONS", "MAX_PATTERNS", "MAX_PATTERN_CHARACTERS", "Glob", "GlobSet", "split_patterns"]

MAX_PATTERN_CHARACTERS: Final = 512
MAX_PATTERNS: Final = 128
#: Patterns that the braces of one may stand for.
MAX_EXPANSIONS: Final = 64

_SPECIAL: Final = frozenset("*?[\\")
_CACHED_CHARACTERS: Final = 1024
# Directories whose files are judged from what is left of the patterns there.
_CACHED_DIRECTORIES: Final = 64

_Test = Callable[[str], bool]


class Glob:
    """One pattern.

    Args:
        pattern: see the module's docstring.

    Raises:
        IngestError: `INGEST_GLOB_INVALID`: empty, too long, with control characters, absolute, with a `..`, or with
            braces that stand for too many patterns; `details.reason` names the case.
    """

    __slots__ = ("_sequences", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern: str = pattern
        checked = _checked(pattern)
        self._sequences: tuple[_NameSequence, ...] = tuple(map(_NameSequence, _expand_braces(checked)))

    def matches(self, path: str, *, hidden: bool = False) -> bool:
        """Whether the pattern matches a path; `hidden`: wildcards also match names that begin with a dot."""
        names = path.split("/")
        return any(sequence.accepts(sequence.follow(names, hidden)) for sequence in self._sequences)

    def __repr__(self) -> str:
        return f"Glob({self.pattern!r})"


class GlobSet:
    """Several patterns, of which one has to match.

    Args:
        patterns: at most `MAX_PATTERNS`; see `Glob`.
        hidden: wildcards also match names that begin with a dot.

    Raises:
        IngestError: `INGEST_GLOB_INVALID`.
    """

    __slots__ = ("_directories", "_globs", "_hidden", "_sequences")

    def __init__(self, patterns: Iterable[str], *, hidden: bool = False) -> None:
        globs: list[Glob] = []
        for pattern in patterns:
            if len(globs) >= MAX_PATTERNS:
                raise _invalid("too_many", f"at most {MAX_PATTERNS} glob patterns are read")
            globs.append(Glob(pattern))
        self._globs: tuple[Glob, ...] = tuple(globs)
        self._sequences = [sequence for glob in globs for sequence in glob._sequences]
        self._directories: dict[str, list[tuple[_NameSequence, int]]] = {}
        self._hidden = hidden

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns as they were given."""
        return tuple(glob.pattern for glob in self._globs)

    def matches(self, path: str) -> bool:
        """Whether one of the patterns matches a path."""
        start = path.rfind("/") + 1
        # The directory with its slash: no directory, and one that is called nothing, differ.
        directory, name = path[:start], path[start:]
        alive = self._directories.get(directory)
        if alive is None:
            alive = self._enter(directory.split("/")[:-1])
            # Listings come a directory at a time: forgetting them all now and then costs next to nothing.
            if len(self._directories) >= _CACHED_DIRECTORIES:
                self._directories.clear()
            self._directories[directory] = alive
        return any(sequence.accepts(sequence.step(states, name, self._hidden)) for sequence, states in alive)

    def _enter(self, names: Sequence[str]) -> list[tuple[_NameSequence, int]]:
        """What a directory leaves of the patterns: those that can still match something in it, with their states."""
        entered = ((sequence, sequence.follow(names, self._hidden)) for sequence in self._sequences)
        return [(sequence, states) for sequence, states in entered if states]


def split_patterns(text: str) -> list[str]:
    """Split a list of globs at its commas; those between braces belong to a glob."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}":
            depth = max(depth - 1, 0)
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _invalid(reason: str, message: str) -> IngestError:
    return IngestError("INGEST_GLOB_INVALID", message, details={"reason": reason})


def _checked(pattern: str) -> str:
    """The pattern without the spellings that mean nothing: `./` in front, a slash for `**` behind."""
    if not pattern.strip():
        raise _invalid("empty", "A glob pattern is empty.")
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise _invalid("too_long", f"A glob pattern has at most {MAX_PATTERN_CHARACTERS} characters.")
    if any(character < " " or character == "\x7f" for character in pattern):
        raise _invalid("control_characters", "A glob pattern holds a control character.")
    if pattern.startswith("/"):
        raise _invalid(
            "absolute", "A glob pattern is relative to the repository: leave out the leading slash."
        )
    while pattern.startswith("./"):
        pattern = pattern[2:]
    if pattern.endswith("/"):
        pattern += "**"
    if not pattern or ".." in pattern.split("/"):
        raise _invalid("outside", "A glob pattern stays inside the repository: it has no '..'.")
    return pattern


def _expand_braces(pattern: str) -> list[str]:
    """The patterns that the braces stand for; a brace without comma or partner is a character."""
    waiting = [pattern]
    done: list[str] = []
    while waiting:
        current = waiting.pop()
        found = _first_braces(current)
        if found is None:
            done.append(current)
        else:
            start, end, commas = found
            bounds = [start, *commas, end]
            pieces = [current[left + 1 : right] for left, right in itertools.pairwise(bounds)]
            waiting.extend(current[:start] + piece + current[end + 1 :] for piece in reversed(pieces))
        if len(done) + len(waiting) > MAX_EXPANSIONS:
            raise _invalid(
                "too_many", f"The braces of a glob pattern stand for at most {MAX_EXPANSIONS} patterns."
            )
    return done


def _first_braces(pattern: str) -> tuple[int, int, list[int]] | None:
    """Start, end and commas of the first pair of braces that has a comma of its own."""
    opened: list[tuple[int, list[int]]] = []
    best: tuple[int, int, list[int]] | None = None
    escaped = False
    for index, character in enumerate(pattern):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "{":
            opened.append((index, []))
        elif character == "," and opened:
            opened[-1][1].append(index)
        elif character == "}" and opened:
            start, commas = opened.pop()
            if commas and (best is None or start < best[0]):
                best = (start, index, commas)
    return best


class _NameSequence:
    """A pattern without braces, as name patterns and the places where any number of directories may stand."""

    __slots__ = ("_accepted", "_loops", "_names")

    def __init__(self, pattern: str) -> None:
        names: list[_Name] = []
        loops = 0
        for part in pattern.split("/"):
            if part == "**":
                loops |= 1 << len(names)
            elif part not in {"", "."}:
                names.append(_Name(part))
        self._names: tuple[_Name, ...] = tuple(names)
        self._loops = loops
        self._accepted = 1 << len(names)

    def follow(self, names: Sequence[str], hidden: bool) -> int:
        """The states after some names of a path, from its beginning; bit i: they match the first i name patterns."""
        states = 1
        for name in names:
            states = self.step(states, name, hidden)
            if not states:
                break
        return states

    def step(self, states: int, name: str, hidden: bool) -> int:
        """The states after one more name; 0 where nothing can match any more."""
        following = 0 if name.startswith(".") and not hidden else states & self._loops
        for index in _bits(states & (self._accepted - 1)):
            if self._names[index].matches(name, hidden):
                following |= 2 << index
        return following

    def accepts(self, states: int) -> bool:
        """Whether a path that ends in these states matches."""
        return bool(states & self._accepted)


class _Name:
    """The pattern of one name.

    Positions are the characters to be consumed; a star is a loop at the position it stands before. Bit i of the state
    says that the name so far matches the first i of them.
    """

    __slots__ = ("_accepted", "_cache", "_dotted", "_ending", "_literal", "_loops", "_tests")

    def __init__(self, pattern: str) -> None:
        tests: list[_Test] = []
        loops = 0
        literal: list[str] | None = []
        items = list(_parse_name(pattern))
        rest = [item for item in items[1:] if isinstance(item, str)]
        # A star and plain characters, the commonest pattern, needs no machine.
        self._ending = "".join(rest) if items[:1] == [None] and len(rest) == len(items) - 1 else None
        for item in items:
            if item is None:
                loops |= 1 << len(tests)
                literal = None
            elif isinstance(item, str):
                tests.append(item.__eq__)
                if literal is not None:
                    literal.append(item)
            else:
                tests.append(item)
                literal = None
        self._literal = "".join(literal) if literal is not None else None
        self._tests: tuple[_Test, ...] = tuple(tests)
        self._loops = loops
        self._accepted = 1 << len(tests)
        self._dotted = pattern.startswith((".", "\\."))
        self._cache: dict[str, int] = {}

    def matches(self, name: str, hidden: bool) -> bool:
        if self._literal is not None:
            return name == self._literal
        if name.startswith(".") and not (hidden or self._dotted):
            return False
        if self._ending is not None:
            return name.endswith(self._ending)
        states = 1
        for character in name:
            mask = self._cache.get(character)
            if mask is None:
                mask = self._mask(character)
            states = (states & self._loops) | ((states & mask) << 1)
            if not states:
                return False
        return bool(states & self._accepted)

    def _mask(self, character: str) -> int:
        """The positions that consume a character."""
        mask = 0
        for index, test in enumerate(self._tests):
            if test(character) is True:
                mask |= 1 << index
        if len(self._cache) < _CACHED_CHARACTERS:
            self._cache[character] = mask
        return mask


def _parse_name(pattern: str) -> Iterator[str | _Test | None]:
    """Characters, tests of one character, and None for a star."""
    index = 0
    while index < len(pattern):
        character = pattern[index]
        index += 1
        if character not in _SPECIAL:
            yield character
        elif character == "*":
            yield None
        elif character == "?":
            yield _any_character
        elif character == "\\":
            yield pattern[index] if index < len(pattern) else character
            index += 1
        else:
            found = _parse_class(pattern, index)
            if found is None:
                yield character
            else:
                index, test = found
                yield test


def _any_character(_: str) -> bool:
    return True


def _parse_class(pattern: str, index: int) -> tuple[int, _Test] | None:
    """The test of a bracket expression whose content begins at an index, and the index after it."""
    negated = pattern[index : index + 1] in {"!", "^"}
    start = index + negated
    end = pattern.find("]", start + 1)  # a bracket in the first place is a member
    if end == -1:
        return None
    members: list[tuple[str, str]] = []
    content = pattern[start:end].replace("\\", "")
    position = 0
    while position < len(content):
        low = high = content[position]
        if content[position + 1 : position + 2] == "-" and position + 2 < len(content):
            high = content[position + 2]
            position += 2
        position += 1
        members.append((low, high))

    def test(character: str) -> bool:
        return any(low <= character <= high for low, high in members) is not negated

    return end + 1, test


def _bits(value: int) -> Iterator[int]:
    """The indexes of the bits that are set, lowest first."""
    while value:
        lowest = value & -value
        yield lowest.bit_length() - 1
        value ^= lowest

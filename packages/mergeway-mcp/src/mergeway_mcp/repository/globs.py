"""Glob patterns with the semantics of Go's filepath.Match and filepath.Glob, without any regular expression.

`*` and `?` stay within one segment, `[a-b]` and `[^a]` are classes, a backslash escapes, `**` is `*`, names that
begin with a dot match like any other. The folder a pattern is relative to is taken literally. Matching takes time
proportional to pattern times name; the number of segments and of matches is bounded.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

MAX_SEGMENTS: Final = 128
MAX_MATCHES: Final = 200_000

_META: Final = frozenset("*?[\\")
_BAD_PATTERN = "the pattern is malformed; check its brackets and backslashes"

ListFolder = Callable[[str], Sequence[str] | None]


class BadPattern(Exception):
    """A pattern that cannot be evaluated.

    Attributes:
        reason: What is wrong, fit for a client.
    """

    def __init__(self, reason: str = _BAD_PATTERN) -> None:
        super().__init__(reason)
        self.reason = reason


class _Class(NamedTuple):
    negated: bool
    ranges: tuple[tuple[str, str], ...]

    def takes(self, character: str) -> bool:
        return self.negated != any(low <= character <= high for low, high in self.ranges)


class _Any:
    __slots__ = ()

    def takes(self, character: str) -> bool:
        return True


_ANY: Final = _Any()
_STAR: Final = None
_Token = str | _Class | _Any | None


class SegmentPattern:
    """One segment of a pattern, ready to match names."""

    __slots__ = ("_suffix", "_tokens", "text")

    def __init__(self, text: str) -> None:
        """Parse a segment.

        Raises:
            BadPattern: It is malformed.
        """
        self.text = text
        self._tokens = _parse(text)
        # `*.yaml` and `*` are nearly all patterns there are; everything after the star is then plain text.
        tail = self._tokens[1:]
        plain = bool(self._tokens) and self._tokens[0] is _STAR and all(isinstance(t, str) for t in tail)
        self._suffix: str | None = "".join(str(t) for t in tail) if plain else None

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        if self._suffix is not None:
            return name.endswith(self._suffix)
        tokens = self._tokens
        at = position = 0
        resume: tuple[int, int] | None = None
        while position < len(name):
            token = tokens[at] if at < len(tokens) else ""
            if token is _STAR:
                resume = (at, position)
                at += 1
            elif token == name[position] or (
                token and not isinstance(token, str) and token.takes(name[position])
            ):
                at += 1
                position += 1
            elif resume is not None:
                # The last star takes one character more. Earlier stars need no second look.
                resume = (resume[0], resume[1] + 1)
                at, position = resume[0] + 1, resume[1]
            else:
                return False
        return all(token is _STAR for token in tokens[at:])


def _parse(text: str) -> tuple[_Token, ...]:
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "*":
            if not tokens or tokens[-1] is not _STAR:
                tokens.append(_STAR)
            at += 1
        elif character == "?":
            tokens.append(_ANY)
            at += 1
        elif character == "[":
            token, at = _parse_class(text, at + 1)
            tokens.append(token)
        else:
            literal, at = _escaped(text, at)
            tokens.append(literal)
    return tuple(tokens)


def _parse_class(text: str, at: int) -> tuple[_Class, int]:
    negated = text.startswith("^", at)
    if negated:
        at += 1
    ranges: list[tuple[str, str]] = []
    while not (ranges and text.startswith("]", at)):
        low, at = _class_character(text, at)
        high = low
        if text.startswith("-", at):
            high, at = _class_character(text, at + 1)
        ranges.append((low, high))
    return _Class(negated, tuple(ranges)), at + 1


def _class_character(text: str, at: int) -> tuple[str, int]:
    if at >= len(text) or text[at] in "-]":
        raise BadPattern
    character, at = _escaped(text, at)
    if at >= len(text):
        raise BadPattern
    return character, at


def _escaped(text: str, at: int) -> tuple[str, int]:
    if text[at] == "\\":
        at += 1
        if at >= len(text):
            raise BadPattern
    return text[at], at + 1


def has_meta(text: str) -> bool:
    """Whether a pattern has any special character, so that it must be matched against folder listings."""
    return not _META.isdisjoint(text)


class Pattern(NamedTuple):
    """A pattern split into the part that is taken literally and the segments that are matched.

    Attributes:
        base: Absolute path, taken literally.
        segments: What follows; empty when the pattern names one path.
    """

    base: str
    segments: tuple[SegmentPattern, ...]

    def expand(self, list_folder: ListFolder) -> list[str]:
        """Absolute paths that match, in bytewise order.

        A pattern without special characters is returned as it is, whether or not anything is there.

        Args:
            list_folder: Names in a folder, or None where there is no readable folder.

        Raises:
            BadPattern: More than `MAX_MATCHES` paths match.
        """
        paths = [self.base]
        for segment in self.segments:
            found: list[str] = []
            for folder in paths:
                prefix = folder if folder.endswith(os.sep) else folder + os.sep
                found.extend(prefix + name for name in list_folder(folder) or () if segment.matches(name))
                if len(found) > MAX_MATCHES:
                    raise BadPattern(f"the pattern matches more than {MAX_MATCHES} paths; make it narrower")
            paths = found
        if self.segments:
            paths.sort(key=os.fsencode)
        return paths


def parse_pattern(folder: str, text: str) -> Pattern:
    """Split a pattern that is relative to a folder, or absolute.

    Args:
        folder: Absolute normal path, taken literally even where it holds special characters.
        text: The pattern, with `/` between segments.

    Raises:
        BadPattern: It is malformed, or has more than `MAX_SEGMENTS` segments.
    """
    literal_folder = folder.replace(os.sep, "/").rstrip("/")
    if "\0" in text:
        raise BadPattern
    if os.path.isabs(text):
        cleaned = posixpath.normpath(text)
        if cleaned.startswith("//"):
            cleaned = cleaned[1:]
        if cleaned == literal_folder or cleaned.startswith(literal_folder + "/"):
            # Written with the folder in front: that part names the folder, whatever characters it holds.
            base, rest = folder, cleaned[len(literal_folder) :].strip("/")
        else:
            drive, rest = os.path.splitdrive(cleaned)
            base, rest = drive + os.sep, rest.strip("/")
    else:
        base, rest = folder, posixpath.normpath(text)
    names = [name for name in rest.split("/") if name not in {"", "."}]
    if len(names) > MAX_SEGMENTS:
        raise BadPattern(f"the pattern has more than {MAX_SEGMENTS} segments")
    segments = [SegmentPattern(name) for name in names]
    plain = next((at for at, name in enumerate(names) if has_meta(name)), len(names))
    # `..` can only lead here, because normalising folds it into what stands before it.
    base = os.path.normpath(os.path.join(base, *names[:plain]))
    return Pattern(base, tuple(segments[plain:]))

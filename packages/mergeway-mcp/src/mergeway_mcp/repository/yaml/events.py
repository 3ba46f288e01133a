"""libyaml's event stream over the first document of a file, with every failure as `YamlError`.

libyaml is the parser that yaml.v3 is a port of, so what the two call a document agrees. Events rather than nodes: the
stream needs no recursion, tells how each scalar was written, and costs less than composing nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.reader import ReaderError

from .errors import YamlError
from .limits import MAX_TAG_DIRECTIVES

_T = TypeVar("_T")

NextEvent = Callable[[], Any]

_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")

# Such a line ends a document wherever it stands, in a quoted string too.
_DOCUMENT_MARK: Final = re.compile(rb"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
# What may precede a document: a byte order mark, blank lines, comments, directives.
_NO_CONTENT: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?+(?:(?:[ \t]*+(?:#[^\r\n]*+)?+|%[^\r\n]*+)(?:\r\n|\r|\n))*+", re.DOTALL
)


def with_events(data: bytes, build: Callable[[NextEvent], _T]) -> _T:
    """Run a builder over the events of a file.

    The builder stops at the end of the first document, so that later ones are never parsed.

    Args:
        data: The whole file, UTF-8 or with a byte order mark UTF-16.
        build: Called with the function that gives the next event.

    Raises:
        YamlError: The first document cannot be parsed, or the builder raised it.
    """
    if data.startswith(_UTF16_MARKS):
        try:
            data = data.decode("utf-16").encode("utf-8")
        except UnicodeError:
            raise YamlError("it is not valid UTF-16; save it as UTF-8") from None
    if data.count(b"%TAG") > MAX_TAG_DIRECTIVES:
        raise YamlError(f"it says %TAG more than {MAX_TAG_DIRECTIVES:,} times")
    try:
        return build(CParser(data).get_event)
    except ReaderError as error:
        # The decoder works ahead of the parser: what it stumbled over may belong to a later document.
        first = _first_document(data)
        if first is None:
            raise _unreadable(data, error) from None
        return with_events(first, build)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"not valid YAML: {error.problem or error.context or 'it cannot be parsed'}"
        raise YamlError(reason, *((mark.line + 1, mark.column + 1) if mark else ())) from None
    except (YAMLError, UnicodeError, MemoryError):
        # libyaml reports a limit of its own (sizes near 2 GiB) as lack of memory.
        raise YamlError("not valid YAML: it cannot be parsed") from None


def _first_document(data: bytes) -> bytes | None:
    """What precedes the mark that ends the first document, or None where there is no such mark."""
    for mark in _DOCUMENT_MARK.finditer(data):
        before = data[: mark.start()]
        if not _NO_CONTENT.fullmatch(before):
            return before
    return None


def _unreadable(data: bytes, error: ReaderError) -> YamlError:
    line = data.count(b"\n", 0, error.position) + 1
    if "control characters" in str(error.reason):
        return YamlError("a control character that YAML does not allow; escape it in double quotes", line)
    return YamlError("it is not valid UTF-8 (or UTF-16 with a byte order mark); save it as UTF-8", line)

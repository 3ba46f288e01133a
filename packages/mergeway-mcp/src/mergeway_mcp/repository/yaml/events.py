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

_T = TypeVar("_T")

NextEvent = Callable[[], Any]

_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")

# Such a line ends a document wherever it stands, in a quoted string too.
_DOCUMENT_MARK: Final = re.compile(rb"^(?:---|\.\.\.)(?=[ \t\r\n]|\Z)", re.MULTILINE)
_NO_CONTENT: Final = re.compile(
    rb"\A(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)|%[^\r\n]*(?:\r\n|\r|\n))*\Z"
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
    try:
        return build(CParser(data).get_event)
    except ReaderError as error:
        # The decoder works ahead of the parser: what it stumbled over may belong to a later document.
        first = _first_document(data)
        if first is None:
            raise _unreadable(error) from None
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
    if data.startswith(_UTF16_MARKS):
        return None
    for mark in _DOCUMENT_MARK.finditer(data):
        before = data[: mark.start()]
        if not _NO_CONTENT.match(before):
            return before
    return None


def _unreadable(error: ReaderError) -> YamlError:
    # ReaderError's `character` is a number for a decoded character and bytes for one that could not be decoded.
    if "control characters" in str(error.reason):
        return YamlError("it holds a control character that YAML does not allow; escape it in double quotes")
    return YamlError("it is not valid UTF-8 (or UTF-16 with a byte order mark); save it as UTF-8")

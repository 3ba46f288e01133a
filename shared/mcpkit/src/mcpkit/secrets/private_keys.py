"""Private key bodies: PEM, OpenSSH, PGP and PuTTY; whole, cut off, indented, quoted or on one line.

Only the body is hidden, line by line; the BEGIN and END lines stay, and so does every line break: who reads the
masked text still sees that a key stood there, and line numbers still hold. A BEGIN line without key material after it
is documentation and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from mcpkit.secrets.findings import Finding
from mcpkit.secrets.scanning import Scanner

__all__ = ["LITERALS", "find_private_keys"]

# Without one of these, a text holds no private key.
LITERALS: Final = ("BEGIN ", "Private-Lines:")

_BEGIN: Final = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END: Final = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}?PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_BREAK: Final = re.compile(r"\r\n?|\n")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z-]{1,40}: ?[^\r\n]{0,200}+\Z")
_MATERIAL: Final = re.compile(r"[A-Za-z0-9+/=]++\Z")
# What may surround one line of a key: quotation, comment and list marks, string quotes and joins, escaped line ends.
_DECORATION: Final = " \t>|#*/\"'`+,;"
_MOST_LINES: Final = 2_000
# Lines that are no key material but may interrupt it: "[...]", "(20 lines omitted)".
_MOST_STRANGE: Final = 3
_ESCAPED_LINES: Final = re.compile(r" ?(?:[A-Za-z0-9+/=]|\\[nr])*+")
_ESCAPED_BREAK: Final = re.compile(r"(?:\\+[nr])+|\s+")
_ESCAPED_LEAD: Final = re.compile(r"(?:\\+[nr]|\s)++")
_PUTTY: Final = "Private-Lines:"
_PUTTY_COUNT: Final = re.compile(r"Private-Lines: ?[0-9]{1,4}[ \t]*+(?:\r\n?|\n)")


def find_private_keys(scanner: Scanner) -> Iterator[Finding]:
    """One finding for each private key: from the first to the last character of its body."""
    at = scanner.find("BEGIN ", 0)
    while at >= 0:
        resume = at + 6
        dashes = scanner.before(at, 6)
        marks = dashes.removesuffix(" ")
        start = max(at - len(dashes) + len(marks.rstrip("-")), at - 5 - len(dashes) + len(marks))
        begin = scanner.match(_BEGIN, start, 80) if start < at else None
        if begin is not None:
            span = _body(scanner, begin.end())
            resume = begin.end()
            if span is not None:
                yield Finding("private_key", *span)
                resume = max(resume, span[1])
        at = scanner.find("BEGIN ", resume)
    at = scanner.find(_PUTTY, 0)
    while at >= 0:
        resume = at + len(_PUTTY)
        count = scanner.match(_PUTTY_COUNT, at, 64)
        if count is not None:
            span = _walk(scanner, count.end(), headers=0)
            if span is not None:
                yield Finding("private_key", *span)
                resume = span[1]
        at = scanner.find(_PUTTY, resume)


def _body(scanner: Scanner, start: int) -> tuple[int, int] | None:
    """Where the body after a BEGIN line lies, or None if there is none."""
    # Never beyond the next BEGIN: a line full of them costs its length, not its square.
    following = scanner.find("BEGIN ", start)
    limit = scanner.size if following < 0 else following
    broken = _BREAK.search(scanner.text, start, limit)
    line_end = limit if broken is None else broken.start()
    scanner.work += line_end - start
    if scanner.text[start:line_end].strip(_DECORATION + "\\nr"):
        return _one_line_body(scanner.text, start, line_end)
    if broken is None:
        return None
    return _walk(scanner, broken.end(), headers=16)


def _one_line_body(text: str, start: int, line_end: int) -> tuple[int, int] | None:
    r"""The body of a key written on one line, with `\n` or spaces for line breaks, as JSON and .env files have it."""
    stop = text.find("-----END", start, line_end)
    if stop < 0:
        cut_off = _ESCAPED_LINES.match(text, start, line_end)
        stop = start if cut_off is None else cut_off.end()
        whole = False
    else:
        whole = True
    body = text[start:stop]
    pieces = _ESCAPED_BREAK.split(body)
    solid = sum(len(piece) for piece in pieces if len(piece) >= 16 and _MATERIAL.match(piece))
    # Between a BEGIN and an END in one sentence there are words; in a key there is little but key.
    if solid < 16 or (whole and solid * 2 < len(body)):
        return None
    lead = _ESCAPED_LEAD.match(body)
    return start + (0 if lead is None else lead.end()), stop


def _bare(line: str) -> str:
    """The line without what surrounds key material; escaped line ends at its end go too."""
    bare = line.strip(_DECORATION)
    while bare.endswith(("\\n", "\\r")):
        bare = bare[:-2].rstrip(_DECORATION + "\\")
    return bare


def _walk(scanner: Scanner, start: int, *, headers: int) -> tuple[int, int] | None:
    """First and last position of the key material that begins on the line at `start`, None if there is none.

    The walk ends at an END line, at another BEGIN or, for a key that was cut off, where key material ceases. `headers`
    is the number of `Name: value` lines that may precede the material.
    """
    position, first, last = start, -1, start
    strange, doubtful = 0, -1
    for _ in range(_MOST_LINES):
        end = scanner.line_end(position)
        line = scanner.text[position:end]
        bare = _bare(line[:4096])
        if "-----" in line or "PRIVATE KEY" in line:
            stop = line.find("-----END")
            if first >= 0 and stop > 0 and _MATERIAL.match(_bare(line[:stop])):
                last = position + stop
            elif stop >= 0 and doubtful > 0:
                last = doubtful
            break
        doubtful = -1
        if not any(char.isalnum() for char in bare):
            pass  # Blank lines part headers from the body; dots stand for lines that were left out.
        elif _is_material(bare, begun=first >= 0, resumed=strange > 0):
            if first < 0:
                first = position + max(line.find(bare[:16]), 0)
            strange, last = 0, position + len(line.rstrip(_DECORATION))
        elif first < 0:
            headers -= 1
            if headers < 0 or not _HEADER.match(bare):
                break
        else:
            strange += 1
            if strange == 1 and _MATERIAL.match(bare):
                doubtful = position + len(line.rstrip(_DECORATION))
            if strange > _MOST_STRANGE:
                break
        following = scanner.match(_BREAK, end, 2)
        if following is None:
            break
        position = following.end()
    return (first, last) if first >= 0 else None


def _is_material(bare: str, *, begun: bool, resumed: bool) -> bool:
    """Whether a line is part of a key, stricter for the first one and strictest after strange lines."""
    if not _MATERIAL.match(bare):
        return False
    if resumed:
        return len(bare) >= 40 and not (bare.islower() or bare.isupper() or bare.isalpha())
    return len(bare) >= 16 or (begun and not bare.isalpha())

"""Credentials of HTTP headers: Authorization, bearer and basic values anywhere, Cookie and Set-Cookie."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from mcpkit.secrets.findings import MARK, Finding
from mcpkit.secrets.placeholders import is_placeholder, is_stock_phrase, is_wordy, looks_random, words
from mcpkit.secrets.scanning import Scanner

__all__ = ["FOLDED_LITERALS", "find_in_headers"]

# Without one of these, in any case, a text holds no credential of a header.
FOLDED_LITERALS: Final = ("authorization", "bearer", "basic", "cookie")

_VALUE: Final = re.compile(r"[A-Za-z0-9._~+/=:|-]*+")
_BLANKS: Final = re.compile(r"\s{1,64}+")
# `Authorization: `, `"authorization": "`, `.set('Authorization', '`, `Authorization = f"`.
_HEADER_NAME_END: Final = re.compile(
    r"""[\\]{0,3}["'`]?[*_]{0,2}[\])]{0,2}[ \t]{0,16}(?:=>|[:=,])[*_]{0,2}[ \t]{0,16}(?:[bBfFrRuU]?[\\]{0,3}["'`])?[ \t]{0,8}"""
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{1,24}+[ \t]{1,8}+")
_SCHEMES: Final = words(
    "apikey api-key basic bearer bot genie-key genericapi jwt key oauth oauth2 pat splunk ssws token"
)
_COOKIE_NAME: Final = re.compile(r"[ \t]{0,8}(?P<name>[!#$%&*+.^_|~0-9A-Za-z-]{1,128}+)=")
_COOKIE_VALUE: Final = re.compile(r"""[^\s;,"'`\\]*+""")
_COOKIE_ATTRIBUTES: Final = words("domain expires max-age path priority samesite version")


def find_in_headers(scanner: Scanner) -> Iterator[Finding]:
    """Every credential that a header carries."""
    yield from _find_authorization(scanner)
    yield from _find_bearer(scanner)
    yield from _find_basic(scanner)
    yield from _find_cookies(scanner)


def _follows_letter(scanner: Scanner, at: int, also: str = "") -> bool:
    before = scanner.text[at - 1] if at else " "
    return (before.isascii() and before.isalnum()) or before in also


def _find_authorization(scanner: Scanner) -> Iterator[Finding]:
    """The value of an Authorization header, whatever its scheme; shorter values count than elsewhere."""
    word = "authorization"
    at = scanner.find(word, 0, folded=True)
    while at >= 0:
        resume = at + len(word)
        name_end = scanner.match(_HEADER_NAME_END, resume, 64) if not _follows_letter(scanner, at) else None
        if name_end is not None:
            finding = _credential(scanner, name_end.end())
            if finding is not None:
                yield finding
                resume = finding.end
        at = scanner.find(word, resume, folded=True)


def _credential(scanner: Scanner, start: int) -> Finding | None:
    scheme = scanner.match(_SCHEME, start, 40)
    name = scheme.group().strip().lower() if scheme else ""
    if name in _SCHEMES and scheme is not None:
        end = scanner.run(_VALUE, scheme.end())
        value = scanner.text[scheme.end() : end]
        if is_placeholder(value[:512]) or scanner.text.startswith(MARK, end) or value.endswith("realm="):
            return None
        value = value.rstrip(",.")
        end = scheme.end() + len(value)
        # Letters only: a word, unless it is as long as a token.
        if len(value) < 20 and (not value or value.isalpha()):
            return None
        if is_wordy(value[:512]) or is_placeholder(value[:512]):
            return None
        if name == "basic":
            return Finding("basic_credentials", scheme.end(), end, 0, _is_example_pair(_decoded_pair(value)))
        return Finding("bearer_token", scheme.end(), end, 4 if len(value) > 8 else 0)
    end = scanner.run(_VALUE, start)
    value = scanner.text[start:end]
    if (
        not scanner.text.startswith(MARK, end)
        and looks_random(value[:512], 16)
        and not is_placeholder(value[:512])
    ):
        return Finding("authorization_value", start, end, 4)
    return None


def _find_bearer(scanner: Scanner) -> Iterator[Finding]:
    """`Bearer` and at least twenty characters, in a header or not."""
    at = scanner.find("bearer", 0, folded=True)
    while at >= 0:
        resume = at + 6
        blanks = None if _follows_letter(scanner, at, "_") else scanner.match(_BLANKS, resume, 65)
        if blanks is not None:
            end = scanner.run(_VALUE, blanks.end())
            value = scanner.text[blanks.end() : end]
            if len(value) >= 20:
                resume = end
                if not (is_wordy(value[:512]) or is_placeholder(value[:512]) or len(set(value)) <= 3):
                    yield Finding("bearer_token", blanks.end(), end, 4)
        at = scanner.find("bearer", resume, folded=True)


def _decoded_pair(value: str) -> str | None:
    """`name:password` if the value is the base64 of such a pair."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded if ":" in decoded and decoded.isprintable() else None


def _is_example_pair(pair: str | None) -> bool:
    if pair is None:
        return False
    name, _, password = pair.partition(":")
    return is_placeholder(password) and (not name or is_stock_phrase(name) or is_placeholder(name))


def _find_basic(scanner: Scanner) -> Iterator[Finding]:
    """`Basic` and the base64 of `name:password`; prose about basic things decodes to nothing."""
    at = scanner.find("basic", 0, folded=True)
    while at >= 0:
        resume = at + 5
        blanks = None if _follows_letter(scanner, at, "_-") else scanner.match(_BLANKS, resume, 65)
        if blanks is not None and "\n" not in blanks.group():
            end = scanner.run(_VALUE, blanks.end())
            value = scanner.text[blanks.end() : end].rstrip(".,:")
            if len(value) >= 8:
                resume = end
                pair = _decoded_pair(value) if len(value) <= 1024 else None
                if pair is not None:
                    stop = blanks.end() + len(value)
                    yield Finding("basic_credentials", blanks.end(), stop, 0, _is_example_pair(pair))
        at = scanner.find("basic", resume, folded=True)


def _find_cookies(scanner: Scanner) -> Iterator[Finding]:
    """From the first value of a cookie header that is no placeholder to the last pair; attributes stay."""
    at = scanner.find("cookie", 0, folded=True)
    while at >= 0:
        resume = at + 6
        name_end = None if _follows_letter(scanner, at, "_") else scanner.match(_HEADER_NAME_END, resume, 64)
        if name_end is not None:
            setting = scanner.folded.startswith("set-", max(0, at - 4)) and at >= 4
            position, first, last = name_end.end(), -1, -1
            for _ in range(1 if setting else 64):
                name = scanner.match(_COOKIE_NAME, position, 160)
                if name is None:
                    break
                position = scanner.run(_COOKIE_VALUE, name.end())
                if name["name"].lower() not in _COOKIE_ATTRIBUTES:
                    value = scanner.text[name.end() : position]
                    if first < 0 and value and not is_placeholder(value[:512]):
                        first = name.end()
                    last = position
                if not scanner.text.startswith(";", position):
                    break
                position += 1
            if last > first >= 0:
                yield Finding("cookie", first, last)
                resume = last
        at = scanner.find("cookie", resume, folded=True)

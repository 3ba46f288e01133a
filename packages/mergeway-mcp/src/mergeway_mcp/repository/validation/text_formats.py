"""The named text formats of string fields: `email`, `uri` and `url`. Other names ask for nothing.

An `email` is one bare RFC 5322 address: no display name, no comments, no quotes. A `uri` or `url` has a scheme and a
host. Every check takes time proportional to the text.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final

_ATOM_TEXT: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\U0010ffff-]+"
_DOT_ATOM: Final = re.compile(rf"{_ATOM_TEXT}(?:\.{_ATOM_TEXT})*")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)")
_HOST_AND_PORT: Final = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]+)(?::[0-9]*)?")
# Characters that end or break a host, whatever comes of the rest.
_NO_HOST_CHARACTER: Final = frozenset(' "<>\\^`{|}')


def is_email(text: str) -> bool:
    """Whether a text is one bare address, as `user@example.org`."""
    local, at, domain = text.rpartition("@")
    if not at or not _DOT_ATOM.fullmatch(local) or not _is_visible(text):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        return _is_ip_address(domain[1:-1].removeprefix("IPv6:"))
    return _DOT_ATOM.fullmatch(domain) is not None


def is_url(text: str) -> bool:
    """Whether a text is an absolute URL with a scheme and a host, as `https://example.org/page`."""
    match = _URL.match(text)
    if match is None or any(character < " " or character == "\x7f" for character in text):
        return False
    host_and_port = _HOST_AND_PORT.fullmatch(match[1].rpartition("@")[2])
    if host_and_port is None:
        return False
    host = host_and_port[1]
    if host.startswith("["):
        return _is_ip_address(host[1:-1].partition("%25")[0])
    return _NO_HOST_CHARACTER.isdisjoint(host) and _is_visible(host)


#: What each format asks for, and how it is named in messages.
TEXT_FORMATS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "email": (is_email, "one e-mail address, as user@example.org"),
    "uri": (is_url, "a URI with scheme and host, as https://example.org/page"),
    "url": (is_url, "a URL with scheme and host, as https://example.org/page"),
}


def _is_visible(text: str) -> bool:
    return all(character.isascii() or not character.isspace() for character in text)


def _is_ip_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True

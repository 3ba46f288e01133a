"""Which requests may reach the MCP endpoint: path, Host, Origin and header rules. Pure.

Sources: the transport pages of the MCP specification (2025-03-26 to 2026-07-28), RFC 9110 for header syntax, RFC 6454
for origins. The Host and Origin rules are the defence against DNS rebinding: a web page that makes its own name
resolve to this machine still sends that name as Host, and its own origin as Origin.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from mcpkit.cli import UsageError, clean_path

__all__ = ["AccessRules", "accepts_answers", "is_json", "is_loopback", "path_matches", "split_target"]

_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER: Final = re.compile(rf'\s*{_WORD}\s*=\s*(?:{_WORD}|"(?:[^"\\]|\\.)*")\s*', re.DOTALL)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@\s]+)(?::([0-9]{1,5}))?", re.ASCII)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_MAX_HEADER: Final = 1024


def split_target(target: str) -> tuple[str, str | None]:
    """Path and authority of a decoded request target; the authority only in absolute form (RFC 9112, 3.2.2)."""
    if target.startswith("/"):
        return target, None
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in _DEFAULT_PORTS:
        return target, None
    authority, slash, path = rest.partition("/")
    return slash + path or "/", authority


def path_matches(path: str, base: str) -> bool:
    """Whether a decoded request path is the mount path: `/` exactly, any other base in whatever spelling."""
    if path == base:
        return True
    return base != "/" and path.startswith("/") and clean_path(path) == base


def is_loopback(address: str) -> bool:
    """Whether an IP address is one of the machine's own loopback addresses."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return (mapped or parsed).is_loopback


def _loopback_name(host: str) -> bool:
    return host == "localhost" or is_loopback(host.removeprefix("[").removesuffix("]"))


class AccessRules:
    """The Host and Origin rules of one server.

    Args:
        allow_hosts: Host values taken besides the loopback ones, with or without port. Naming any turns the check on
            for addresses that are not loopback, too.
        allow_origins: Origin values taken besides loopback origins on a loopback address; `null` names the opaque one.

    Raises:
        UsageError: kind `bad_allow_host` or `bad_allow_origin`.
    """

    def __init__(self, allow_hosts: Iterable[str] = (), allow_origins: Iterable[str] = ()) -> None:
        self._hosts = frozenset(_allowed_host(text) for text in allow_hosts)
        self._origins = frozenset(_allowed_origin(text) for text in allow_origins)

    def takes_host(self, local_address: str, values: Sequence[bytes]) -> bool:
        """Whether the Host header may be used on a connection to this local address."""
        if not self._hosts and not is_loopback(local_address):
            return True
        return len(values) == 1 and _host_passes(values[0], self._hosts)

    def takes_origin(self, local_address: str, values: Sequence[bytes]) -> bool:
        """Whether every Origin header may be used on a connection to this local address; none may always be."""
        if not values:
            return True
        own = is_loopback(local_address)
        return all(_origin_passes(value, self._origins, own) for value in values)


@lru_cache(maxsize=256)
def _host_passes(value: bytes, allowed: frozenset[str]) -> bool:
    split = _split_host(value.decode("latin-1").strip())
    if split is None:
        return False
    host, port = split
    return _loopback_name(host) or host in allowed or f"{host}:{port}" in allowed


@lru_cache(maxsize=256)
def _origin_passes(value: bytes, allowed: frozenset[str], loopback: bool) -> bool:
    text = value.decode("latin-1").strip()
    origin = _normal_origin(text)
    if origin is None:
        return text == "null" and "null" in allowed
    return origin in allowed or (loopback and _loopback_name(_origin_host(origin)))


def _split_host(text: str) -> tuple[str, str] | None:
    match = _HOST.fullmatch(text) if len(text) <= _MAX_HEADER else None
    return (match[1].lower(), match[2] or "") if match else None


def _normal_origin(text: str) -> str | None:
    """`scheme://host[:port]` in lower case without the scheme's own port; None for anything else."""
    scheme, separator, authority = text.partition("://")
    split = _split_host(authority)
    if not separator or split is None or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
        return None
    host, port = split
    scheme = scheme.lower()
    return f"{scheme}://{host}" + (f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else "")


def _origin_host(normal: str) -> str:
    # Not urlsplit: it raises for brackets that hold no address.
    split = _split_host(normal.partition("://")[2])
    return split[0] if split else ""


def _allowed_host(text: str) -> str:
    split = _split_host(text.strip())
    if split is None:
        raise UsageError("an allowed host is a name or address, with or without :port", kind="bad_allow_host")
    host, port = split
    return f"{host}:{port}" if port else host


def _allowed_origin(text: str) -> str:
    text = text.strip()
    origin = text if text == "null" else _normal_origin(text.removesuffix("/"))
    if origin is None:
        raise UsageError("an allowed origin is scheme://host, with or without :port", kind="bad_allow_origin")
    return origin


@lru_cache(maxsize=256)
def is_json(content_type: bytes) -> bool:
    """Whether a Content-Type is application/json with parameters in proper syntax."""
    kind, *parameters = _split_outside_quotes(content_type.decode("latin-1"), ";")
    if kind.strip().lower() != "application/json":
        return False
    return all(_PARAMETER.fullmatch(item) for item in parameters if item.strip())


@lru_cache(maxsize=256)
def accepts_answers(accept: bytes) -> bool:
    """Whether an Accept list takes both application/json and text/event-stream, as MCP asks of clients."""
    if len(accept) > _MAX_HEADER:
        return False
    ranges = set()
    for item in _split_outside_quotes(accept.decode("latin-1"), ","):
        kind, *parameters = _split_outside_quotes(item, ";")
        if not any(re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", each, re.IGNORECASE) for each in parameters):
            ranges.add(kind.strip().lower())
    return bool(ranges & {"application/json", "application/*", "*/*"}) and bool(
        ranges & {"text/event-stream", "text/*", "*/*"}
    )


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    if '"' not in text:
        return text.split(separator)
    parts, current, quoted, escaped = [], "", False, False
    for char in text[:_MAX_HEADER]:
        if char == separator and not quoted:
            parts.append(current)
            current = ""
            continue
        current += char
        if escaped:
            escaped = False
        elif char == "\\" and quoted:
            escaped = True
        elif char == '"':
            quoted = not quoted
    return [*parts, current]

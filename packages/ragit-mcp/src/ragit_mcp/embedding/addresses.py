"""Addresses of embedding services: one strict spelling, and which hosts are this machine (contract A11, F2).

Only http and https with a host are addresses. What could hide where a request goes is refused instead of interpreted:
names and passwords, queries, fragments, backslashes, dots as path segments, numbers that some resolvers read as an
IPv4 address (`2130706433`, `0x7f.1`, `127.1`), zones and names outside ASCII. No message repeats an address.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, Literal
from urllib.parse import urlsplit

from ragit_mcp.errors import ConfigError

__all__ = ["EgressClass", "egress_of_url", "is_loopback", "is_never_contacted", "normalise_base_url"]

EgressClass = Literal["local", "remote"]

_MAX_CHARACTERS: Final = 2048
_LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST_NAME: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_NUMERIC_LABEL: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%-]*)*", re.ASCII)
_USUAL_PORTS: Final = {"http": 80, "https": 443}
# Names under which clouds serve credentials to whoever asks from inside.
_METADATA_NAMES: Final = frozenset({"metadata", "metadata.google.internal", "instance-data"})
_METADATA_ADDRESSES: Final = frozenset({"fd00:ec2::254", "100.100.100.200", "192.0.0.192"})


def normalise_base_url(text: str, *, key: str = "embedding.base_url") -> str:
    """The address in the spelling used everywhere: host in lower case, no usual port, no trailing slash.

    Args:
        text: the address as configured; blanks around it are ignored.
        key: setting or environment variable that it comes from, for the error.

    Raises:
        ConfigError: `CONFIG_INVALID`; neither message nor details hold the address.
    """
    url = _normalised(text.strip())
    if url is None:
        raise ConfigError(
            "CONFIG_INVALID",
            f"{key} must be an http or https address with a host, without user name, password, query or fragment.",
            details={"key": key, "reason": "base_url"},
        )
    return url


def _normalised(text: str) -> str | None:
    if len(text) > _MAX_CHARACTERS or not text.isascii() or any(mark in text for mark in "\\?#@"):
        return None
    if any(character <= " " or character == "\x7f" for character in text):
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in _USUAL_PORTS or host is None or port == 0:
        return None
    shown = _checked_host(host, bracketed=parts.netloc.startswith("["))
    path = parts.path.rstrip("/")
    if (
        shown is None
        or not _PATH.fullmatch(path)
        or {".", ".."} & set(path.lower().replace("%2e", ".").split("/"))
    ):
        return None
    if port is not None and port != _USUAL_PORTS[parts.scheme]:
        shown += f":{port}"
    return f"{parts.scheme}://{shown}{path}"


def _checked_host(host: str, *, bracketed: bool) -> str | None:
    if bracketed:
        try:
            return f"[{ipaddress.IPv6Address(host)}]" if "%" not in host else None
        except ValueError:
            return None
    if len(host) > 253 or ".." in host or not _HOST_NAME.fullmatch(host):
        return None
    if all(map(_NUMERIC_LABEL.fullmatch, host.rstrip(".").split("."))):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            return None
    return host


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def is_loopback(url: str) -> bool:
    """Whether a normalised address is this machine: `localhost`, `127.0.0.1` or `[::1]`, and no other spelling."""
    return _host(url) in _LOOPBACK_HOSTS


def egress_of_url(url: str) -> EgressClass:
    """`local` for this machine, else `remote`; `0.0.0.0`, private networks and container hosts are remote."""
    return "local" if is_loopback(url) else "remote"


def is_never_contacted(url: str) -> bool:
    """Whether no consent makes a normalised address acceptable: link-local, multicast, or a cloud's metadata service."""
    host = _host(url)
    if host in _METADATA_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_link_local or address.is_multicast or str(address) in _METADATA_ADDRESSES

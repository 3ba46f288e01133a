"""Addresses of resources, every part encoded."""

from __future__ import annotations

from urllib.parse import quote

__all__ = ["resource"]


def resource(*parts: str | int) -> str:
    """`/api/v1/` and the parts, each percent-encoded, so that an id cannot name another resource.

    A part of nothing but dots is encoded too: clients and proxies would otherwise take it for a step upwards.
    """
    return "/api/v1/" + "/".join(_encoded(str(part)) for part in parts)


def _encoded(part: str) -> str:
    encoded = quote(part, safe="")
    return encoded.replace(".", "%2E") if encoded in {".", ".."} else encoded

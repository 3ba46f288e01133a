"""The device login's two calls, the only ones made without a key: `/cli/device` and `/cli/device/token`."""

from __future__ import annotations

from mergestorm_mcp.api.client import Api, Reply
from mergestorm_mcp.api.paths import resource

__all__ = ["redeem_device_code", "request_device_code"]


async def request_device_code(api: Api) -> Reply:
    """Ask for a code that a person approves, whatever the answer."""
    return await api.post(resource("cli", "device"), {})


async def redeem_device_code(api: Api, device_code: str) -> Reply:
    """Ask for the key of an approved code, whatever the answer. A code is redeemed once."""
    return await api.post(resource("cli", "device", "token"), {"device_code": device_code})

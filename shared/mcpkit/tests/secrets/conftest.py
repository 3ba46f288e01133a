"""Invented secrets, put together at run time so that no scanner of this repository finds one in a file."""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable

import pytest

_ALPHABETS = {
    "alnum": string.ascii_letters + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "digits": string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
}


def invented(length: int, alphabet: str = "alnum", seed: str = "mcpkit") -> str:
    """A reproducible text of `length` characters that mixes what the alphabet offers."""
    letters = _ALPHABETS[alphabet]
    found = ""
    block = 0
    while len(found) < length:
        digest = hashlib.sha512(f"{seed}:{alphabet}:{block}".encode()).digest()
        found += "".join(letters[byte % len(letters)] for byte in digest)
        block += 1
    return found[:length]


@pytest.fixture
def invent() -> Callable[..., str]:
    return invented

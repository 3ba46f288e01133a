"""An Origin that no browser sends is refused like any foreign one, whatever it is made of."""

from __future__ import annotations

import pytest

from mcpkit.http.rules import AccessRules


@pytest.mark.parametrize(
    "origin",
    [
        b"http://[1:2]",
        b"http://[::::]",
        b"http://[:]",
        b"http://[.]",
        b"http://[a.b]",
        b"http://[::1",
        b"http://::1]",
        b"http://[::1]x",
        b"http://[::1%25lo]",
        b"http://",
        b"://localhost",
        b"http://localhost@evil.example",
        b"http://evil.example@localhost",
        b"http://localhost\x00",
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("local", ["127.0.0.1", "::1", "192.0.2.1"])
def test_a_malformed_origin_is_refused_and_raises_nothing(origin: bytes, local: str) -> None:
    assert not AccessRules(allow_origins=["http://[::1]:80"]).takes_origin(local, [origin])


@pytest.mark.parametrize("host", [b"[1:2]", b"[::::]", b"[:]", b"[a.b]", b"[::1", b"[::1%lo]"])
def test_a_malformed_host_is_refused_and_raises_nothing(host: bytes) -> None:
    assert not AccessRules().takes_host("127.0.0.1", [host])

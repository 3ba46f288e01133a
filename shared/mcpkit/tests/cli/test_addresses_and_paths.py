"""Listen addresses and mount paths."""

from __future__ import annotations

import socket

import pytest

from mcpkit.cli import ListenAddress, UsageError, clean_base_path, clean_path, parse_listen_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:8080", ListenAddress("127.0.0.1", 8080)),
        ("127.0.0.1:0", ListenAddress("127.0.0.1", 0)),
        ("127.0.0.1:", ListenAddress("127.0.0.1", 0)),
        ("127.0.0.1:65535", ListenAddress("127.0.0.1", 65535)),
        (":8080", ListenAddress("", 8080)),
        ("[::1]:0", ListenAddress("::1", 0)),
        ("[::]:80", ListenAddress("::", 80)),
        ("0.0.0.0:80", ListenAddress("0.0.0.0", 80)),
    ],
)
def test_an_address_is_read(text: str, expected: ListenAddress) -> None:
    assert parse_listen_address(text) == expected


def test_names_are_looked_up_and_ipv4_is_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, _port: object, **_options: object) -> list[object]:
        assert host == "both.example"
        return [
            (socket.AF_INET6, 1, 6, "", ("2001:db8::1", 0, 0, 0)),
            (socket.AF_INET, 1, 6, "", ("192.0.2.1", 0)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert parse_listen_address("both.example:80") == ListenAddress("192.0.2.1", 80)


def test_a_host_without_an_ip_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: [])
    with pytest.raises(UsageError) as caught:
        parse_listen_address("nothing.example:80")
    assert caught.value.kind == "unknown_host"


def test_a_port_may_be_the_name_of_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getservbyname", lambda name, _protocol: {"http": 80}[name])
    assert parse_listen_address("127.0.0.1:http").port == 80


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty_address"),
        ("nope", "missing_port"),
        ("127.0.0.1", "missing_port"),
        ("[::1]", "missing_port"),
        ("::1:80", "bad_address"),
        ("[::1:80", "bad_address"),
        ("[::1]80", "bad_address"),
        ("[::1]:80:90", "bad_address"),
        ("[[::1]]:80", "bad_address"),
        ("a]b:80", "bad_address"),
        ("127.0.0.1:65536", "bad_port"),
        ("127.0.0.1:99999", "bad_port"),
        ("127.0.0.1:" + "9" * 5000, "bad_port"),
        ("127.0.0.1:-1", "bad_port"),
        ("127.0.0.1:http-x", "bad_port"),
        (":abc", "bad_port"),
        ("127.0.0.1:\u0661", "bad_port"),
        ("host.invalid:80", "unknown_host"),
        ("a\x00b:80", "unknown_host"),
        ("x" * 300 + ".example:80", "unknown_host"),
    ],
)
def test_what_is_no_address_says_which_case_it_is(text: str, kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_listen_address(text)
    assert caught.value.kind == kind


def test_an_address_is_shown_as_it_is_written_in_a_url() -> None:
    assert str(ListenAddress("::1", 80)) == "[::1]:80"
    assert str(ListenAddress("127.0.0.1", 80)) == "127.0.0.1:80"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/", "/"),
        ("/mcp", "/mcp"),
        (" /mcp/ ", "/mcp"),
        ("//a//b//", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../..", "/"),
        ("/...", "/..."),
    ],
)
def test_a_base_path_is_cleaned(text: str, expected: str) -> None:
    assert clean_base_path(text) == expected
    assert clean_path(text.strip()) == expected


@pytest.mark.parametrize("text", ["", "  ", "mcp", "mcp/", "./", "\\"])
def test_a_base_path_must_start_with_a_slash(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        clean_base_path(text)
    assert caught.value.kind == "bad_base_path"

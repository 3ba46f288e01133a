"""Path, Host, Origin and header rules, without a server."""

from __future__ import annotations

import pytest

from mcpkit.cli import UsageError
from mcpkit.http.rules import AccessRules, accepts_answers, is_json, is_loopback, path_matches, split_target

HERE = "127.0.0.1"
ELSEWHERE = "192.0.2.7"


@pytest.mark.parametrize(
    ("path", "base", "expected"),
    [
        ("/", "/", True),
        ("//", "/", False),
        ("/.", "/", False),
        ("", "/", False),
        ("/x", "/", False),
        ("/mcp", "/mcp", True),
        ("/mcp/", "/mcp", True),
        ("//mcp//", "/mcp", True),
        ("/a/../mcp", "/mcp", True),
        ("/../mcp", "/mcp", True),
        ("/MCP", "/mcp", False),
        ("/mcp/x", "/mcp", False),
        ("mcp", "/mcp", False),
        ("/a/mcp/.", "/a/mcp", True),
    ],
)
def test_only_the_mount_path_reaches_the_endpoint(path: str, base: str, expected: bool) -> None:
    assert path_matches(path, base) is expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/mcp", ("/mcp", None)),
        ("http://a.example/mcp", ("/mcp", "a.example")),
        ("HTTPS://a.example:1", ("/", "a.example:1")),
        ("ftp://a.example/", ("ftp://a.example/", None)),
        ("*", ("*", None)),
    ],
)
def test_an_absolute_target_names_its_own_host(target: str, expected: tuple[str, str | None]) -> None:
    assert split_target(target) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:192.0.2.1", False),
        ("fe80::1%eth0", False),
        ("0.0.0.0", False),
        ("", False),
        ("localhost", False),
    ],
)
def test_loopback_is_told_by_address(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:9", "127.0.0.1", "127.0.0.2:80", "[::1]", "[::1]:8080", "[::ffff:127.0.0.1]"],
)
def test_loopback_hosts_pass_on_a_loopback_address(host: str) -> None:
    assert AccessRules().takes_host(HERE, [host.encode()])


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "localhost.",
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "::1",
        "[::1",
        "localhost:port",
        "localhost:",
        "localhost:1:2",
        "loc alhost",
        "h" * 2000,
        "192.0.2.7",
    ],
)
def test_any_other_host_is_refused_on_a_loopback_address(host: str) -> None:
    assert not AccessRules().takes_host(HERE, [host.encode()])


def test_a_missing_or_repeated_host_is_refused_on_a_loopback_address() -> None:
    assert not AccessRules().takes_host(HERE, [])
    assert not AccessRules().takes_host(HERE, [b"localhost", b"localhost"])


def test_elsewhere_the_host_is_checked_once_hosts_are_named() -> None:
    assert AccessRules().takes_host(ELSEWHERE, [b"evil.example"])
    rules = AccessRules(["mcp.example", "other.example:8443"])
    assert rules.takes_host(ELSEWHERE, [b"mcp.example"])
    assert rules.takes_host(ELSEWHERE, [b"MCP.example:1234"])
    assert rules.takes_host(ELSEWHERE, [b"other.example:8443"])
    assert not rules.takes_host(ELSEWHERE, [b"other.example"])
    assert not rules.takes_host(ELSEWHERE, [b"evil.example"])


def test_named_hosts_are_added_to_the_loopback_ones() -> None:
    rules = AccessRules(["mcp.example"])
    assert rules.takes_host(HERE, [b"mcp.example"])
    assert rules.takes_host(HERE, [b"localhost"])
    assert not rules.takes_host(HERE, [b"evil.example"])


def test_no_origin_passes_everywhere() -> None:
    assert AccessRules().takes_origin(HERE, [])
    assert AccessRules().takes_origin(ELSEWHERE, [])


@pytest.mark.parametrize("origin", ["http://localhost", "https://127.0.0.1:3000", "http://[::1]:5173"])
def test_a_loopback_origin_passes_on_a_loopback_address_only(origin: str) -> None:
    assert AccessRules().takes_origin(HERE, [origin.encode()])
    assert not AccessRules().takes_origin(ELSEWHERE, [origin.encode()])


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "", "localhost", "http://localhost.evil.example", "http://localhost@evil.example",
     "http://localhost/path", "http:///", "://x", "1http://localhost"],
)  # fmt: skip
def test_any_other_origin_is_refused(origin: str) -> None:
    assert not AccessRules().takes_origin(HERE, [origin.encode()])


def test_named_origins_pass_by_scheme_host_and_port() -> None:
    rules = AccessRules(allow_origins=["https://App.example/", "http://dev.example:3000", "null"])
    for address in (HERE, ELSEWHERE):
        assert rules.takes_origin(address, [b"https://app.example"])
        assert rules.takes_origin(address, [b"https://app.example:443"])
        assert rules.takes_origin(address, [b"http://dev.example:3000"])
        assert rules.takes_origin(address, [b"null"])
        assert not rules.takes_origin(address, [b"http://app.example"])
        assert not rules.takes_origin(address, [b"http://dev.example"])


def test_of_several_origins_each_must_pass() -> None:
    assert not AccessRules().takes_origin(HERE, [b"http://localhost", b"http://evil.example"])


@pytest.mark.parametrize(
    ("hosts", "origins", "kind"),
    [
        (["http://a.example"], [], "bad_allow_host"),
        ([""], [], "bad_allow_host"),
        (["a b"], [], "bad_allow_host"),
        ([], ["a.example"], "bad_allow_origin"),
        ([], ["http://a.example/path"], "bad_allow_origin"),
        ([], ["*"], "bad_allow_origin"),
    ],
)
def test_malformed_allowances_are_refused_at_start(hosts: list[str], origins: list[str], kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        AccessRules(hosts, origins)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ('application/json; charset="utf-8"', True),
        ('application/json; x="a;b\\"c"; y=1', True),
        ("application/json;", True),
        ("application/json; charset", False),
        ("application/json; =x", False),
        ("application/json-rpc", False),
        ("text/plain", False),
        ("", False),
    ],
)
def test_content_type_must_be_json_in_proper_syntax(value: str, expected: bool) -> None:
    assert is_json(value.encode()) is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("application/json, text/event-stream", True),
        ("*/*", True),
        ("application/*;q=0.5, TEXT/*", True),
        ("text/event-stream, */*;q=0.1", True),
        ("application/json", False),
        ("text/event-stream", False),
        ("application/json, text/event-stream;q=0", False),
        ('application/json;x="a,b", text/event-stream', True),
        ("", False),
        ("application/json, text/event-stream" + "," * 2000, False),
    ],
)
def test_accept_must_take_json_and_event_streams(value: str, expected: bool) -> None:
    assert accepts_answers(value.encode()) is expected

"""What each type, pattern and format takes, and where faults are placed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

FaultyPaths = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("declaration", "value"),
    [
        ("string", "text"),
        ("string", "'7'"),
        ("string", "~"),
        ("{type: string, required: true}", "''"),
        ("integer", "7"),
        ("integer", "0x10"),
        ("integer", "-9223372036854775809"),
        ("integer", "123456789012345678901234567890"),
        ("number", "7"),
        ("number", "7.5"),
        ("number", ".inf"),
        ("boolean", "true"),
        ("{type: enum, enum: [a, 2]}", "a"),
        ("{type: enum, enum: [a, 2]}", "'2'"),
        ("enum", "anything"),
        ("{type: string, repeated: true}", "[a, b]"),
        ("{type: string, repeated: true}", "[]"),
        ("{type: string, pattern: 'b+'}", "abc"),
        ("{type: string, pattern: '^.$'}", "é"),
        ("{type: integer, pattern: '^x$'}", "7"),
        ("{type: string, format: unknown}", "anything"),
        ("{type: string, format: email}", "a@b"),
        ("{type: integer, format: email}", "7"),
        ("{type: object, properties: {x: integer}}", "{}"),
        ("{type: object, properties: {x: integer}}", "{x: 1, unknown: 2, 3: 4}"),
        ("{type: object, properties: {x: {type: T, required: true}}}", "{x: nowhere}"),
        ("{type: string, required: true, default: d}", "~"),
    ],
)
def test_a_value_that_fits_its_field_is_not_mentioned(
    faulty_paths: FaultyPaths, declaration: str, value: str
) -> None:
    assert faulty_paths(declaration, value) == []


@pytest.mark.parametrize(
    ("declaration", "value", "paths"),
    [
        ("string", "7", ["f"]),
        ("string", "true", ["f"]),
        ("string", "2024-02-29", ["f"]),
        ("string", "[a]", ["f"]),
        ("{type: string, required: true}", "~", ["f"]),
        ("integer", "7.0", ["f"]),
        ("integer", "'7'", ["f"]),
        ("integer", "true", ["f"]),
        ("number", "'7'", ["f"]),
        ("number", "false", ["f"]),
        ("boolean", "'true'", ["f"]),
        ("boolean", "yes", ["f"]),
        ("{type: enum, enum: [a, 2]}", "2", ["f"]),
        ("{type: enum, enum: [a, 2]}", "b", ["f"]),
        ("enum", "7", ["f"]),
        ("{type: string, repeated: true}", "a", ["f"]),
        ("{type: string, repeated: true}", "[a, 7, b, ~]", ["f[1]", "f[3]"]),
        ("{type: string, pattern: 'b+'}", "acd", ["f"]),
        ("{type: string, format: email}", "nobody", ["f"]),
        ("{type: enum, enum: [nobody], format: email}", "nobody", ["f"]),
        ("T", "''", ["f"]),
        ("T", "true", ["f"]),
        ("T", "{id: a}", ["f"]),
        ("T", ".nan", ["f"]),
        ("{type: object, properties: {x: integer}}", "[]", ["f"]),
        ("{type: object, properties: {x: integer, y: integer}}", "{x: a, y: b}", ["f.x"]),
        ("{type: object, properties: {x: {type: integer, required: true}}}", "{x: ~}", ["f.x"]),
        (
            "{type: object, repeated: true, properties: {x: {type: integer, repeated: true}}}",
            "[{x: [1]}, {x: [1, a, b]}, {x: 1}, 7]",
            ["f[1].x[1]", "f[2].x", "f[3]"],
        ),
        ("{type: integer, default: text}", "~", ["f"]),
        ("{type: object, properties: {x: {type: integer, default: text}}}", "{}", ["f.x"]),
    ],
)
def test_a_value_that_does_not_fit_is_placed(
    faulty_paths: FaultyPaths, declaration: str, value: str, paths: list[str]
) -> None:
    assert faulty_paths(declaration, value) == paths


@pytest.mark.parametrize(
    "text",
    [
        "user@example.org",
        "first.last+tag@sub.example.org",
        "o'neil@example.org",
        "jörg@bücher.example",
        "a@localhost",
        "a@[127.0.0.1]",
        "a@[IPv6:::1]",
    ],
)
def test_one_bare_address_is_an_email(faulty_paths: FaultyPaths, text: str) -> None:
    assert faulty_paths("{type: string, format: email}", f'"{text}"') == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "user",
        "@example.org",
        "user@",
        "a@b@c",
        ".a@example.org",
        "a.@example.org",
        "a..b@example.org",
        "a@.example.org",
        "a@example.org.",
        " a@example.org",
        "a@example.org ",
        "a b@example.org",
        "A <a@example.org>",
        "a@example.org, b@example.org",
        "a@[nowhere]",
        "a\\u00a0b@example.org",
        "a@example.org\\n",
    ],
)
def test_anything_else_is_no_email(faulty_paths: FaultyPaths, text: str) -> None:
    assert faulty_paths("{type: string, format: email}", f'"{text}"') == ["f"]


@pytest.mark.parametrize("name", ["uri", "url"])
@pytest.mark.parametrize(
    "text",
    [
        "https://example.org",
        "https://example.org/a?b=c#d",
        "HTTP://EXAMPLE.ORG:8080/",
        "git+ssh://user@example.org/x.git",
        "ftp://user:pass@example.org",
        "https://[::1]:8080/",
        "https://bücher.example/ü",
    ],
)
def test_scheme_and_host_make_a_url(faulty_paths: FaultyPaths, name: str, text: str) -> None:
    assert faulty_paths(f"{{type: string, format: {name}}}", f'"{text}"') == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "//example.org",
        "https:",
        "https://",
        "https:///path",
        "mailto:a@example.org",
        "urn:isbn:1",
        "1http://example.org",
        "https://:8080",
        "https://user@",
        "https://exa mple.org",
        "https://example.org:port",
        "https://[::1",
        "https://[nowhere]",
        "https://example.org/\\u0000",
        "https://example.org\\n",
    ],
)
def test_anything_else_is_no_url(faulty_paths: FaultyPaths, text: str) -> None:
    assert faulty_paths("{type: string, format: url}", f'"{text}"') == ["f"]


@pytest.mark.timeout(20)
def test_patterns_that_make_other_engines_run_away_are_harmless(faulty_paths: FaultyPaths) -> None:
    assert faulty_paths("{type: string, pattern: '^(a+)+$'}", "a" * 50_000 + "b") == ["f"]
    assert faulty_paths("{type: string, format: email}", "a." * 50_000 + "@") == ["f"]
    assert faulty_paths("{type: string, format: url}", "https://" + "a@" * 50_000) == ["f"]


@pytest.mark.parametrize("pattern", ["[", "a(?=b)", r"(a)\1", "x{1001}", "(?P<n", "a" * 10_001])
def test_a_pattern_that_re2_cannot_read_is_one_finding_for_each_value(
    faulty_paths: FaultyPaths, pattern: str
) -> None:
    assert faulty_paths(f"{{type: string, pattern: '{pattern}'}}", "a") == ["f"]
    assert faulty_paths(f"{{type: string, pattern: '{pattern}'}}", "~") == []

"""Patterns mean what they mean to Go's filepath.Match and filepath.Glob."""

from __future__ import annotations

import os
import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergeway_mcp.repository import globs
from mergeway_mcp.repository.globs import BadPattern, SegmentPattern, parse_pattern

ROOT = os.path.abspath("/r[1]/x")


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("*", ".hidden", True),
        ("*", "", True),
        ("*.yaml", "a.yaml", True),
        ("*.yaml", ".yaml", True),
        ("*.yaml", "a.yml", False),
        ("*.yaml", "a.YAML", False),
        ("?.yaml", "é.yaml", True),
        ("?.yaml", "ab.yaml", False),
        ("**", "anything", True),
        ("a**b", "ab", True),
        ("a*b*c", "axxbyyc", True),
        ("a*b*c", "axxbyy", False),
        ("[a-c]", "b", True),
        ("[^a-c]", "b", False),
        ("[!a]", "!", True),
        ("[!a]", "b", False),
        ("[a-ce]", "e", True),
        ("[a^]", "^", True),
        (r"[\]]", "]", True),
        (r"[a\-c]", "b", False),
        (r"\*", "*", True),
        (r"\*", "a", False),
        ("{a,b}", "a", False),
        ("]", "]", True),
        ("a", "ab", False),
        ("ab", "a", False),
        ("*a", "ba", True),
        ("x*", "x", True),
    ],
)
def test_a_segment_matches_as_in_go(pattern: str, name: str, expected: bool) -> None:
    assert SegmentPattern(pattern).matches(name) is expected


@pytest.mark.parametrize(
    "pattern", ["[", "[a", "[]", "[]a]", "[-]", "[a-]", "[^", "[^]", "\\", "a\\", "[a\\", "x[-a]", "[a-b"]
)
def test_a_malformed_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        parse_pattern(ROOT, f"data/{pattern}/x")


@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[^a]", "\\*"]), max_size=7),
    st.text("ab*", max_size=8),
)
def test_matching_agrees_with_trying_every_split(parts: list[str], name: str) -> None:
    def tried(position: int, rest: str) -> bool:
        if position == len(parts):
            return not rest
        part = parts[position]
        if part == "*":
            return any(tried(position + 1, rest[cut:]) for cut in range(len(rest) + 1))
        takes = {"?": "ab*", "[ab]": "ab", "[^a]": "b*", "\\*": "*"}.get(part, part)
        return bool(rest) and rest[0] in takes and tried(position + 1, rest[1:])

    assert SegmentPattern("".join(parts)).matches(name) is tried(0, name)


def test_many_stars_cost_no_more_than_pattern_times_name() -> None:
    assert not SegmentPattern("*a" * 200 + "b").matches("a" * 2_000)


def listing(tree: dict[str, list[str]]) -> globs.ListFolder:
    return lambda folder: tree.get(folder.replace(os.sep, "/"))


def test_the_folder_of_a_pattern_is_taken_literally() -> None:
    pattern = parse_pattern(ROOT, "./d//../d/*.yaml")
    tree = listing({posixpath.join(ROOT.replace(os.sep, "/"), "d"): ["b.yaml", "a.yaml", "c.txt"]})
    assert pattern.expand(tree) == [os.path.join(ROOT, "d", name) for name in ("a.yaml", "b.yaml")]


def test_an_absolute_pattern_that_names_the_folder_takes_it_literally_too() -> None:
    assert parse_pattern(ROOT, f"{ROOT}/d/a").base == os.path.join(ROOT, "d", "a")
    assert not parse_pattern(ROOT, f"{ROOT}/d/a").segments


@pytest.mark.skipif(os.name == "nt", reason="absolute POSIX paths")
def test_other_absolute_patterns_are_used_as_they_are() -> None:
    pattern = parse_pattern("/roots", "/srv//data/./*.yaml")
    assert (pattern.base, [segment.text for segment in pattern.segments]) == ("/srv/data", ["*.yaml"])


def test_leading_dots_leave_the_folder() -> None:
    assert parse_pattern(ROOT, "../shared/*").base == os.path.join(os.path.dirname(ROOT), "shared")


def test_matches_come_in_the_order_of_their_bytes() -> None:
    names = ["é", "z", "Z", "\U0001f600", "ｚ"]
    tree = listing({ROOT.replace(os.sep, "/"): names})
    assert [os.path.basename(path) for path in parse_pattern(ROOT, "*").expand(tree)] == sorted(
        names, key=lambda name: name.encode("utf-8")
    )


def test_a_pattern_without_special_characters_is_not_looked_up() -> None:
    def never(_: str) -> None:
        raise AssertionError

    assert parse_pattern(ROOT, "d/a.yaml").expand(never) == [os.path.join(ROOT, "d", "a.yaml")]


def test_too_many_segments_are_refused() -> None:
    with pytest.raises(BadPattern):
        parse_pattern(ROOT, "/".join(["*"] * (globs.MAX_SEGMENTS + 1)))


def test_too_many_matches_are_refused() -> None:
    crowd = [f"{number:03}" for number in range(600)]
    with pytest.raises(BadPattern):
        parse_pattern(ROOT, "*/*").expand(lambda _: crowd)

"""Globs, and which files of a commit are documents."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragit_mcp.corpus import (
    CandidateFilter,
    Glob,
    GlobSet,
    Placement,
    check_explicit_path,
    is_markdown,
    path_from_git,
)
from ragit_mcp.corpus.globs import MAX_EXPANSIONS, MAX_PATTERN_CHARACTERS, MAX_PATTERNS, split_patterns
from ragit_mcp.corpus.selection import FileChoice, suggest_include
from ragit_mcp.errors import IngestError


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("README.md", ["README.md"], ["docs/README.md", "readme.md", "README.mdx"]),
        (
            "docs/**",
            ["docs/a.md", "docs/a/b/c.md"],
            ["docs.md", "doc/a.md", "x/docs/a.md", "docs/.a.md", "docs/.a/b"],
        ),
        ("docs/", ["docs/a.md", "docs/a/b.md"], ["docs.md"]),
        ("./docs/*.md", ["docs/a.md"], ["docs/a/b.md"]),
        ("**/*.md", ["a.md", "a/b.md", "a/b/c.md"], [".a.md", ".a/b.md", "a.mdx"]),
        ("**/x/**/y.md", ["x/y.md", "a/x/b/c/y.md"], ["x.md", "a/y.md", "y.md"]),
        ("**/**/a", ["a", "x/a"], ["ab"]),
        ("a/**/**", ["a/b", "a/b/c"], ["b"]),
        ("*", ["a", "a.md"], ["a/b", ".a"]),
        (".*", [".a"], ["a"]),
        (".github/**", [".github/a.md"], [".github/.b/a.md"]),
        ("a*b*c", ["abc", "aXbYc", "abcbc"], ["ab", "abcd", "a/bc"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("?.md", ["a.md", "한.md"], ["ab.md", ".md", "/.md"]),
        ("[a-c].md", ["a.md", "c.md"], ["d.md", "-.md"]),
        ("[!a-c].md", ["d.md"], ["a.md"]),
        ("[^a].md", ["b.md"], ["a.md"]),
        ("[]a].md", ["].md", "a.md"], ["b.md"]),
        ("[a-].md", ["a.md", "-.md"], ["b.md"]),
        ("[a.md", ["[a.md"], ["a.md"]),
        ("{a,b}/*.{md,mdx}", ["a/x.md", "b/x.mdx"], ["c/x.md", "a/x.txt"]),
        ("{a,b{c,d}}.md", ["a.md", "bc.md", "bd.md"], ["b.md"]),
        ("{a}.md", ["{a}.md"], ["a.md"]),
        ("{a,b.md", ["{a,b.md"], ["a.md"]),
        ("\\*.md", ["*.md"], ["a.md"]),
        ("\\{a,b\\}", ["{a,b}"], ["a"]),
        ("a\\", ["a\\"], ["a"]),
        ("a//b", ["a/b"], ["a"]),
    ],
)
def test_a_pattern_matches_the_paths_it_should(pattern: str, matching: list[str], other: list[str]) -> None:
    glob = Glob(pattern)
    assert [path for path in (*matching, *other) if glob.matches(path)] == matching


def test_hidden_names_are_seen_when_asked_for() -> None:
    assert Glob("**/x.md").matches(".a/.b/x.md", hidden=True)
    assert Glob("*.md").matches(".x.md", hidden=True)


def test_bytes_that_are_no_utf8_are_characters_of_a_name() -> None:
    path = path_from_git(b"docs/\xff\xfe.md")
    assert Glob("docs/??.md").matches(path)
    assert Glob("docs/**").matches(path)


@settings(deadline=None)
@given(st.text(alphabet="ab*?", min_size=1, max_size=12), st.text(alphabet="ab", min_size=1, max_size=12))
def test_names_match_as_the_standard_library_has_it(pattern: str, name: str) -> None:
    assert Glob(f"x{pattern}").matches(f"x{name}") == fnmatch.fnmatchcase(name, pattern)


def code_of_matching(pattern: str, path: str) -> str | None:
    try:
        Glob(pattern).matches(path, hidden=True)
    except IngestError as error:
        return error.code
    return None


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_pattern_is_read_or_refused_by_code(pattern: str, path: str) -> None:
    assert code_of_matching(pattern, path) in {None, "INGEST_GLOB_INVALID"}


@settings(deadline=None)
@given(st.text(alphabet="a/*{}[],\\.!", max_size=60), st.text(alphabet="a/.", max_size=200))
def test_crowded_patterns_are_read_or_refused_by_code(pattern: str, path: str) -> None:
    assert code_of_matching(pattern, path) in {None, "INGEST_GLOB_INVALID"}


def test_stars_cost_no_more_than_pattern_times_name() -> None:
    # Backtracking would take longer than the universe has.
    assert not Glob("a*" * 250 + "b").matches("a" * 4000)
    assert not Glob("**/a/" * 100 + "b").matches("a/" * 2000 + "c")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "empty"),
        (" ", "empty"),
        ("x" * (MAX_PATTERN_CHARACTERS + 1), "too_long"),
        ("a\0b", "control_characters"),
        ("a\nb", "control_characters"),
        ("/docs/**", "absolute"),
        ("../x", "outside"),
        ("docs/../../x", "outside"),
        ("./", "outside"),
        ("{a,b}" * 20, "too_many"),
        ("{" + "," * MAX_EXPANSIONS + "}", "too_many"),
    ],
)
def test_patterns_that_mean_nothing_here_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(IngestError) as caught:
        Glob(pattern)
    assert (caught.value.code, caught.value.details) == ("INGEST_GLOB_INVALID", {"reason": reason})


def test_the_number_of_patterns_is_capped() -> None:
    assert GlobSet(["a"] * MAX_PATTERNS).matches("a")
    with pytest.raises(IngestError):
        GlobSet(["a"] * (MAX_PATTERNS + 1))


def filter_of(
    doc_globs: tuple[str, ...] = ("**/*.md", "**/*.mdx"),
    include: tuple[str, ...] = ("README.md", "docs/**"),
    exclude: tuple[str, ...] = ("**/node_modules/**",),
) -> CandidateFilter:
    return CandidateFilter(doc_globs=doc_globs, include=include, exclude=exclude)


@pytest.mark.parametrize(
    ("path", "placement"),
    [
        ("README.md", Placement.SELECTED),
        ("docs/a/b.mdx", Placement.SELECTED),
        ("docs/LOUD.MD", Placement.SELECTED),
        ("notes/x.md", Placement.OUTSIDE),
        ("README.MD", Placement.OUTSIDE),
        ("docs/node_modules/x.md", Placement.EXCLUDED),
        ("docs/.a/node_modules/x.md", Placement.EXCLUDED),
        (".github/x.md", Placement.EXCLUDED),
        (".git/x.md", Placement.EXCLUDED),
        (".ragit/x.md", Placement.EXCLUDED),
        ("docs/x.txt", Placement.NOT_A_DOCUMENT),
        ("docs/md", Placement.NOT_A_DOCUMENT),
        ("docs/x.amd", Placement.NOT_A_DOCUMENT),
    ],
)
def test_every_file_has_a_place(path: str, placement: Placement) -> None:
    assert filter_of().place(path) is placement


def test_an_include_glob_may_name_a_hidden_directory_but_never_ragits_own() -> None:
    candidates = filter_of(include=(".github/**", ".ragit/**", "**"))
    assert candidates.place(".github/x.md") is Placement.SELECTED
    assert candidates.place(".ragit/x.md") is Placement.EXCLUDED


@pytest.mark.parametrize("name", ["x.md", "x.MDX", ".md", "a/b.mdx"])
def test_documents_are_told_by_their_extension(name: str) -> None:
    assert is_markdown(name)


def test_named_globs_add_and_take_away() -> None:
    choice = FileChoice("docs/**, {a,b}/*.md, !docs/x.md")
    paths = ["docs/y.md", "docs/x.md", "a/z.md", "c/z.md", "docs/z.txt", "docs/node_modules/q.md"]
    assert [path for path in paths if choice.matches(path)] == ["docs/y.md", "a/z.md"]


@pytest.mark.parametrize("text", ["", " , ", "!docs/**", "../x.md", "docs/**,!"])
def test_a_list_that_names_nothing_good_is_refused(text: str) -> None:
    with pytest.raises(IngestError) as caught:
        FileChoice(text)
    assert caught.value.code == "INGEST_GLOB_INVALID"


def test_commas_between_braces_belong_to_the_pattern() -> None:
    assert split_patterns("a,{b,c},d}") == ["a", "{b,c}", "d}"]


@pytest.mark.parametrize(
    ("given_path", "plain"),
    [("docs/a.md", "docs/a.md"), ("./docs//a.mdx", "docs/a.mdx"), ("a b.MD", "a b.MD")],
)
def test_a_named_path_is_put_in_its_plain_spelling(given_path: str, plain: str) -> None:
    assert check_explicit_path(given_path) == plain


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("x" * 5000, "too_long"),
        ("a\x1b.md", "control_characters"),
        ("/etc/x.md", "absolute"),
        ("C:\\x.md", "absolute"),
        ("\\\\host\\x.md", "absolute"),
        ("docs/../../x.md", "outside"),
        ("node_modules/x.md", "reserved_directory"),
        (".git/x.md", "reserved_directory"),
        ("docs/x.txt", "not_markdown"),
        ("docs/x.md/", "not_markdown"),
    ],
)
def test_a_path_that_cannot_be_indexed_is_refused_with_its_reason(path: str, reason: str) -> None:
    with pytest.raises(IngestError) as caught:
        check_explicit_path(path)
    assert (caught.value.code, caught.value.details) == ("INGEST_PATH_INVALID", {"reason": reason})


def test_the_suggestion_adds_the_directories_left_out() -> None:
    outside = ["notes/x.md", "notes/y/z.md", "CHANGES.md", "가이드/a.md"]
    assert suggest_include(outside, ("README.md", "docs/**")) == (
        'ragit config set ingest.include "README.md,docs/**,notes/**,CHANGES.md,가이드/**"'
    )
    assert suggest_include([], ("docs/**",)) is None


@pytest.mark.parametrize(
    "outside",
    [
        ["$(touch x)/a.md"],
        ["`id`/a.md"],
        ['a"b/a.md'],
        ["a,b/c.md"],
        ["-rf/a.md"],
        ["a!b/a.md"],
        ["%PATH%/a.md"],
        [path_from_git(b"\xff/a.md")],
        [f"d{number}/a.md" for number in range(20)],
    ],
)
def test_a_name_that_a_shell_would_act_on_is_never_part_of_a_suggestion(outside: list[str]) -> None:
    assert suggest_include(outside, ("docs/**",)) == 'ragit config set ingest.include "**"'


def test_a_present_glob_that_a_shell_would_act_on_is_not_repeated_either() -> None:
    assert suggest_include(["notes/x.md"], ("$(id)/**",)) == 'ragit config set ingest.include "**"'


names = st.text(alphabet="ab. -*?[{", min_size=1, max_size=5).filter(lambda name: name not in {".", ".."})


@settings(deadline=None)
@given(
    st.lists(st.lists(names, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".md"), max_size=12)
)
def test_what_is_suggested_selects_what_was_outside(paths: list[str]) -> None:
    outside = [path for path in paths if filter_of().place(path) is Placement.OUTSIDE]
    command = suggest_include(outside, ("README.md", "docs/**"))
    if command is None:
        assert not outside
    else:
        include = tuple(pattern.strip() for pattern in command.split('"')[1].split(","))
        assert all(filter_of(include=include).place(path) is Placement.SELECTED for path in outside)


NAMES = st.sampled_from(["a", "b", "docs", ".hidden", "a.md", ".b.md", "B.MD", ""])
PARTS = st.sampled_from(["**", "*", "docs", "a", "*.md", ".*", "{a,b}", "[ab]", "?"])


@given(
    st.lists(st.lists(PARTS, min_size=1, max_size=4).map("/".join), max_size=4),
    st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), max_size=30),
    st.booleans(),
)
def test_a_set_of_globs_says_what_its_globs_say_whatever_it_was_asked_before(
    patterns: list[str], paths: list[str], hidden: bool
) -> None:
    together = GlobSet(patterns, hidden=hidden)
    alone = [Glob(pattern) for pattern in patterns]
    for path in paths:
        assert together.matches(path) == any(glob.matches(path, hidden=hidden) for glob in alone)


def test_a_set_of_globs_is_right_about_more_directories_than_it_remembers() -> None:
    chosen = GlobSet(["**/kept/*.md", "*.md"])
    paths = [f"d{number}/{name}/x.md" for number in range(200) for name in ("kept", "other")]
    for _ in range(2):
        assert [path for path in paths if chosen.matches(path)] == [p for p in paths if "/kept/" in p]

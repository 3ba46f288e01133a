"""Front matter: what is read, what stays text, and what is harmless."""

from __future__ import annotations

import pytest
import yaml

from ragit_mcp.corpus import front_matter as module
from ragit_mcp.corpus.front_matter import split_front_matter


@pytest.fixture(params=["libyaml", "pure Python"], autouse=True)
def each_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML comes with libyaml or, on some platforms, without."""
    if request.param == "pure Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    elif not hasattr(yaml, "CSafeLoader"):
        pytest.skip("this PyYAML was built without libyaml")


def test_scalars_keep_the_spelling_they_have() -> None:
    read = split_front_matter(
        "---\na: no\nb: 010\nc: 2026-02-30\nd: ~\ne: 'x'\nf: >\n  two\n  lines\n---\nbody\n"
    )
    assert read.attributes == {
        "a": "no",
        "b": "010",
        "c": "2026-02-30",
        "d": "~",
        "e": "x",
        "f": "two lines\n",
    }
    assert (read.body, read.line_count, read.problems) == ("body\n", 10, ())


def test_lists_of_scalars_are_tuples_and_deeper_values_are_left_out() -> None:
    read = split_front_matter("---\ntags: [x, y]\nmeta:\n  a: [1, {b: c}]\nmixed: [x, [y]]\nlast: z\n---\n")
    assert read.attributes == {"tags": ("x", "y"), "last": "z"}


@pytest.mark.parametrize("closing", ["---", "--- ", "...", "---\t"])
def test_a_block_may_close_in_each_way_of_yaml(closing: str) -> None:
    assert split_front_matter(f"---\ntype: adr\n{closing}\nbody").body == "body"
    assert split_front_matter(f"---\ntype: adr\n{closing}").body == ""


def test_a_key_given_twice_counts_the_last_time_and_is_a_problem() -> None:
    read = split_front_matter("---\ntype: adr\ntype: plan\n---\n")
    assert read.attributes == {"type": "plan"}
    assert len(read.problems) == 1


def test_lines_are_read_where_the_block_is_no_yaml() -> None:
    read = split_front_matter("---\ntitle: A: b\ntags:\n  - x\n# note\ntype: \"spec\"\nother: 'y'\n---\nbody")
    assert read.attributes == {"title": "A: b", "tags": "", "type": "spec", "other": "y"}
    assert (read.body, len(read.problems)) == ("body", 1)


@pytest.mark.parametrize(
    "text",
    [
        "---\nJust prose between two breaks.\n---\nmore\n",
        "---\n\n# Heading\n\nSome: text\nand more of it\n\n---\n",
        "---\nIt is: odd: prose\nthat goes on\n---\n",
        "--- \ttype: adr\n---\n",
        "\n---\ntype: adr\n---\n",
        "---\n- one\n- two\n---\n",
        "---\n*x\n---\n",
    ],
)
def test_prose_between_thematic_breaks_stays_text(text: str) -> None:
    read = split_front_matter(text)
    assert (read.body, read.line_count, read.attributes) == (text, 0, {})


def test_keys_that_are_no_strings_are_left_out() -> None:
    assert split_front_matter("---\n? [a, {b: c}]\n: d\ntype: adr\n---\n").attributes == {"type": "adr"}


def test_comments_alone_are_empty_front_matter() -> None:
    assert split_front_matter("---\n# nothing yet\n---\nbody").body == "body"


def test_tags_and_aliases_are_never_obeyed() -> None:
    read = split_front_matter(
        "---\na: !!python/object/apply:os.system [echo]\nb: !!python/name:os.system x\nc: &c [d]\ne: *c\n---\n"
    )
    assert read.attributes == {"a": ("echo",), "b": "x", "c": ("d",)}


def test_an_alias_bomb_expands_to_nothing() -> None:
    levels = "\n".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 40))
    read = split_front_matter(f"---\na0: &a0 [lol]\n{levels}\ntype: adr\n---\n")
    assert read.attributes == {"a0": ("lol",), "type": "adr"}


def test_a_list_that_holds_itself_is_left_out() -> None:
    assert split_front_matter("---\na: &a [*a]\ntype: adr\n---\n").attributes == {"type": "adr"}


def test_nesting_keys_and_length_are_capped() -> None:
    deep = "[" * (module.MAX_DEPTH + 1) + "]" * (module.MAX_DEPTH + 1)
    read = split_front_matter(f"---\ntype: adr\na: {deep}\n---\n")
    assert read.attributes["type"] == "adr"
    assert read.problems

    many = "".join(f"k{number}: v\n" for number in range(module.MAX_ATTRIBUTES + 10))
    assert len(split_front_matter(f"---\n{many}---\n").attributes) == module.MAX_ATTRIBUTES

    long = "---\n" + "k: v\n" * (module.MAX_CHARACTERS // 5) + "---\nbody"
    assert split_front_matter(long).line_count == 0


def test_a_fence_cut_by_the_search_window_closes_nothing() -> None:
    filler = "a: " + "x" * (module.MAX_CHARACTERS - 3 - 3 - 1) + "\n"
    assert split_front_matter(f"---\n{filler}-----\nmore\n").line_count == 0


def test_a_blank_string_is_no_string() -> None:
    read = split_front_matter("---\na: ' '\nb: [x]\nc: ' x '\n---\n")
    assert (read.string("a"), read.string("b"), read.string("c"), read.string("d")) == (None, None, "x", None)

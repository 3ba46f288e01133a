"""Which lines are headings."""

from __future__ import annotations

import pytest

from ragit_mcp.corpus.headings import MAX_TITLE_CHARACTERS, find_headings


def titles(text: str) -> list[str]:
    return [heading.title for heading in find_headings(text.split("\n"))]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# A", "A"),
        ("###### A", "A"),
        ("## A ##", "A"),
        ("## A ## ", "A"),
        ("## C#", "C#"),
        ("# A #b", "A #b"),
        ("# 한국어", "한국어"),
    ],
)
def test_a_closing_run_of_hashes_is_not_part_of_the_title(line: str, title: str) -> None:
    assert titles(line) == [title]


@pytest.mark.parametrize(
    "line", ["#", "# ", "## ##", "#A", "####### A", " # A", "    # A", "> # A", "- # A", "\\# A"]
)
def test_other_lines_with_hashes_are_text(line: str) -> None:
    assert titles(line) == []


def test_a_line_too_long_for_a_title_is_text() -> None:
    assert titles("# " + "a" * (MAX_TITLE_CHARACTERS - 2)) != []
    assert titles("# " + "a" * (MAX_TITLE_CHARACTERS - 1)) == []


def test_a_single_line_that_is_underlined_is_a_heading() -> None:
    found = find_headings(["Title", "=====", "text", "", "Part", "---", "more"])
    assert [(heading.title, heading.level, heading.line, heading.underlined) for heading in found] == [
        ("Title", 1, 0, True),
        ("Part", 2, 4, True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "two lines\nof text\n---",  # CommonMark makes this one heading; as a passage it is of more use
        "text\n\n---",
        "- item\n---",
        "> quote\n---",
        "| a |\n---",
        "<p>\n---",
        "***\n---",
        "    code\n---",
        "a\n=-=",
        "a\n== =",
        "---\n---",
        "----\nboxed\n----",
        "1. one\n===",
        "- item\n\n  text\n  ---",
    ],
)
def test_other_lines_of_dashes_make_no_heading(text: str) -> None:
    assert titles(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```",
        "```\n# no\n``\n# no\n```",
        "````\n# no\n```\n# no\n````",
        "```\n# no\n``` x\n# no\n```",
        "   ```\n# no\n   ```",
        "~~~ `a`\n# no\n~~~",
        "```\n# no",
        "- item\n  ```\n  code\n\n  # no\n  ```",
        "10. item\n\n    ```\n    # no\n    ```",
        "- a\n  - b\n\n    ```sh\n    # no\n    ```",
        "<!--\n# no\n-->",
        "<!-- x\n# no\n\n# no\n--> # no",
        "<pre>\n# no\n</PRE>",
        "<script src='x'>\n# no\n</script>",
        "<!--\n# no",
    ],
)
def test_nothing_in_a_fence_a_comment_or_raw_html_is_a_heading(text: str) -> None:
    assert titles(text) == []
    assert titles(f"# A\n{text}") == ["A"]


@pytest.mark.parametrize(
    "text",
    [
        "```\ncode\n```\n# A",
        "```\ncode\n`````\n# A",
        "``` a`b\n# A",
        "    ```\n# A",  # indented code, not a fence
        "- item\n  ```\n  code\n# A",  # the list item ends, and with it its fence
        "1. one\n   ```\n   code\n   ```\n2. two\n\n# A",
        "10. item\n\n    ```\n    code\n    ```\n\n# A",
        "- a\n  - b\n\n    ```\n    code\n    ```\n# A",
        "10. a\n* * *\n    ```\n\n# A",  # so it has here
        "- a\n\ntext\n\n    ```\n\n# A",  # the list has ended: indented code
        "<!-- x -->\n# A",
        "<!--\n-->\n# A",
        "<Style />\n# A",
        "<pre>x</pre>\n# A",
        "<predicate>\n# A",
        "import X from './x'\n\nexport const y = {\n}\n\n<X>\n# A",
    ],
)
def test_a_heading_after_a_closed_block_is_one(text: str) -> None:
    assert titles(text) == ["A"]


def test_an_underlined_heading_counts_both_its_lines() -> None:
    first, second = find_headings(["A", "===", "# B"])
    assert (first.line_count, second.line, second.line_count) == (2, 2, 1)

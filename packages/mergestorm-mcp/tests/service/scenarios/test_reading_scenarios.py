"""Scenario files are read strictly: what is wrong is refused with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mergestorm_mcp.service.scenarios.loader import ScenarioError, load, names, parse

GOOD = """\
title: One
accounts:
  - login: rivka
repositories:
  - name: kestrel-labs/tidepool
    commits:
      - branch: main
        message: first
        files:
          a.txt: one
          run.sh: {text: "#!/bin/sh", mode: "100755"}
      - branch: topic
        message: second
        files: {a.txt: null}
    pulls:
      - {head: topic, title: t, author: rivka}
    stacks:
      - {account: rivka, head: topic}
"""


def test_the_bundled_scenarios_are_the_promised_ones_and_can_be_read() -> None:
    assert set(names()) == {
        "bounce-and-rearm",
        "conflict",
        "failing-ci-then-fix",
        "happy-landing",
        "outage",
        "quota-exhausted",
        "rate-limited",
        "seam-review",
    }
    for name in names():
        scenario = load(name)
        assert scenario.title
        assert scenario.about.endswith("\n")


def test_a_file_of_one_s_own_is_read(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(GOOD, encoding="utf-8")
    scenario = load(file)
    assert scenario == parse(GOOD)
    [repository] = scenario.repositories
    assert repository.commits[1].files == {"a.txt": None}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("        message: second", "        message: second\n        massage: x", 14),
        ("title: One", "title: One\ncolour: blue", 2),
        ("title: One\n", "", 1),
        ("title: One", "title: [One]", 1),
        ("title: One", "title: 1e3", 1),
        ("a.txt: one", "../a.txt: one", 10),
        ("a.txt: one", ".git/config: one", 10),
        ("a.txt: one", "a//b: one", 10),
        ('mode: "100755"', 'mode: "160000"', 11),
        ("      - branch: main", "      - branch: trunk", 5),
        ("      - branch: topic", "      - branch: topic\n        from: nowhere", 5),
        ("{head: topic, title", "{head: other, title", 5),
        ("{account: rivka, head: topic}", "{account: sam, head: topic}", None),
        ("{account: rivka, head: topic}", "{account: rivka, head: main}", 5),
        ("  - login: rivka", "  - login: rivka\n  - login: RIVKA", None),
        ("  - login: rivka", "  - login: rivka\n    settings: {auto_review_enabled: 3}", 4),
        ("  - login: rivka", "  - login: rivka\n    settings: {no_such: true}", 4),
        ("  - login: rivka", "  - login: rivka\n    key: secret", 4),
        ("  - login: rivka", "  - &one\n    login: rivka", 3),
        ("  - login: rivka", "  - !!map\n    login: rivka", 3),
        ("title: One", "title: One\ntitle: Two", 2),
        ("title: One", "title: One\nabout: *gone", 2),
        ("title: One", "title: One\nabout: 2026-02-30", None),
        ("title: One", "title: 'One", None),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(old: str, new: str, line: int | None) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        parse(GOOD.replace(old, new), "own.yaml")
    assert str(caught.value).startswith("own.yaml")
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n",
        "a",
        "a: 1\n---\nb: 2\n",
        "[" * 100,
        "a: " + "x" * 300_000,
        "\0",
        "a: [" + "1," * 30_000 + "]",
    ],
)
def test_what_is_no_scenario_at_all_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse(text)


def test_a_scenario_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"title: \xe9\n")
    for source in ("no-such", tmp_path / "no-such.yaml", tmp_path / "latin.yaml", tmp_path / "x" / ".."):
        with pytest.raises(ScenarioError):
            load(source)


def test_the_documented_file_can_be_read() -> None:
    page = Path(__file__).parents[5] / "docs" / "mergestorm" / "scenarios.md"
    [example] = re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(parse(example).repositories[0].commits) == 2
    for name in names():
        assert f"| `{name}` |" in page.read_text(encoding="utf-8")

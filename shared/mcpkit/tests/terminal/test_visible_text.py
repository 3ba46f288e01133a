"""Text of somebody else: every character seen, none obeyed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpkit.terminal.visible import one_line, visible, visible_json

HOSTILE = "\x1b[31mred\x07\x9b2J\u202egnp\u200b\ufeff\ue000\ud800\U000e0041"


@settings(deadline=None)
@given(st.text())
def test_visible_text_is_printable_whatever_it_was(text: str) -> None:
    assert visible(text).isprintable()


@settings(deadline=None)
@given(
    st.recursive(
        st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    )
)
def test_visible_json_means_what_it_meant(value: Any) -> None:
    shown = visible_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(shown) == value
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u200b-\u200f\ud800-\udfff]", shown)


def test_hostile_text_loses_its_power_and_keeps_its_letters() -> None:
    shown = one_line(HOSTILE)
    assert shown.isascii()
    assert "red" in shown
    assert "\\x1b" in shown
    assert "\\u202e" in shown


def test_what_can_be_seen_stays_as_it_is() -> None:
    assert visible("W\u00f3jcik \u7530\u4e2d ~") == "W\u00f3jcik \u7530\u4e2d ~"
    assert visible("a\tb\n") == "a\\x09b\\x0a"
    assert one_line(" a\tb\r\n c ") == "a b c"


@pytest.mark.parametrize("room", ["output", "visible"])
def test_neither_writing_nor_showing_imports_anything_heavy(room: str) -> None:
    script = (
        f"import sys; before = set(sys.modules); import mcpkit.terminal.{room}\n"
        "heavy = {'rich', 'fastmcp', 'mcp', 'pydantic', 'anyio', 'asyncio', 'json', 'logging', 'dataclasses', 'inspect'}\n"
        "sys.exit(', '.join(sorted(heavy & (set(sys.modules) - before))) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", script], check=False, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()

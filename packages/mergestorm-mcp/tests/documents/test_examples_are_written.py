"""The script that writes the examples of the tools' page: the page is what it writes from a local service, every time."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from shutil import copy
from types import ModuleType

import pytest

from mergestorm_mcp.server import TOOL_ORDER

PAGE = Path(__file__).parents[4] / "docs" / "mergestorm" / "tools.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not part of this copy")


def without_times(page: str) -> str:
    """The page without what two moments are called: two that once fell together may be apart the next time."""
    return re.sub(r"2026-05-01T08:\d\d:\d\dZ", "2026-05-01T08:00:00Z", page)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_page_is_what_the_tools_answer(
    examples: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To write it anew: uv run docs/mergestorm_examples.py
    for name in [name for name in os.environ if name.startswith("COVERAGE_")]:
        monkeypatch.delenv(name)  # the processes are not what is measured here
    page = tmp_path / "page.md"
    copy(PAGE, page)
    assert examples.main([], page) == 0
    text = page.read_text(encoding="utf-8")
    assert without_times(text) == without_times(PAGE.read_text(encoding="utf-8"))
    for left in (str(tmp_path), tempfile.gettempdir(), "msk_live_tidepool-examples"):
        assert left not in text


def test_every_example_has_a_request_and_an_answer_that_is_no_error() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for tool in TOOL_ORDER:
        (section,) = re.findall(rf"<!-- example {tool} -->\n(.*?)<!-- /example -->", text, re.DOTALL)
        assert re.findall(r'```json title="(\w+)"\n', section) == ["request", "reply"]
        assert not re.search(r'^  "error": \{', section, re.MULTILINE)


def test_what_differs_is_named_alike_wherever_it_stands(examples: ModuleType) -> None:
    steady = examples.Steady({"/place/of/today": "/checkout"})
    first, second = "1" * 40, "2" * 40
    assert steady({"a": [f"{second} at /place/of/today/x"], "b": f"{first} and {second}"}) == {
        "a": [f"{'1' * 40} at /checkout/x"],
        "b": f"{'2' * 40} and {'1' * 40}",
    }
    assert steady("2031-01-02T03:04:05.678Z") == "2026-05-01T08:00:01Z"
    assert steady("http://127.0.0.1:49152/x") == "http://127.0.0.1:8080/x"


def test_a_page_without_a_place_is_not_written(examples: ModuleType) -> None:
    with pytest.raises(ValueError, match="no place"):
        examples.rewritten("# Tools\n", "example", {"whoami": "x"})

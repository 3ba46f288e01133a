"""Our own recorded set for stack_publish and stack_publish_status: every state and every refusal code, with the exact
request. Same form and judge as the recorded vectors; ids are fixed because the commits' dates are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.publication.refusals import SERVICE_CODES

RECORDED = Path(__file__).parent / "recorded" / "publication.json"
CASES: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]


@pytest.mark.anyio
@pytest.mark.skipif(os.name == "nt", reason="the recorded setups are shell commands")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
async def test_a_publication_goes_as_it_was_recorded(case: dict[str, Any], play_case: Any) -> None:
    assert await play_case(case) == []


def test_every_code_is_recorded() -> None:
    codes = {case["outcome"].get("structured", {}).get("error", {}).get("code") for case in CASES}
    assert codes >= SERVICE_CODES | {"not_a_repo", "outside_sandbox", "usage", "rate_limited"}

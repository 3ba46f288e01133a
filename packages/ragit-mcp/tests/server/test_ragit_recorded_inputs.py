"""The recorded calls, replayed in memory; the checker from outside replays some of them over stdio."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_memory

SCRIPTS = Path(sys.executable).parent
VECTORS = Path(__file__).parents[1] / "vectors"
MARK = re.compile(r"\$\{HEAD(?::(\d+))?(:upper)?\}")


def filled(value: Any, head: str) -> Any:
    """A value with HEAD's id where the vectors leave a place for it."""
    if isinstance(value, str):

        def digits(match: re.Match[str]) -> str:
            text = head[: int(match[1])] if match[1] else head
            return text.upper() if match[2] else text

        return MARK.sub(digits, value)
    if isinstance(value, dict):
        return {filled(key, head): filled(member, head) for key, member in value.items()}
    return [filled(member, head) for member in value] if isinstance(value, list) else value


def parameters(case: dict[str, Any], head: str) -> dict[str, Any]:
    """The params of `tools/call` for a case."""
    if "arguments_json" in case:
        return {"name": case["tool"], "arguments": filled(json.loads(case["arguments_json"]), head)}
    if "arguments" in case:
        return {"name": case["tool"], "arguments": filled(case["arguments"], head)}
    return {"name": case["tool"]}


def disagreement(case: dict[str, Any], reply: dict[str, Any]) -> str | None:
    """How a reply differs from what was recorded, if it does."""
    expected = case["expect"]
    text = json.dumps(reply, ensure_ascii=False)
    if any(word in text for word in case.get("never", [])):
        return "shows what it may not"
    if "error" in reply:
        return None if expected == "refused" else f"is a protocol error {reply['error']['code']}"
    result = reply["result"]
    envelope = result["structuredContent"]
    if json.loads(result["content"][0]["text"]) != envelope:
        return "says two things"
    if envelope["ok"] is bool(result.get("isError")):
        return "is good and bad at once"
    code = "ok" if envelope["ok"] else envelope["error"]["code"]
    if code != ("MCP_INVALID_INPUT" if expected == "refused" else expected):
        return f"is {code} instead of {expected}"
    return None


@pytest.mark.anyio
async def test_every_recorded_input_is_judged_as_recorded(
    harbour: Any, harbour_app: Any, recorded_inputs: list[dict[str, Any]]
) -> None:
    wrong = {}
    async with connect_memory(harbour_app) as client:
        await client.initialize()
        for case in recorded_inputs:
            outcome = await client.request("tools/call", parameters(case, harbour.head))
            said = disagreement(case, outcome.reply)
            if said is not None and case["source"] != "open":
                wrong[case["id"]] = said
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the checker needs POSIX")
@pytest.mark.skipif(not (SCRIPTS / "ragit-mcp").exists(), reason="the scripts are not installed")
def test_the_checker_from_outside_agrees_on_some_inputs_over_stdio() -> None:
    done = subprocess.run(
        [
            sys.executable,
            str(VECTORS / "run.py"),
            *("--ragit", str(SCRIPTS / "ragit"), "--ragit-mcp", str(SCRIPTS / "ragit-mcp")),
            *("--theme", "mcp-input", "--only", "question-at"),
        ],
        capture_output=True,
        check=False,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-4_000:]

"""Replies, errors and log lines lose their secrets at one boundary."""

from __future__ import annotations

import ast
import io
import json
import logging
import subprocess
import sys
from pathlib import Path

import ragit_mcp.safety
from ragit_mcp.safety import MaskingFormatter, Redaction, masked_reply

CANARY = "Zq8Canary" + "Wx4Value7Yt2Ku9"


def test_summary_names_the_fields_of_query_and_hits() -> None:
    reply = {
        "query": f"token={CANARY}",
        "hits": [
            {"text": f"Bearer {CANARY}", "path": "docs/a.md"},
            {"text": "plain", "path": f"docs/password={CANARY}"},
        ],
        "error": {"details": {"reason": f"https://u:{CANARY}@h.example", "token": CANARY}},
    }
    masked = masked_reply(reply)
    assert CANARY not in json.dumps(masked.value)
    assert masked.redaction.to_json() == {
        "applied": True,
        "maskedCount": 5,
        "sources": ["query", "hits[0].text", "hits[1].path", "error.details.reason", "error.details.token"],
    }


def test_summary_of_a_clean_reply_says_so() -> None:
    masked = masked_reply({"query": "how is the service deployed", "hits": []})
    assert masked.redaction.to_json() == {"applied": False, "maskedCount": 0, "sources": []}


def test_redactions_add_up_without_repeating_a_source() -> None:
    total = Redaction(1, ("query",)) + Redaction(2, ("query", "goal"))
    assert total == Redaction(3, ("query", "goal"))


def test_log_line_is_masked_with_its_arguments_and_its_exception() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(MaskingFormatter("%(levelname)s %(message)s"))
    logger = logging.getLogger("ragit-test")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        raise ValueError(f"password={CANARY}")
    except ValueError:
        logger.exception("call with %s failed", {"token": CANARY})
    assert CANARY not in stream.getvalue()
    assert "ValueError" in stream.getvalue()


def test_safety_reads_and_writes_nothing_and_imports_no_other_room() -> None:
    folder = Path(ragit_mcp.safety.__file__).parent
    imported: set[str] = set()
    for source in folder.glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "open"
    ours = {name for name in imported if name.startswith(("ragit_mcp", "mcpkit"))}
    assert ours <= {"mcpkit.secrets", "ragit_mcp.safety.admission", "ragit_mcp.safety.boundary"}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names | {"ragit_mcp", "mcpkit"}


def test_importing_safety_loads_no_framework() -> None:
    program = (
        "import sys, ragit_mcp.safety; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'fastmcp', 'mcp', 'pydantic', 'numpy', 'apsw', 'httpx'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == ""

"""Standard output carries the protocol and nothing else; standard error is silent unless someone speaks."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

LOUD = """
import os, subprocess, sys, warnings
from fastmcp import FastMCP

def shout(where):
    print("print", where)
    sys.__stdout__.write("dunder " + where + "\\n")
    os.write(1, b"descriptor " + where.encode() + b"\\n")
    subprocess.run([sys.executable, "-c", "print('child " + where + "')"], check=True)
    warnings.warn("warning " + where)

shout("at import")
app = FastMCP("loud", version="1")

@app.tool
def speak() -> str:
    shout("in a tool")
    return "spoken"

@app.tool
def read_input() -> str:
    child = subprocess.run([sys.executable, "-c", "import sys; print(len(sys.stdin.read()))"],
                           capture_output=True, text=True, encoding="utf-8")
    return repr((sys.stdin.read(), child.stdout.strip()))
"""


def test_whatever_is_printed_by_whatever_means_goes_to_stderr(workshop: Any, messages: Any) -> None:
    server = workshop.start(LOUD)
    server.ask(messages.initialize())
    assert server.ask(messages.call(1, "speak"))["result"]["structuredContent"] == {"result": "spoken"}
    assert server.end() == 0
    assert server.rest() == []  # and every line that came was JSON
    for where in ("at import", "in a tool"):
        for means in ("print", "dunder", "descriptor", "child", "warning"):
            assert f"{means} {where}" in server.errors()


def test_tools_and_their_children_find_standard_input_empty(workshop: Any, messages: Any) -> None:
    server = workshop.start(LOUD)
    server.ask(messages.initialize())
    answer = server.ask(messages.call(1, "read_input"))["result"]["structuredContent"]
    assert answer == {"result": "('', '0')"}
    assert server.end() == 0


def test_answers_are_single_compact_lines_of_utf_8(workshop: Any, messages: Any) -> None:
    server = workshop.start(
        """
from fastmcp import FastMCP
app = FastMCP("small", version="1")
@app.tool
async def words() -> str:
    return "näh\\n\\u2028"
""",
        reading=False,
    )
    server.send(messages.initialize(), messages.call(1, "words"))
    server.close_input()
    output = server.process.stdout.read()
    assert server.wait() == 0
    lines = output.split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == 2
    assert "näh\\n\u2028".encode() in lines[1]
    assert b'"id":1,"result":{' in lines[1]


def test_little_is_imported_before_the_handshake_is_answered() -> None:
    code = "import sys; old = set(sys.modules); import mcpkit.stdio; print(*sorted(set(sys.modules) - old))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout.split()
    assert "mcpkit.stdio.adapter" in loaded
    heavy = {
        "typing",
        "asyncio",
        "dataclasses",
        "inspect",
        "logging",
        "pathlib",
        "socket",
        "subprocess",
        "pydantic",
    }
    assert not heavy & set(loaded)
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"mcpkit"}
    assert not {name for name in foreign if not name.startswith("_")}

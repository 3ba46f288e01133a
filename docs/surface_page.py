"""Writes docs/surface.md: what the tools of each server cost an agent's context.

    uv run docs/surface_page.py

The counts come from the checked-in surfaces, by two rulers: four bytes of compact JSON a token (`mcpkit.surface`),
and the Llama 2 tokenizer, which comes with a package that ragit-mcp needs. A test compares page and surfaces.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface, tokens

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "surface.md"
TOOLS_BUDGETS: Final = {"mergeway-mcp": 2_000, "ragit-mcp": 2_000, "mergestorm-mcp": 8_000}
"""Most tokens that a server's whole tool list may cost."""
INSTRUCTIONS_BUDGET: Final = 1_200
"""Most tokens that a server's instructions may cost."""
HEAD: Final = """\
# What the tools cost

A client puts the tool list and the instructions of every connected server into the agent's context, whether they are
used or not. Here is what ours cost there: name, descriptions, schemas of input and output, annotations. Tests hold
every server to its budget, by both rulers:

- *estimate*: four bytes of compact JSON a token, which is what `mcpkit.surface` prints;
- *Llama 2*: that model's tokenizer. Other models count differently.

This page is written by `uv run docs/surface_page.py` from the surfaces that are checked in, those of protocol
{version}.
"""
TAIL: Final = """
## What replies cost

Tests call the tools with much data. These replies can pass 20,000 tokens (by the estimate), and each tool's description
says how to ask for less:

| tool | can be long with | ask for less with |
|---|---|---|
| `object_list`, `files_list` | many records or files | `limit`, then `cursor` |
| `repository_export` | many or large records | `entities`, `fields`, `limit` |
| `object_get` | a large record | `fields` |
| `queue_status` | some 500 entries | `stack_id` |
| `repo_settings_get` | some 600 repositories | `owner` and `repo` |
| `stack_list` | some 75 open stacks of five pull requests | nothing: it takes no arguments; `stack_status` reads one stack |

The others stay below that for any data of usual size: ragit's passages have at most 1,000 characters and there are five
unless `topK` says otherwise, and `ragit_context_pack` has a budget.
"""


@cache
def tokenizer() -> Tokenizer:
    """The Llama 2 tokenizer among wordllama's data files; the package itself is not imported."""
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "tokenizers" / "l2_supercat_tokenizer_config.json"
    loaded = Tokenizer.from_file(str(path))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def llama_tokens(content: object) -> int:
    """What a text, or a JSON value in compact form, costs by the Llama 2 tokenizer."""
    text = (
        content
        if isinstance(content, str)
        else json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    )
    return len(tokenizer().encode(text, add_special_tokens=False).ids)


def surface_of(server: str) -> Surface:
    """The checked-in surface of a server."""
    module = server.replace("-", "_")
    return Surface.load(ROOT / "packages" / server / "src" / module / "surface.json")


def costs(server: str) -> dict[str, tuple[int, int]]:
    """The estimate and the Llama 2 count of a server's instructions, whole tool list, and each tool by name."""
    surface = surface_of(server)
    listed: dict[str, Any] = surface.tools_list(LATEST_HANDSHAKE_VERSION)
    contents: dict[str, object] = {
        "instructions": surface.initialize(LATEST_HANDSHAKE_VERSION).get("instructions", ""),
        "all tools": listed,
        **{f"`{tool['name']}`": tool for tool in listed["tools"]},
    }
    return {name: (tokens(content), llama_tokens(content)) for name, content in contents.items()}


def page() -> str:
    """The whole page."""
    parts = [HEAD.format(version=LATEST_HANDSHAKE_VERSION)]
    for server, budget in TOOLS_BUDGETS.items():
        limits = {"all tools": f"{budget:,}", "instructions": f"{INSTRUCTIONS_BUDGET:,}"}
        rows = [
            f"| {name} | {estimate:,} | {llama:,} | {limits.get(name, '')} |"
            for name, (estimate, llama) in costs(server).items()
        ]
        parts.append(
            "\n".join([
                f"\n## {server}\n",
                "| | estimate | Llama 2 | budget |",
                "|---|--:|--:|--:|",
                *rows,
                "",
            ])
        )
    return "".join([*parts, TAIL])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")

"""Tells every package where the project lives. Run once, when the repository has its address; standard library only.

    python3 .github/release/home.py OWNER/REPOSITORY

Until then the name in each server.json has `OWNER` for its owner and nothing names a repository, because a wrong
address would be worse than none. The command writes, for a repository on GitHub:

- `[project.urls]` in each pyproject.toml: Repository, Changelog, Issues (a Homepage that is there stays);
- the name and the repository in each server.json;
- the line `mcp-name:` in each server's README, by which the MCP registry sees that the package is ours.

Running it again with another address replaces the first. Exit codes: 0 written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # also where this script is loaded as a module
from reconcile import Member, members

ADDRESS = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?/[A-Za-z0-9._-]+")
URLS = re.compile(r"\[project\.urls\]\n(?P<lines>(?:[A-Z][a-z]+ = .*\n)*)\n")


def stamp_project(member: Member, address: str, folder: str) -> None:
    """Writes `[project.urls]`, before the first table that follows `[project]`."""
    path = member.folder / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    present = URLS.search(text)
    kept = (
        [] if present is None else [x for x in present["lines"].splitlines() if x.startswith("Homepage = ")]
    )
    lines = [
        "[project.urls]",
        *kept,
        f'Repository = "https://github.com/{address}"',
        f'Changelog = "https://github.com/{address}/blob/main/{folder}/CHANGELOG.md"',
        f'Issues = "https://github.com/{address}/issues"',
    ]
    block = "\n".join(lines) + "\n\n"
    if present is not None:
        text = text.replace(present.group(), block)
    else:
        start = text.index("[project]")
        place = text.index("\n[", start) + 1
        text = text[:place] + block + text[place:]
    path.write_text(text, encoding="utf-8", newline="\n")


def stamp_server(member: Member, address: str, folder: str) -> None:
    """Writes name and repository into a server.json, and the same name into the README."""
    path = member.folder / "server.json"
    if not path.is_file():
        return
    described = json.loads(path.read_text(encoding="utf-8"))
    name = f"io.github.{address.partition('/')[0]}/{member.name}"
    repository = {"url": f"https://github.com/{address}", "source": "github", "subfolder": folder}
    written: dict[str, Any] = {}
    for key, value in described.items():
        if key == "version":  # what is said of the source stands before the version
            written["repository"] = repository
        if key != "repository":
            written[key] = name if key == "name" else value
    path.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
    readme = member.folder / "README.md"
    text = re.sub(r"\n*<!-- mcp-name: .*? -->\n", "\n", readme.read_text(encoding="utf-8"))
    readme.write_text(f"{text.rstrip()}\n\n<!-- mcp-name: {name} -->\n", encoding="utf-8", newline="\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; see the module's text for what it does and for the exit codes."""
    parser = argparse.ArgumentParser(
        prog="home.py", description="Tell every package where the project lives."
    )
    parser.add_argument("address", help="OWNER/REPOSITORY on GitHub")
    parser.add_argument("--root", type=Path, default=Path(), help="the workspace's root (default: here)")
    options = parser.parse_args(arguments)
    if not ADDRESS.fullmatch(options.address):
        parser.error("the address is OWNER/REPOSITORY")
    for member in members(options.root).values():
        folder = member.folder.relative_to(options.root).as_posix()
        stamp_project(member, options.address, folder)
        stamp_server(member, options.address, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

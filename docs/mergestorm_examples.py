"""Writes what docs/mergestorm/tools.md shows of every tool: its inputs, and a real request and reply.

    uv run docs/mergestorm_examples.py               all of it; a test holds that the page is as this writes it
    uv run docs/mergestorm_examples.py --inputs      only the tables of inputs, from what the server lists

The examples are one story: a local service is started with the scenario beside this file, the tools are called in order over
stdio, by the console script, and later requests use what earlier replies said. The checkout is a clone of the bare
repository that stands for GitHub. What differs from run to run (ids, times, paths, the port) is replaced, the same value by
the same name everywhere, so that two runs write the same page. Long lists are cut.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.request import ProxyHandler, Request, build_opener

import anyio

from mcpkit.surface import LATEST_HANDSHAKE_VERSION, Surface
from mcpkit.testing import connect_stdio
from mergestorm_mcp import __version__
from mergestorm_mcp.main import SURFACE

__all__ = ["STORY", "Steady", "inputs_table", "main", "rewritten", "tell"]

PAGE: Final = Path(__file__).resolve().parent / "mergestorm" / "tools.md"
SCENARIO: Final = Path(__file__).resolve().with_suffix(".yaml")
_INPUTS: Final = "inputs"
_EXAMPLE: Final = "example"
_LONGEST_LIST: Final = 3
_LONGEST_TEXT: Final = 400
_DEADLINE: Final = 120.0

Json = dict[str, Any]


# -- the page ------------------------------------------------------------------------------------------------------


def listed_tools() -> list[Json]:
    """What the server answers to `tools/list`."""
    tools: list[Json] = Surface.load(SURFACE).tools_list(LATEST_HANDSHAKE_VERSION)["tools"]
    return tools


def inputs_table(tool: Mapping[str, Any]) -> str:
    """A tool's arguments as a table."""
    schema = tool["inputSchema"]
    required = schema.get("required", [])
    rows = [
        f"| `{name}` | {_kind(member)}{', required' if name in required else ''} | {_cell(member.get('description', ''))} |"
        for name, member in schema["properties"].items()
    ]
    if not rows:
        return "No arguments."
    return "\n".join(["| argument | | |", "|---|---|---|", *rows])


def _kind(member: Mapping[str, Any]) -> str:
    """Type, range and default of an argument in a few words."""
    if "enum" in member:
        words = " or ".join(f"`{json.dumps(value)}`" for value in member["enum"])
    elif "items" in member:
        words = "list of strings"
        words += f", {member['maxItems']} at most" if "maxItems" in member else ""
        words += "" if "type" in member else " or null"
    else:
        words = member.get("type", "string or null") + _range(member)
    if "default" in member:
        default = member["default"]
        words += f", default `{json.dumps(int(default) if isinstance(default, float) else default)}`"
    return words


def _range(member: Mapping[str, Any]) -> str:
    low, high = member.get("minimum"), member.get("maximum")
    if "exclusiveMinimum" in member:
        return f", more than {member['exclusiveMinimum']} and up to {high}"
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", {low} or more"
    if member.get("format") == "uri":
        return ", web address"
    if "pattern" in member:
        return f", `{member['pattern']}`"
    return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rewritten(page: str, kind: str, contents: Mapping[str, str]) -> str:
    """The page with other contents between the markers of a kind.

    Raises:
        ValueError: the page has no such markers for one of them.
    """
    for name, content in contents.items():
        start, end = f"<!-- {kind} {name} -->\n", f"<!-- /{kind} -->\n"
        before, found, rest = page.partition(start)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has no place for the {kind} of {name}")
        page = f"{before}{start}\n{content}\n\n{end}{after}"
    return page


def with_inputs(page: str) -> str:
    """The page with every tool's inputs as the server lists them now."""
    return rewritten(page, _INPUTS, {tool["name"]: inputs_table(tool) for tool in listed_tools()})


def shown(request: Mapping[str, Any], reply: Mapping[str, Any]) -> str:
    """An example as the page has it."""
    return (
        f'```json title="request"\n{json.dumps(request, ensure_ascii=False)}\n```\n\n'
        f'```json title="reply"\n{json.dumps(reply, ensure_ascii=False, indent=2)}\n```'
    )


# -- what differs from run to run -----------------------------------------------------------------------------------


class Steady:
    """Replaces what differs from run to run: the same value by the same name, in the order of appearance.

    Args:
        known: values to be named at once, such as a folder.
    """

    _PATTERNS: Final = (
        ("sha", re.compile(r"\b[0-9a-f]{40}\b")),
        ("id", re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")),
        ("time", re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")),
        ("url", re.compile(r"http://(?:127\.0\.0\.1|\[::1\]):\d+")),
    )

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = sorted(known.items(), key=lambda item: -len(item[0]))
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def __call__(self, value: Any) -> Any:
        """A JSON value, steady."""
        if isinstance(value, dict):
            return {name: self(member) for name, member in value.items()}
        if isinstance(value, list):
            kept = [self(member) for member in value[:_LONGEST_LIST]]
            return [*kept, f"… {len(value) - len(kept)} more"] if len(value) > len(kept) else kept
        if isinstance(value, str):
            text = self._text(value)
            return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
        return value

    def _text(self, text: str) -> str:
        for found, name in self._known:
            text = text.replace(found, name)
        for kind, pattern in self._PATTERNS:
            text = pattern.sub(lambda match, kind=kind: self._named(kind, match[0]), text)  # type: ignore[misc]
        return text

    def _named(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._counts[kind] = number = self._counts.get(kind, 0) + 1
            self._names[value] = _stand_in(kind, number)
        return self._names[value]


def _stand_in(kind: str, number: int) -> str:
    """A value of the same form, so that examples stay what a client could send."""
    match kind:
        case "sha":
            return f"{number:x}" * (40 // len(f"{number:x}")) + "0" * (40 % len(f"{number:x}"))
        case "id":
            return f"00000000-0000-4000-8000-{number:012x}"
        case "time":
            return f"2026-05-01T08:{number // 60:02d}:{number % 60:02d}Z"
        case _:
            return "http://127.0.0.1:8080"


# -- the story -------------------------------------------------------------------------------------------------------


@dataclass
class Known:
    """What the story knows so far.

    Attributes:
        owner: of the repository.
        repo: its name.
        checkout: a clone of it, on a branch with a commit of its own.
        replies: what each tool answered.
    """

    owner: str
    repo: str
    checkout: str
    replies: dict[str, Json] = field(default_factory=dict)

    def find(self, *path: str | int) -> Any:
        """A member of the replies, by tool and then inward; None where there is none."""
        value: Any = self.replies
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return None
        return value


Arguments = Callable[[Known], Json]


def _nothing(_known: Known) -> Json:
    return {}


def _named(known: Known) -> Json:
    return {"owner": known.owner, "repo": known.repo}


def _pull(known: Known) -> Json:
    number = known.find("stack_publish", "pull", "number")
    return {**_named(known), "pr_number": number if number is not None else 1}


def _stack(known: Known) -> Json:
    stack = known.find("stack_publish", "stack", "id") or known.find("stack_list", "stacks", 0, "id")
    return {"stack_id": stack or "no-stack"}


def _reviewed(known: Known) -> Json:
    head = known.find("review_wait_pr", "head_sha") or known.find("stack_publish", "head", "sha")
    return {
        **_pull(known),
        "head_sha": head or "0" * 40,
        "review_id": int(known.find("review_wait_pr", "id") or 1),
    }


STORY: Final[tuple[tuple[str, Arguments], ...]] = (
    ("whoami", _nothing),
    ("credits", _nothing),
    ("settings_get", _nothing),
    ("settings_set", lambda _: {"auto_land_settle_seconds": 30}),
    ("repo_settings_get", _named),
    ("repo_settings_set", lambda known: {**_named(known), "auto_review": True}),
    (
        "issue_create",
        lambda known: {"title": "The tide table is off by an hour", "body": "In summer.", **_named(known)},
    ),
    ("review_submit", lambda known: {"cwd": known.checkout, "idempotency_key": "tide-table-1"}),
    (
        "review_wait",
        lambda known: {"job_id": str(known.find("review_submit", "job_id") or "no-job"), "timeout_s": 45},
    ),
    ("review_list", lambda _: {"limit": 5}),
    ("stack_publish", lambda known: {"cwd": known.checkout}),
    ("stack_publish_status", lambda known: {"cwd": known.checkout}),
    ("review_wait_pr", lambda known: {**_pull(known), "timeout_s": 45}),
    ("stack_list", _nothing),
    ("stack_status", _stack),
    ("stack_wait", lambda known: {**_stack(known), "timeout_s": 0}),
    ("queue_status", _nothing),
    ("stack_set", lambda known: {**_stack(known), "auto_fix_ci": True}),
    ("review_dismiss", lambda known: {**_reviewed(known), "scope": "review", "preview": True}),
    ("stack_adopt", lambda known: {**_pull(known), "auto_fix_ci": None}),
)
"""Every tool once, with its arguments made from what is known by then."""


def clone(origin: str, place: Path, owner: str, repo: str) -> None:
    """A checkout as a user has it: a clone whose origin is on GitHub by name, and a branch with one commit."""

    def git(*words: str) -> None:
        identity = [
            "-c",
            "user.name=Ada Tide",
            "-c",
            "user.email=ada@example.invalid",
            "-c",
            "commit.gpgsign=false",
        ]
        dates = {"GIT_AUTHOR_DATE": "1777622400 +0000", "GIT_COMMITTER_DATE": "1777622400 +0000"}
        subprocess.run(["git", *identity, *words], cwd=place, check=True, env={**os.environ, **dates})

    place.mkdir(parents=True)
    git("clone", "--quiet", origin, ".")
    git("remote", "set-url", "origin", f"https://github.com/{owner}/{repo}.git")
    git("checkout", "--quiet", "-b", "tide-table")
    (place / "tides.md").write_text("# Tides\n\nAll times are UTC.\n", encoding="utf-8", newline="\n")
    git("add", "tides.md")
    git("commit", "--quiet", "-m", "Say which time the table is in")


async def tell(
    command: list[str], environment: Mapping[str, str], known: Known
) -> list[tuple[str, Json, Json]]:
    """Call every tool of the story; tool, request and reply of each."""
    told: list[tuple[str, Json, Json]] = []
    async with connect_stdio(command, env=environment, cwd=known.checkout, deadline=_DEADLINE) as client:
        await client.initialize()
        for tool, arguments in STORY:
            given = arguments(known)
            request: Json = {"name": tool, "arguments": given}
            outcome = await client.call(tool, given)
            known.replies[tool] = outcome.structured
            told.append((tool, request, outcome.structured))
    return told


def program(name: str) -> str:
    """A console script of this environment."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        sys.exit(f"{name} is not installed here; run `uv sync` first")
    return found


class Local(NamedTuple):
    """A local service that runs.

    Attributes:
        url: its address.
        key: of its only account.
        repository: owner/name of its only repository.
        origin: the bare repository.
    """

    url: str
    key: str
    repository: str
    origin: str


@contextmanager
def local_service(environment: Mapping[str, str]) -> Iterator[Local]:
    """A service with the examples' scenario, as soon as everything in it is at rest."""
    command = [program("mergestorm-local"), "serve", "--json", "--scenario", str(SCENARIO), "--speed", "50"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=dict(environment), encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            [key] = told["keys"].values()
            [(repository, origin)] = told["repositories"].items()
            _until_queued(told["url"], key)
            yield Local(told["url"], key, repository, origin)
        finally:
            process.terminate()


def _until_queued(url: str, key: str) -> None:
    """Wait until the scenario's pull request stands in the merge queue, which is the last that happens by itself."""
    headers, query = {"Authorization": f"Bearer {key}"}, ""
    deadline = time.monotonic() + _DEADLINE
    while time.monotonic() < deadline:
        request = Request(f"{url}/api/v1/stacks/queue{query}", headers=headers)
        with build_opener(ProxyHandler({})).open(request, timeout=_DEADLINE) as reply:
            answer = json.load(reply)
        if answer["entries"]:
            return
        query = f"?wait=5&seen={answer['fingerprint']}"
    sys.exit("the service did not come to rest")


def examples() -> dict[str, str]:
    """Every tool's example, from a service that is started for them."""
    server = program("mergestorm-mcp")
    with tempfile.TemporaryDirectory(prefix="examples-") as name:
        folder = Path(os.path.realpath(name))
        checkout, home = folder / "checkout", folder / "home"
        home.mkdir(mode=0o700)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MERGESTORM_")}
        environment = {**kept, **dict.fromkeys(("HOME", "USERPROFILE", "XDG_RUNTIME_DIR"), str(home))}
        with local_service(environment) as local:
            owner, _, repo = local.repository.partition("/")
            clone(local.origin, checkout, owner, repo)
            environment |= {"MERGESTORM_API_URL": local.url, "MERGESTORM_API_KEY": local.key}
            told = anyio.run(tell, [server], environment, Known(owner, repo, str(checkout)))
        steady = Steady({
            str(checkout): "/checkout",
            str(home): "/home/ada",
            local.key: "msk_live_…",
            __version__: "1.0.0",
        })
        return {tool: shown(steady(request), steady(reply)) for tool, request, reply in told}


def main(arguments: list[str] | None = None, page: Path = PAGE) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Write the inputs and examples of docs/mergestorm/tools.md.")
    parser.add_argument("--inputs", action="store_true", help="only the tables of inputs")
    options = parser.parse_args(arguments)
    text = with_inputs(page.read_text(encoding="utf-8"))
    if not options.inputs:
        text = rewritten(text, _EXAMPLE, examples())
    page.write_text(text, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

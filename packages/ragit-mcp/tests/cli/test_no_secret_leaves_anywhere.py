"""A secret of its own in every place that a repository or a caller can put one, and then every byte is looked at.

What is looked at: standard output and error of every command, every file below `.ragit` with its name (store, cache,
manifests, logs, artifacts), every reply of the server and its standard error.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpkit.testing import connect_stdio

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# A place's secret is invented from its name, so that a leak says where it came from.
IN_DOCUMENTS = ("body", "fence", "heading", "title", "name", "folder", "table", "link", "outside", "mdx")
IN_GIT = ("message", "branch", "tag", "author")
IN_CALLS = (
    "question",
    "goal",
    "at",
    "path",
    "flag",
    "command",
    "key",
    "value",
    "files",
    "since",
    "input",
    "tool",
)
IN_SESSIONS = ("session", "trace", "harness", "artifact")


def token(place: str) -> str:
    """The secret of a place."""
    return "ghp_" + hashlib.sha256(place.encode()).hexdigest()[:36]


SECRETS = {
    place: token(place)
    for place in (*IN_DOCUMENTS, *IN_GIT, *IN_CALLS, *IN_SESSIONS, "environment", "config", "password")
}


def leaks(content: bytes) -> list[str]:
    """The places whose secret can be read in some bytes; what masking shows of a token is its first six characters."""
    lower = content.lower()
    encodings = ("utf-8", "utf-16-le")
    return [
        place
        for place, secret in SECRETS.items()
        if any(secret[8:24].encode(encoding) in lower for encoding in encodings)
    ]


def test_leaks_are_seen() -> None:
    assert leaks(f"x{token('body').upper()}".encode()) == ["body"]
    assert leaks(token("name").encode("utf-16-le")) == ["name"]
    assert leaks((token("body")[:8] + "***").encode()) == []


@pytest.fixture
def project(new_project: Any) -> Any:
    """A repository with a secret in each of its places."""
    made = new_project()
    made.write("docs/body.md", f"# Anvil\n\nThe anvil is opened with {SECRETS['body']} at noon.\n")
    made.write("docs/fence.md", f"# Fence\n\n```sh\nexport GITHUB_TOKEN={SECRETS['fence']}\n```\n")
    made.write(
        "docs/heading.md",
        f"# Anvil {SECRETS['heading']}\n\nAnvil text.\n\n## {SECRETS['heading']}\n\nMore.\n",
    )
    made.write(
        "docs/title.md",
        f"---\ntitle: Anvil {SECRETS['title']}\ntoken: {SECRETS['title']}\n---\nAnvil text.\n",
    )
    made.write(f"docs/{SECRETS['name']}.md", "# Anvil\n\nA name.\n")
    made.write(f"docs/{SECRETS['folder']}/a.md", "# Anvil\n\nA folder.\n")
    made.write("docs/table.md", f"# Anvil\n\n| name | value |\n|---|---|\n| token | {SECRETS['table']} |\n")
    made.write("docs/link.md", f"# Anvil\n\n<https://user:{SECRETS['link']}@host.example/anvil>\n")
    made.write("docs/page.mdx", f'# Anvil\n\n<Page token="{SECRETS["mdx"]}" />\n')
    made.write("docs/password.md", f"# Anvil\n\npassword: '{SECRETS['password']}'\n")
    made.write(f"other/{SECRETS['outside']}.md", "# Outside\n\nAnvil.\n")
    made.git("checkout", "-q", "-b", f"topic/{SECRETS['branch']}")
    author = {"GIT_AUTHOR_NAME": SECRETS["author"]}
    made.git("add", "-A")
    made.git("commit", "-q", "-m", f"first {SECRETS['message']}", env=author)
    made.git("tag", f"v-{SECRETS['tag']}")
    return made


SESSION = {
    "goal": f"open the anvil with {SECRETS['session']}",
    "turns": [
        {
            "turnId": "t1",
            "role": "user",
            "content": f"The anvil must never be left open. The token is {SECRETS['session']}. Why does it fail?",
            "createdAt": "2026-05-01T08:00:00Z",
        }
    ],
    "toolTraces": [
        {
            "traceId": "r1",
            "title": "deploy",
            "command": f"deploy --token {SECRETS['trace']}",
            "output": "",
            "error": f"failed: refused {SECRETS['trace']}",
            "createdAt": "2026-05-01T08:00:00Z",
        }
    ],
}
HARNESS = {
    "kind": "case",
    "title": f"anvil {SECRETS['harness']}",
    "goal": "anvil",
    "text": f"send {SECRETS['harness']}",
}


def command_lines(head: str) -> list[list[str]]:
    """Every command, well and badly called."""
    return [
        ["init", "--yes"],
        ["ingest", "--all", "--dry-run"],
        ["ingest", "--all"],
        ["ingest", "--all", "--strict-clean"],
        ["ingest", "--path", f"docs/{SECRETS['name']}.md"],
        ["ingest", "--path", f"docs/{SECRETS['path']}.md"],
        ["ingest", "--path", f"../{SECRETS['path']}"],
        ["ingest", "--files", f"docs/{SECRETS['files']}*.md"],
        ["ingest", "--files", f"/{SECRETS['files']}"],
        ["ingest", "--since", SECRETS["since"]],
        ["ingest", f"--{SECRETS['flag']}", "x"],
        ["session", "materialize", "--input", "session.json"],
        ["harness", "capture", "--input", "harness.json"],
        ["artifact", "review", "--input", "review.json"],
        ["artifact", "review", SECRETS["artifact"]],
        ["query", f"anvil {SECRETS['question']}"],
        ["query", "anvil", "--scope", "all", "--view", "full", "--explain", "--top-k", "50"],
        ["query", "anvil", "--at", SECRETS["at"]],
        ["query", "anvil", "--view", SECRETS["flag"]],
        ["query", "--input", "question.json"],
        ["query", "--input", f"{SECRETS['input']}.json"],
        ["query", f"--format={SECRETS['flag']}", "x"],
        ["context", "pack", f"anvil {SECRETS['goal']}", "--budget", "4000", "--view", "full"],
        ["context", "pack", "anvil", "--budget", SECRETS["value"]],
        ["status"],
        ["doctor"],
        ["config", "list"],
        ["config", "set", f"ingest.{SECRETS['key']}", "1"],
        ["config", "set", SECRETS["key"], SECRETS["value"]],
        ["config", "set", "retrieval.top_k", SECRETS["value"]],
        ["config", "set", "embedding.base_url", f"https://user:{SECRETS['value']}@host.example"],
        ["hooks", "install"],
        ["hooks", "status"],
        ["hooks", "uninstall"],
        ["describe", SECRETS["command"]],
        [SECRETS["command"]],
        ["security", "audit"],
    ]


def test_no_command_shows_or_keeps_a_secret(cli: Any, project: Any) -> None:
    for name, value in {
        "session.json": SESSION,
        "harness.json": HARNESS,
        "review.json": {"artifactId": SECRETS["artifact"], "status": "reviewed"},
        "question.json": {"question": f"anvil {SECRETS['input']}", SECRETS["key"]: SECRETS["value"]},
    }.items():
        project.write(name, json.dumps(value))
    found: dict[str, list[str]] = {}
    codes: dict[int, int] = {}
    for arguments in command_lines(project.head):
        done = cli(
            *arguments, *([] if any("--format" in word for word in arguments) else ["--format", "both"])
        )
        codes[done.code] = codes.get(done.code, 0) + 1
        shown = leaks((done.out + done.err).encode("utf-8", "surrogatepass"))
        if shown:
            found[" ".join(arguments)] = shown
    assert found == {}
    assert codes[0] >= 12, (
        codes
    )  # that they work is shown elsewhere; here enough of them must have done something
    kept = {
        str(path.relative_to(project.root)): shown
        for path in (project.root / ".ragit").rglob("*")
        if (shown := leaks(str(path).encode() + (path.read_bytes() if path.is_file() else b"")))
    }
    assert kept == {}
    # It was indexed all the same: the words around the secrets are found.
    hits = cli("query", "anvil", "--top-k", "50", "--format", "json").reply["data"]["hits"]
    assert len({hit["path"] for hit in hits}) >= 8


def test_a_secret_in_configuration_or_environment_is_not_repeated(
    cli: Any, indexed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = (["status"], ["query", "crane"], ["ingest"], ["config", "list"], ["doctor"])
    texts = (
        f'[embedding]\nprovider = "{SECRETS["config"]}"\n',
        f'[embedding]\nprovider = "openai"\nbase_url = "https://user:{SECRETS["config"]}@host.example"\n',
        f'[retrieval]\ntop_k = "{SECRETS["config"]}"\n{SECRETS["config"]} = 1\n',
        f"{SECRETS['config']}\n",
    )
    for text in texts:
        indexed.write(".ragit/config.toml", text)
        shown = [leaks((done.out + done.err).encode()) for done in (cli(*command) for command in commands)]
        assert shown == [[]] * len(commands), text
    indexed.write(".ragit/config.toml", "")
    monkeypatch.setenv("RAGIT_INGEST_MAX_FILE_BYTES", SECRETS["environment"])
    for command in commands:
        done = cli(*command)
        assert done.code != 0 or command == ["doctor"]
        assert leaks((done.out + done.err).encode()) == []


@pytest.mark.anyio
async def test_the_server_shows_no_secret(cli: Any, project: Any) -> None:
    assert cli("init", "--yes").code == 0
    assert cli("ingest", "--all").code == 0
    calls: list[tuple[str, dict[str, Any]]] = [
        ("ragit_status", {}),
        (
            "ragit_query",
            {"question": f"anvil {SECRETS['question']}", "topK": 50, "view": "full", "explain": True},
        ),
        ("ragit_query", {"question": "anvil", "at": SECRETS["at"]}),
        ("ragit_query", {"question": "anvil", SECRETS["key"]: SECRETS["value"]}),
        ("ragit_query", {"question": "anvil", "scope": SECRETS["value"]}),
        ("ragit_context_pack", {"goal": f"anvil {SECRETS['goal']}", "budget": 9000, "view": "full"}),
        ("ragit_context_pack", {"goal": {"x": SECRETS["value"]}}),
        (SECRETS["tool"], {}),
    ]
    argv = [sys.executable, "-P", "-m", "ragit_mcp.main", "--cwd", str(project.root)]
    replies: list[Any] = []
    async with connect_stdio(argv, env=project.env, deadline=100) as client:
        await client.initialize()
        replies = [(await client.call(tool, arguments)).reply for tool, arguments in calls]
        assert await client.finish() == 0
        assert leaks(client.process.stderr.encode()) == []
    assert [leaks(json.dumps(reply, ensure_ascii=False).encode()) for reply in replies] == [[]] * len(calls)


def test_a_refused_argument_of_the_server_is_not_repeated(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ragit_mcp.main", f"--token={SECRETS['flag']}"],
        cwd=tmp_path, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert leaks(done.stdout + done.stderr) == []

"""The server changes nothing: shown byte by byte, by the interpreter's own audit, by the operating system's refusal."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mcpkit.testing import connect_memory, connect_stdio

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ragit_status", {}),
    ("ragit_query", {"question": "harbour crane", "explain": True}),
    ("ragit_query", {"question": "항구", "scope": "all", "view": "full", "topK": 50}),
    ("ragit_query", {"question": "crane", "at": "HEAD"}),
    ("ragit_query", {"question": "crane", "at": "0123"}),
    ("ragit_query", {"question": "crane", "surplus": 1}),
    ("ragit_context_pack", {"goal": "change the rope", "budget": 32_000, "view": "minimal"}),
    ("ragit_context_pack", {}),
    ("ragit_ingest", {"all": True}),
]
CODES = [
    "ok",
    "ok",
    "ok",
    "ok",
    "SNAPSHOT_REF_INVALID",
    *["MCP_INVALID_INPUT"],
    "ok",
    *["MCP_INVALID_INPUT"] * 2,
]

# --- random calls ------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40_000) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.lists(
    st.sampled_from([
        *(
            "harbour",
            "crane",
            "tide",
            "rope",
            "rust",
            "항구",
            "港",
            "NEAR(",
            '"',
            "*",
            "a:b",
            "^x",
            "-",
            "AND",
            "🚢",
        ),
        *("' OR 1=1 --", "../../etc/passwd", "$(touch canary)", "\x00", "%s", "ghp_" + "a1B2" * 9),
    ]),
    min_size=1,
    max_size=8,
).map(" ".join)
AT = st.sampled_from(["HEAD", "head", "main", "HEAD~1", "ffff", "0" * 40, "--upload-pack=touch canary", ""])
MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "question": WORDS | st.text(max_size=50),
    "goal": WORDS | st.text(max_size=50),
    "topK": st.integers(-1, 60) | st.sampled_from([1.0, 1.5, 1e300]),
    "budget": st.integers(-1, 33_000),
    "at": AT,
    "scope": st.sampled_from(["durable", "session", "harness", "evidence", "all", " All ", "none", ""]),
    "view": st.sampled_from(["minimal", "default", "full", "FULL", "x", ""]),
    "explain": st.booleans(),
}
TOOLS = {
    "ragit_status": (),
    "ragit_query": ("question", "topK", "at", "scope", "view", "explain"),
    "ragit_context_pack": ("goal", "budget", "at", "scope", "view"),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, Any]:
    """A call: mostly a good one, else one with a member or a tool that is wrong."""
    tool = draw(st.sampled_from(sorted(TOOLS)))
    arguments = {
        name: draw(MEMBERS[name])
        for name in TOOLS[tool]
        if draw(st.booleans()) or name in {"question", "goal"}
    }
    spoilt = draw(st.integers(0, 9))
    if spoilt == 0:
        arguments[draw(st.sampled_from(sorted(MEMBERS)) | st.text(max_size=9))] = draw(JSON)
    elif spoilt == 1:
        tool = draw(st.text(max_size=12) | st.sampled_from(["ragit_ingest", "ragit_init", "ragit_hooks"]))
    return tool, arguments


async def replay(app: Any, asked: list[tuple[str, Any]]) -> None:
    """Make calls in one session; each is answered, well or with a code, and none is a fault of the server's."""
    async with connect_memory(app) as client:
        await client.initialize()
        for tool, arguments in asked:
            outcome = await client.call(tool, arguments)
            envelope = outcome.structured
            assert json.loads(outcome.text) == envelope
            assert envelope["ok"] or envelope["error"]["code"] != "MCP_INTERNAL_ERROR", (tool, arguments)


def check_bytes(harbour: Any, app: Any, examples: int, length: int) -> None:
    """Compare the repository before and after sessions of random calls."""
    before = harbour.everything()
    assert any(path.startswith(".git/") for path in before)
    assert any(path.startswith(".ragit/store/") for path in before)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(calls(), min_size=length, max_size=length))
    def session(asked: list[tuple[str, Any]]) -> None:
        anyio.run(replay, app, asked)
        assert harbour.everything() == before

    session()
    anyio.run(replay, app, [call for call in CALLS if call[0] in TOOLS])
    assert harbour.everything() == before


def test_hundreds_of_random_calls_leave_every_byte_and_time_as_it_was(harbour: Any, harbour_app: Any) -> None:
    check_bytes(harbour, harbour_app, examples=15, length=20)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_thousands_of_random_calls_leave_every_byte_and_time_as_it_was(
    harbour: Any, harbour_app: Any
) -> None:
    check_bytes(harbour, harbour_app, examples=150, length=40)


# --- the interpreter's audit -------------------------------------------------------------------------------------

AUDITED = r"""
import os, sys
report = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
changing = {
    "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "os.utime", "os.setxattr", "os.removexattr", "os.mkfifo", "os.mknod", "shutil.rmtree", "shutil.move",
}
running = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
network = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"}
busy = False
def hook(event, arguments):
    global busy
    if busy:
        return
    kind = place = None
    if event == "open":
        # A number is a descriptor that is open already; when it was opened it passed through here.
        if isinstance(arguments[2], int) and arguments[2] & writing and not isinstance(arguments[0], int):
            kind, place = "write", arguments[0]
    elif event in changing:
        kind, place = "write", arguments[0]
    elif event in running:
        kind, place = "run", arguments[0]
    elif event in network:
        kind, place = "net", event
    if kind is not None:
        busy = True
        try:
            os.write(report, (kind + "\t" + ascii(place) + "\n").encode("ascii"))
        finally:
            busy = False
sys.addaudithook(hook)
from ragit_mcp.main import main
raise SystemExit(main(["--cwd", sys.argv[1]]))
"""


@pytest.mark.anyio
@pytest.mark.skipif(os.name == "nt", reason="the event loop connects to itself there")
async def test_the_server_opens_nothing_for_writing_connects_nowhere_and_runs_only_git(
    harbour: Any, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    argv = [sys.executable, "-B", "-P", "-c", AUDITED, str(harbour.root), str(report)]
    assert await codes_of(argv, harbour.env) == CODES
    events = [line.split("\t", 1) for line in report.read_text(encoding="ascii").splitlines()]
    # A place that is relative, or no path at all, could lie below the repository: it counts as if it did.
    outside = str(Path.home()), str(harbour.root.parent / "home")
    written = [
        place
        for kind, place in events
        if kind == "write" and not place.startswith(("'/dev/null'", *(f"'{start}/" for start in outside)))
    ]
    assert [place for place in written if not place.startswith("'/") or str(harbour.root) in place] == []
    assert [place for kind, place in events if kind == "net"] == []
    programs = {place for kind, place in events if kind == "run"}
    assert {os.path.basename(place.strip("'\"")) for place in programs} == {"git"}


async def codes_of(argv: list[str], env: dict[str, str]) -> list[str]:
    """What each of the calls came to, made to a server of its own."""
    codes = []
    async with connect_stdio(argv, env=env) as client:
        assert (await client.initialize()).ok
        for tool, arguments in CALLS:
            envelope = (await client.call(tool, arguments)).structured
            codes.append("ok" if envelope["ok"] else envelope["error"]["code"])
        assert await client.finish() == 0
        assert client.process.stderr == ""
    return codes


# --- the operating system ----------------------------------------------------------------------------------------

# Root may write everywhere as long as it has these.
UNPRIVILEGED = ["--bounding-set=-dac_override,-dac_read_search,-fowner", "--inh-caps=-dac_override,-fowner"]


@pytest.fixture
def locked(harbour: Any, tmp_path: Path) -> Iterator[Path]:
    """A copy of the repository in which nobody may write anything."""
    place = tmp_path / "locked"
    shutil.copytree(harbour.root, place, symlinks=True)
    paths = [place, *place.rglob("*")]
    for path in paths:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) & ~0o222)
    yield place
    for path in paths:
        path.chmod(stat.S_IMODE(path.lstat().st_mode) | 0o200)


@pytest.fixture
def without_rights(locked: Path) -> list[str]:
    """The start of a command line that may not write there, if there is a way to be so."""
    start: list[str] = []
    if os.name == "nt":
        pytest.skip("permissions are of another kind there")
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to take that away")
        start = ["setpriv", *UNPRIVILEGED]
    attempt = subprocess.run(
        [*start, sys.executable, "-c", f"open({str(locked / '.ragit' / 'x')!r}, 'w')"],
        capture_output=True,
        check=False,
        timeout=60,
    )
    if attempt.returncode == 0 or b"PermissionError" not in attempt.stderr:
        pytest.skip("this user cannot be kept from writing")
    return start


@pytest.mark.anyio
async def test_the_server_works_for_somebody_who_may_not_write(
    harbour: Any, locked: Path, without_rights: list[str], server_program: list[str]
) -> None:
    assert await codes_of([*without_rights, *server_program, "--cwd", str(locked)], harbour.env) == CODES


@pytest.mark.anyio
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
async def test_no_system_call_of_the_server_or_its_children_opens_for_writing_below_the_repository(
    harbour: Any, server_program: list[str], tmp_path: Path
) -> None:
    report = tmp_path / "calls"
    traced = "trace=open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,connect,execve"
    start = ["strace", "-f", "-y", "-qq", "-s", "4096", "-e", traced, "-o", str(report)]
    if (await anyio.run_process([*start, "true"], check=False)).returncode:
        pytest.skip("strace may not trace here")
    assert await codes_of([*start, *server_program, "--cwd", str(harbour.root)], harbour.env) == CODES
    lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    root = str(harbour.root)
    changing = [
        line
        for line in lines
        if any(
            flag in line for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "mkdir", "rename", "unlink", "creat(")
        )
    ]
    assert [line for line in lines if root in line]
    assert [line for line in changing if root in line] == []
    # A relative place is seen with the directory it counts from; git's children stand in the repository.
    relative = [line for line in changing if "AT_FDCWD<" in line and f"AT_FDCWD<{root}" in line]
    assert [line for line in relative if '"/' not in line] == []
    assert [line for line in lines if " connect(" in line] == []
    programs = {line.split('"')[1] for line in lines if " execve(" in line and line.endswith("= 0")}
    assert {os.path.basename(program) for program in programs} - {
        os.path.basename(server_program[0]),
        os.path.basename(sys.executable),
    } == {"git"}

"""kill -9 of the client or of the service in the middle of each write, a restart, and the same call again.

Whatever the write had come to, it is there once afterwards: nothing is doubled and nothing is lost. The moment is chosen
on the wire (see `crossing`), so that all of them are met: before the service knows what is asked, while it works on it,
and after it is done while nobody knows.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import httpx
import pytest

from .conftest import Hire, Serve
from .crossing import MOMENTS, Crossing, Moment
from .processes import OWNER, PATIENCE, REPO, Agent, Service, clone, environment, mg

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")

Victim = Literal["client", "service"]
CASES: Final[tuple[tuple[Victim, Moment], ...]] = tuple(
    (victim, moment) for victim in ("client", "service") for moment in MOMENTS
)
AT: Final = {"owner": OWNER, "repo": REPO}
REASON: Final = "The text comes from a file that we write ourselves."
PULLS: Final = ("adopt", "set", "dismiss", "add", "rm")
"""Writes that need a pull request of their own each time."""


def scenario(rounds: int) -> str:
    """Everything `rounds` rounds of writes need; nothing lands and no check ends, so that only the writes change things."""
    commits = [{"branch": "main", "message": "First", "files": {"README.md": "# Tidepool\n"}}]
    pulls: list[dict[str, Any]] = []
    stacks: list[dict[str, Any]] = []
    for number in range(rounds):
        for name in PULLS:
            branch = f"{name}-{number}"
            text = "x = eval(text)\n" if name == "dismiss" else f"{branch}\n"
            commits.append({
                "branch": branch,
                "from": "main",
                "message": branch,
                "files": {f"{branch}.py": text},
            })
            pulls.append({"head": branch, "title": branch, "author": "rivka"})
            if name != "adopt":
                stacks.append({"account": "rivka", "head": branch, "auto_land": False, "auto_patch": False})
    repository = {
        "name": f"{OWNER}/{REPO}",
        "people": {"rivka": "admin"},
        "commits": commits,
        "pulls": pulls,
        "stacks": stacks,
        "agents": {
            "ci": {"seconds": 86_400},
            "reviewer": {"queued_seconds": 0, "seconds": 0},
            "queue": {"queued_seconds": 86_400},
        },
    }
    whole = {
        "title": "Killed in the middle",
        "accounts": [{"login": "rivka", "credits_limit": None}],
        "repositories": [repository],
    }
    return json.dumps(whole, indent=1)  # JSON is YAML


class Outcome(NamedTuple):
    """What a write came to.

    Attributes:
        died: whether the client ended before it knew.
        data: what it answered; empty if it died.
        failed: whether it refused.
    """

    died: bool
    data: dict[str, Any]
    failed: bool

    @property
    def code(self) -> str | None:
        """The code of a refusal."""
        error = self.data.get("error")
        return error.get("code") if isinstance(error, dict) else None


@dataclass
class Write:
    """One write with a target of its own.

    Attributes:
        name: which write.
        begin: start it; the function that is returned waits for the outcome.
        holds: raises AssertionError unless it has happened exactly once.
        accepted: codes that say that the first time counted.
    """

    name: str
    begin: Callable[[], Callable[[], Outcome]]
    holds: Callable[[], None]
    accepted: tuple[str, ...] = ()


class Desk:
    """An agent, a command line and a checkout, on one side of a crossing; the service is on the other.

    Attributes:
        service: the service.
        crossing: the bridge to it.
        agent: the MCP server.
    """

    def __init__(self, service: Service, hire: Hire, ground: Path) -> None:
        self.service = service
        self.crossing = Crossing(service.port)
        self._variables = {"MERGESTORM_API_URL": self.crossing.url, "MERGESTORM_API_KEY": service.key}
        self._ground = ground
        self.agent: Agent = hire(**self._variables)
        self._agent_gone = False
        self._command: subprocess.Popen[str] | None = None
        self.checkout = clone(service, ground / f"desk-{service.port}")
        self.stacks = {item["layers"][0]["branch"]: item["id"] for item in service.get("stacks")["stacks"]}

    def kill_client(self) -> None:
        """End the server with SIGKILL, or the command line if that is what runs."""
        if self._command is not None:
            self._command.kill()
            return
        assert self.agent.process is not None
        self.agent.process.kill()
        self._agent_gone = True

    def ready_again(self) -> None:
        """Start what has been killed."""
        if self.service.process is None:
            self.service.start()
        if self._agent_gone:
            self.agent.kill()  # reaps it
            self.agent.start()
            self._agent_gone = False

    def rows(self, question: str, *values: Any) -> list[Any]:
        """First column out of the service's database, read beside it."""
        with closing(sqlite3.connect(f"file:{self.service.database}?mode=ro", uri=True)) as connection:
            return [row[0] for row in connection.execute(question, values)]

    def stack(self, branch: str) -> dict[str, Any]:
        """A stack as the service tells it."""
        [found] = self.service.get("stacks/enrich", stackId=self.stacks[branch])["stacks"]
        stack: dict[str, Any] = found
        return stack

    def pull(self, branch: str) -> int:
        """Number of a branch's pull request; there is one."""
        [number] = self.rows("SELECT number FROM pulls WHERE head_branch = ?", branch)
        return int(number)

    def tool(self, tool: str, **arguments: Any) -> Callable[[], Callable[[], Outcome]]:
        """A tool call as a write."""

        def begin() -> Callable[[], Outcome]:
            number = self.agent.begin(tool, **arguments)

            def end() -> Outcome:
                result = self.agent.end(number)
                if result is None:
                    return Outcome(True, {}, True)
                return Outcome(False, result["structuredContent"], bool(result.get("isError")))

            return end

        return begin

    def command(self, *words: str) -> Callable[[], Callable[[], Outcome]]:
        """A command of `mg` as a write."""

        def begin() -> Callable[[], Outcome]:
            process = self._command = mg(
                environment(self._ground / "home", **self._variables), self._ground, *words, "--json"
            )

            def end() -> Outcome:
                output, _ = process.communicate(timeout=PATIENCE)
                self._command = None
                if process.returncode < 0:
                    return Outcome(True, {}, True)
                return Outcome(False, json.loads(output), process.returncode != 0)

            return end

        return begin


def review_submit(desk: Desk, number: int) -> Write:
    thread = f"kill/{number}"
    diff = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+{number}\n"

    def holds() -> None:
        assert desk.rows("SELECT count(*) FROM review_jobs WHERE idempotency_key = ?", thread) == [1]

    return Write(
        "review_submit", desk.tool("review_submit", diff=diff, thread=thread, idempotency_key=thread), holds
    )


def review_dismiss(desk: Desk, number: int) -> Write:
    branch = f"dismiss-{number}"
    pull = desk.pull(branch)
    deadline = time.monotonic() + PATIENCE
    while True:  # the review of the head is due at once, and takes its moment
        layer = desk.stack(branch)["layers"][0]
        if layer["vortexStatus"] == "findings":
            break
        assert time.monotonic() < deadline
    review = desk.service.get("stacks/pr-review", owner=OWNER, repo=REPO, pr_number=pull)

    def holds() -> None:
        assert desk.rows("SELECT count(*) FROM dismissals WHERE pull_number = ?", pull) == [1]

    call = desk.tool(
        "review_dismiss",
        **AT,
        pr_number=pull,
        head_sha=layer["headSha"],
        review_id=int(review["id"]),
        scope="review",
        reason=REASON,
    )
    return Write("review_dismiss", call, holds)


def stack_adopt(desk: Desk, number: int) -> Write:
    pull = desk.pull(f"adopt-{number}")

    def holds() -> None:
        layers = [layer for stack in desk.service.get("stacks")["stacks"] for layer in stack["layers"]]
        assert [layer["prNumber"] for layer in layers].count(pull) == 1

    return Write("stack_adopt", desk.tool("stack_adopt", **AT, pr_number=pull, auto_land=False), holds)


def stack_set(desk: Desk, number: int) -> Write:
    branch = f"set-{number}"

    def holds() -> None:
        stack = desk.stack(branch)
        assert (stack["autoReviewOverride"], stack["autoEnqueueWhenReady"]) == (False, False)

    return Write("stack_set", desk.tool("stack_set", stack_id=desk.stacks[branch], auto_review=False), holds)


def stack_publish(desk: Desk, number: int) -> Write:
    branch = f"publish-{number}"
    desk.checkout.git("checkout", "--quiet", "-b", branch, "origin/main")
    head = desk.checkout.commit({f"{branch}.txt": os.urandom(50_000)}, branch)

    def holds() -> None:
        bare = desk.service.repositories[f"{OWNER}/{REPO}"]
        assert desk.checkout.git("--git-dir", bare, "rev-parse", f"refs/heads/{branch}") == head
        pull = desk.pull(branch)
        assert desk.rows("SELECT count(*) FROM layers WHERE pull_number = ?", pull) == [1]

    call = desk.tool("stack_publish", cwd=str(desk.checkout.path), branch=branch)
    return Write("stack_publish", call, holds)


def issue_create(desk: Desk, number: int) -> Write:
    title = f"Issue {number}"

    def holds() -> None:
        assert desk.rows("SELECT count(*) FROM issues WHERE title = ?", title) == [1]

    return Write("issue_create", desk.tool("issue_create", **AT, title=title), holds)


def settings_set(desk: Desk, number: int) -> Write:
    seconds = 15 + number % 280

    def holds() -> None:
        assert desk.service.get("settings")["auto_land_settle_seconds"] == seconds

    return Write("settings_set", desk.tool("settings_set", auto_land_settle_seconds=seconds), holds)


def repo_settings_set(desk: Desk, number: int) -> Write:
    size = 2 + number % 7

    def holds() -> None:
        [stored] = desk.service.get("repo-settings", **AT)["repositories"]
        assert stored["merge_queue_batch_size"] == size

    return Write(
        "repo_settings_set", desk.tool("repo_settings_set", **AT, merge_queue_batch_size=size), holds
    )


def queue_add(desk: Desk, number: int) -> Write:
    stack = desk.stacks[f"add-{number}"]

    def holds() -> None:
        assert desk.rows("SELECT state FROM queue_entries WHERE stack_id = ?", stack) == ["queued"]

    return Write("mg queue add", desk.command("queue", "add", stack), holds)


def queue_rm(desk: Desk, number: int) -> Write:
    stack = desk.stacks[f"rm-{number}"]
    reply = httpx.post(
        f"{desk.service.url}/api/v1/stacks/{stack}/enqueue",
        json={},
        headers={"Authorization": f"Bearer {desk.service.key}"},
        trust_env=False,
        timeout=PATIENCE,
    )
    assert reply.status_code == 200, reply.text

    def holds() -> None:
        assert desk.rows("SELECT state FROM queue_entries WHERE stack_id = ?", stack) == ["cancelled"]

    # Taken out the first time, the stack is in the queue no more, which the second call says.
    return Write("mg queue rm", desk.command("queue", "rm", stack), holds, ("queue_entry_not_found",))


WRITES: Final = (
    review_submit, review_dismiss, stack_adopt, stack_set, stack_publish, issue_create, settings_set,
    repo_settings_set, queue_add, queue_rm,
)  # fmt: skip

OVERWRITTEN: Final = {"settings_set", "repo_settings_set"}
"""Of these only the last one is to be seen."""


def cut_short(desk: Desk, write: Write, victim: Victim, moment: Moment, chance: random.Random) -> str:
    """Begin a write, kill at the moment, start again, repeat it; whether it had happened by the kill or not."""

    def kill() -> None:
        if victim == "client":
            desk.kill_client()
            return
        # The service is somewhere in its work, a little further each time.
        threading.Event().wait(chance.uniform(0, 0.04) if moment == "asked" else 0)
        desk.service.kill()

    desk.crossing.arm(moment, kill)
    end = write.begin()
    assert desk.crossing.passed.wait(PATIENCE)
    first = end()
    assert first.failed, "nobody got an answer"
    assert first.died == (victim == "client")
    desk.ready_again()
    try:
        write.holds()
        before = "done"
    except (AssertionError, ValueError):
        before = "not done"
    again = write.begin()()
    assert not again.died
    assert not again.failed or again.code in write.accepted, (write.name, victim, moment, first, again)
    write.holds()
    return before


def kill_through(
    desk: Desk, plan: Sequence[tuple[Callable[[Desk, int], Write], Victim, Moment]], seed: int
) -> Counter[str]:
    """Go through a plan; how often a write had happened by the kill, by victim and moment."""
    chance = random.Random(seed)
    numbers: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    done: list[Write] = []
    for make, victim, moment in plan:
        write = make(desk, numbers[make.__name__])
        numbers[make.__name__] += 1
        seen[f"{victim} {moment}: {cut_short(desk, write, victim, moment, chance)}"] += 1
        done.append(write)
    newest = {write.name: write for write in done}
    for write in done:
        if write.name not in OVERWRITTEN or newest[write.name] is write:
            write.holds()  # nothing came late
    return seen


@pytest.fixture
def desk(serve: Serve, hire: Hire, ground: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    file = ground / "killed.yaml"
    file.write_text(scenario(request.param), encoding="utf-8")
    made = Desk(serve(str(file), speed=1), hire, ground)
    yield made
    made.crossing.close()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("desk", [1], indirect=True)
def test_a_write_that_is_cut_short_happens_once(desk: Desk) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    cases = [case for case in CASES if case != ("service", "asking")]
    plan = [(write, *case) for write, case in zip(chance.sample(WRITES, len(cases)), cases, strict=True)]
    seen = kill_through(desk, plan, seed)
    assert seen.total() == len(cases)
    # By the time an answer is on its way, the write has happened; before the request is whole, it has not.
    assert {name for name in seen if "ask" not in name} == {"client answered: done", "service answered: done"}
    assert seen["client asking: not done"] == 1


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("desk", "seed"), [(len(CASES), seed) for seed in (8, 9, 10)], indirect=["desk"])
def test_each_write_cut_short_in_every_way_happens_once(
    desk: Desk, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = [(write, *case) for write in WRITES for case in CASES]
    seen = kill_through(desk, plan, seed)
    with capsys.disabled():
        print(f"\n{seen.total()} kills: {dict(sorted(seen.items()))}")
    assert seen.total() == len(WRITES) * len(CASES)
    assert not any("answered: not done" in name or "asking: done" in name for name in seen)

"""A repository, two accounts and a clock that moves on command, behind a real socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from mergestorm_mcp.service.accounts.keys import add_key, create_account
from mergestorm_mcp.service.agents.reactions import on_head_changed, on_pull_changed, rerun_checks
from mergestorm_mcp.service.agents.script import AgentScript
from mergestorm_mcp.service.agents.scripts import set_script
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.github.hub import GitHubRepository
from mergestorm_mcp.service.http.serving import running
from mergestorm_mcp.service.pace import ManualClock, Pace, iso
from mergestorm_mcp.service.world import World
from mergestorm_mcp.stacks.blockers import Assessment, stack_blockers
from mergestorm_mcp.stacks.model import Stack, read_entries
from mergestorm_mcp.stacks.obligation import terminal_reason

KEYS = {"rivka": "msk_live_key-of-rivka", "sam": "msk_live_key-of-sam", "noor": "msk_live_key-of-noor"}
"""rivka and sam may write to the repository, noor may only read it."""

BASE = "line one\nline two\nline three\nline four\nline five\n"


@dataclass
class Bench:
    """A service on a manual clock.

    Attributes:
        world: its inside.
        clock: its time.
        repository: `acme/shop`, trunk `main`.
        url: where it listens.
    """

    world: World
    clock: ManualClock
    repository: GitHubRepository
    url: str
    open_things: ExitStack
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    def client(self, who: str = "rivka") -> httpx.Client:
        """A plain HTTP client with the key of an account."""
        if who not in self.clients:
            self.clients[who] = self.open_things.enter_context(
                httpx.Client(
                    base_url=f"{self.url}/api/v1",
                    headers={"Authorization": f"Bearer {KEYS[who]}"},
                    trust_env=False,
                    timeout=30,
                )
            )
        return self.clients[who]

    def script(self, **parts: Any) -> None:
        """Give the agents a script."""
        with self.world.store.write() as connection:
            set_script(connection, self.repository.id, AgentScript.model_validate(parts))

    def push(
        self,
        branch: str,
        files: Mapping[str, str | None],
        *,
        onto: str | None = None,
        message: str = "Change",
    ) -> str:
        """Commit to a branch as a push from outside does; a new branch begins at `onto`, the trunk by default."""
        git = self.world.hub.git(self.repository)
        before = git.head(branch)
        parent = before or git.head(onto or "main")
        made = git.commit_files(
            [parent] if parent is not None else [],
            {path: text.encode() if text is not None else None for path, text in files.items()},
            message=message,
            when=self.clock.now(),
        )
        git.move(branch, made, before)
        with self.world.store.write() as connection:
            on_head_changed(self.world, connection, self.repository.id, branch, made)
        return made

    def rewrite(self, branch: str, commit: str) -> None:
        """Move a branch to a commit, as a forced push does."""
        git = self.world.hub.git(self.repository)
        git.move(branch, commit, git.head(branch))
        with self.world.store.write() as connection:
            on_head_changed(self.world, connection, self.repository.id, branch, commit)

    def merge(self, branch: str, other: str, files: Mapping[str, str]) -> str:
        """Merge a branch into another with these files as the resolution, and push it."""
        git = self.world.hub.git(self.repository)
        parents = [self.head(branch), self.head(other)]
        made = git.commit_files(
            parents,
            {path: text.encode() for path, text in files.items()},
            message=f"Merge {other}",
            when=self.clock.now(),
        )
        self.rewrite(branch, made)
        return made

    def merge_by_git_alone(self, branch: str, other: str) -> str:
        """Merge without telling anybody, as a service does that is killed right afterwards."""
        git = self.world.hub.git(self.repository)
        before = self.head(branch)
        made = git.merge_commit(before, self.head(other), message="Merge", when=self.clock.now())
        assert isinstance(made, str)
        git.move(branch, made, before)
        return made

    def delete(self, branch: str) -> None:
        """Delete a branch."""
        self.world.hub.git(self.repository).move(branch, None, self.head(branch))
        with self.world.store.write() as connection:
            on_head_changed(self.world, connection, self.repository.id, branch, None)

    def close(self, number: int) -> None:
        """Close a pull request."""
        with self.world.store.write() as connection:
            self.world.hub.close_pull(
                connection, self.repository.id, number, at=iso(self.clock.now()), head=None
            )
            on_pull_changed(self.world, connection, self.repository.id, number)

    def set_draft(self, number: int, *, draft: bool) -> None:
        """Make a pull request a draft, or ready."""
        with self.world.store.write() as connection:
            self.world.hub.set_draft(connection, self.repository.id, number, draft=draft)
            on_pull_changed(self.world, connection, self.repository.id, number)

    def rerun_checks(self, branch: str) -> None:
        """Run the checks of a head again."""
        with self.world.store.write() as connection:
            rerun_checks(self.world, connection, self.repository.id, self.head(branch))

    def head(self, branch: str) -> str:
        """Where a branch stands."""
        found = self.world.hub.git(self.repository).head(branch)
        assert found is not None
        return found

    def text(self, branch: str, path: str) -> str | None:
        """A file of a branch."""
        data = self.world.hub.git(self.repository).file(self.head(branch), path)
        return None if data is None else data.decode()

    def open_pull(self, head: str, base: str = "main", *, draft: bool = False, author: str = "rivka") -> int:
        """Open a pull request."""
        with self.world.store.write() as connection:
            pull = self.world.hub.open_pull(
                connection,
                self.repository.id,
                title=f"Pull {head}",
                body="",
                head=head,
                base=base,
                author=author,
                at=iso(self.clock.now()),
                draft=draft,
            )
            on_pull_changed(self.world, connection, self.repository.id, pull.number)
        return pull.number

    def adopt(self, number: int, who: str = "rivka", /, **policy: bool | None) -> str:
        """Adopt a pull request's chain and return the stack's id."""
        answer = self.post(
            "/stacks/adopt", {"owner": "acme", "repo": "shop", "prNumber": number, **policy}, who
        )
        assert answer.status_code == 200, answer.text
        stack_id: str = answer.json()["stack"]["id"]
        return stack_id

    def post(self, path: str, body: Mapping[str, Any] | None = None, who: str = "rivka") -> httpx.Response:
        """A POST."""
        return self.client(who).post(path, json=body or {})

    def get(self, path: str, who: str = "rivka", **query: Any) -> Any:
        """The JSON of a GET that succeeds."""
        answer = self.client(who).get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def set(self, stack_id: str, who: str = "rivka", /, **policy: bool | None) -> httpx.Response:
        """Change a stack's policy."""
        return self.client(who).patch(f"/stacks/{stack_id}", json=policy)

    def stack(self, stack_id: str, who: str = "rivka") -> dict[str, Any] | None:
        """A stack as it is enriched; None where it is not listed."""
        found = self.get("/stacks/enrich", who, stackId=stack_id)["stacks"]
        return found[0] if found else None

    def listed(self, stack_id: str, who: str = "rivka") -> dict[str, Any]:
        """A stack that is there."""
        found = self.stack(stack_id, who)
        assert found is not None
        return found

    def layer(self, stack_id: str, place: int = 0) -> dict[str, Any]:
        """A layer of a stack."""
        found: dict[str, Any] = self.listed(stack_id)["layers"][place]
        return found

    def entries(self, stack_id: str) -> list[dict[str, Any]]:
        """A stack's queue entries."""
        listed: list[dict[str, Any]] = self.get("/stacks/queue", stackId=stack_id)["entries"]
        return listed

    def assess(self, stack_id: str) -> Assessment:
        """What the client of this project makes of a stack."""
        raw = self.listed(stack_id)
        entries = read_entries(self.entries(stack_id), stack_id)
        return stack_blockers(Stack.read(raw), entries, None, self.clock.now().timestamp())

    def blocker(self, stack_id: str) -> str | None:
        """The attention the client would raise."""
        attention = self.assess(stack_id).attention
        return None if attention is None else attention.blocker

    def ended(self, stack_id: str) -> str | None:
        """How the stack ended, as the client reads it."""
        raw = self.stack(stack_id)
        return terminal_reason(None if raw is None else Stack.read(raw))

    def pass_time(self, seconds: float) -> None:
        """Let time go by, event after event."""
        end = self.clock.now() + timedelta(seconds=seconds)
        while (due := self.world.timeline.next_due(self.world)) is not None and due <= end:
            self.clock.advance(max(0.0, (due - self.clock.now()).total_seconds()) + 0.001)
            self.world.timeline.run_due(self.world)
        if self.clock.now() < end:
            self.clock.advance((end - self.clock.now()).total_seconds())

    def until(self, condition: Callable[[], object], seconds: float = 3600) -> None:
        """Let time go by until something is true, at most so long."""
        end = self.clock.now() + timedelta(seconds=seconds)
        while not condition():
            due = self.world.timeline.next_due(self.world)
            assert due is not None, "nothing is due any more, and it is not true"
            assert due <= end, "it did not become true in time"
            self.pass_time(max(0.0, (due - self.clock.now()).total_seconds()) + 0.001)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A service with a repository whose trunk has one file, `app.txt`."""
    clock = ManualClock()
    with ExitStack() as open_things:
        world = build(tmp_path / "service", Pace(clock))
        open_things.callback(world.store.close)
        with world.store.write() as connection:
            for login, key in KEYS.items():
                add_key(world, connection, create_account(world, connection, login), "laptop", key=key)
            repository = world.hub.create_repository(connection, "acme", "shop")
            for login in ("rivka", "sam"):
                world.hub.set_permission(connection, repository.id, login, "write")
            world.hub.set_permission(connection, repository.id, "noor", "read")
            for app in ("surge", "cyclone"):
                world.hub.install_app(connection, repository.id, app)
        url = open_things.enter_context(running(world))
        made = Bench(world, clock, repository, url, open_things)
        made.push("main", {"app.txt": BASE}, message="First")
        yield made

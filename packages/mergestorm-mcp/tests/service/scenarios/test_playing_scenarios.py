"""The bundled scenarios do what they say, in simulated time; a service is seeded once, wholly or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mergestorm_mcp.service.agents.reactions import on_head_changed
from mergestorm_mcp.service.assembly import build
from mergestorm_mcp.service.github.bare import Bare
from mergestorm_mcp.service.github.hub import GitHubRepository, Pull
from mergestorm_mcp.service.pace import ManualClock, Pace
from mergestorm_mcp.service.scenarios import ScenarioError, load, names, seed
from mergestorm_mcp.service.scenarios.loader import parse
from mergestorm_mcp.service.stacks.policy import change_policy
from mergestorm_mcp.service.stacks.site import Site
from mergestorm_mcp.service.world import World


class Play:
    """A scenario under way.

    Attributes:
        world: the service.
        repository: kestrel-labs/tidepool.
        git: its bare repository.
    """

    def __init__(self, world: World, clock: ManualClock) -> None:
        self.world = world
        self._clock = clock
        with world.store.read() as connection:
            [self.repository] = world.hub.repositories(connection)
        self.git: Bare = world.hub.git(self.repository)

    def minutes(self, minutes: float) -> None:
        """Let time pass, in steps of some seconds."""
        for _ in range(int(minutes * 12)):
            self._clock.advance(5)
            self.world.timeline.run_due(self.world)

    def pull(self, number: int) -> Pull:
        with self.world.store.read() as connection:
            found = self.world.hub.pull(connection, self.repository.id, number)
        assert found is not None
        return found

    def row(self, query: str) -> dict[str, Any]:
        with self.world.store.read() as connection:
            return dict(connection.execute(query).fetchone())

    def push(self, branch: str, made: str) -> None:
        """Move a branch as a push does."""
        with self.world.store.write() as connection:
            self.git.move(branch, made, self.git.head(branch))
            on_head_changed(self.world, connection, self.repository.id, branch, made)

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        head = self.git.head(branch)
        assert head is not None
        return self.git.commit_files([head], files, message="Fix", when=self.world.pace.now())

    def landed(self, number: int) -> bool:
        pull = self.pull(number)
        main = self.git.head("main")
        assert main is not None
        return pull.state == "merged" and self.git.is_ancestor(str(pull.last_head), main)


@pytest.fixture
def play(tmp_path: Path) -> Any:
    """`play(name)` seeds a bundled scenario in a service whose clock moves by hand."""
    worlds: list[World] = []

    def made(name: str) -> Play:
        clock = ManualClock()
        world = build(tmp_path / name, Pace(clock))
        worlds.append(world)
        seed(world, load(name))
        return Play(world, clock)

    yield made
    for world in worlds:
        world.store.close()


def test_a_happy_landing(play: Callable[[str], Play]) -> None:
    scene = play("happy-landing")
    assert scene.pull(1).open
    scene.minutes(10)
    assert scene.landed(1)


def test_failing_checks_hold_the_stack_until_they_are_fixed(play: Callable[[str], Play]) -> None:
    scene = play("failing-ci-then-fix")
    scene.minutes(20)
    assert scene.pull(1).open
    head = scene.git.head("moon-phase")
    with scene.world.store.read() as connection:
        checks = scene.world.hub.checks(connection, scene.repository.id, str(head))
    assert {check.name: check.status for check in checks} == {"lint": "success", "tests": "failure"}
    scene.push("moon-phase", scene.commit("moon-phase", {"src/moon.py": b"def phase(day):\n    return 0\n"}))
    scene.minutes(10)
    assert scene.landed(1)


def test_a_conflict_holds_the_stack_until_main_is_merged(play: Callable[[str], Play]) -> None:
    scene = play("conflict")
    scene.minutes(20)
    head, main = scene.git.head("summer-time"), scene.git.head("main")
    assert head is not None
    assert main is not None
    assert scene.pull(1).open
    assert scene.git.merge(main, head).conflicts == ("src/tides.py",)
    with_fix = scene.commit("summer-time", {"src/tides.py": scene.git.file(main, "src/tides.py") or b""})
    merged = scene.git.merge_commit(with_fix, main, message="Merge main", when=scene.world.pace.now())
    if not isinstance(merged, str):
        merged = scene.git.commit_tree(
            scene.git.tree_of(with_fix), [head, main], message="Merge main", when=scene.world.pace.now()
        )
    scene.push("summer-time", merged)
    scene.minutes(10)
    assert scene.landed(1)


def test_a_seam_finding_holds_the_upper_layer_until_it_is_gone(play: Callable[[str], Play]) -> None:
    scene = play("seam-review")
    scene.minutes(20)
    assert scene.pull(1).state == "merged"
    assert not scene.landed(1)
    assert scene.pull(2).open
    member = scene.row("SELECT seam_state FROM members WHERE pull_number = 2")
    assert member["seam_state"] == "findings"
    fixed = b'def forecast(hour):\n    return f"{hour} feet"\n'
    scene.push("forecast", scene.commit("forecast", {"src/forecast.py": fixed}))
    scene.minutes(30)
    assert scene.pull(2).state == "merged"
    assert scene.landed(1)
    assert scene.landed(2)


def test_a_bounced_stack_lands_after_it_is_armed_again(play: Callable[[str], Play]) -> None:
    scene = play("bounce-and-rearm")
    scene.minutes(20)
    entry = scene.row("SELECT state, bounce_json FROM queue_entries ORDER BY number DESC")
    assert entry["state"] == "bounced"
    assert '"merge_failed"' in entry["bounce_json"]
    assert scene.pull(1).open
    with scene.world.store.write() as connection:
        site = Site.of(scene.world, connection, scene.repository.id)
        stack = connection.execute("SELECT * FROM stacks").fetchone()
        assert not stack["auto_land"]
        change_policy(site, stack, {"autoEnqueueWhenReady": True})
        on_head_changed(
            scene.world, connection, scene.repository.id, "spring-tide", site.git.head("spring-tide")
        )
    scene.minutes(10)
    assert scene.landed(1)


@pytest.fixture
def seeded(start_service: Any) -> Any:
    """`seeded(name)` is a running service with a bundled scenario, and a client with its first key."""

    def made(name: str) -> tuple[Any, Any]:
        keys: dict[str, str] = {}
        service = start_service(arrange=lambda world: keys.update(seed(world, load(name)).keys))
        return service, service.client(keys["rivka"])

    return made


def test_a_used_up_quota_is_told_on_submission(seeded: Any) -> None:
    _, client = seeded("quota-exhausted")
    diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+x\n"
    body = {
        "thread": "local/topic", "branch": "topic", "base_label": "main", "head_label": "topic", "diff": diff, "files": [],
    }  # fmt: skip
    assert client.post("/api/v1/reviews", json=body).status_code == 402
    usage = client.get("/api/v1/me").json()["usage"]["standard"]
    assert (usage["limit"], usage["remaining"]) == (0, 0)


def test_too_many_requests_come_in_three_ways(seeded: Any) -> None:
    _, client = seeded("rate-limited")
    replies = [client.get("/api/v1/stacks") for _ in range(6)]
    told = [
        (reply.status_code, reply.headers.get("retry-after"), reply.json().get("retry_after_seconds"))
        for reply in replies
    ]
    assert told[:5] == [*[(429, "1", 1)] * 3, (429, None, 2), (429, None, None)]
    assert told[5][0] == 200
    assert len(replies[5].json()["stacks"]) == 1


def test_an_outage_ends(seeded: Any) -> None:
    service, client = seeded("outage")
    assert client.get("/api/v1/stacks").status_code == 503
    assert client.get("/api/v1/me").status_code == 200
    with service.world.store.write() as connection:
        connection.execute(
            "UPDATE knobs SET until_at = '2026-01-01T00:00:00.000Z' WHERE until_at IS NOT NULL"
        )
    assert client.get("/api/v1/stacks").status_code == 200


def test_every_machine_makes_the_same_commits(tmp_path: Path) -> None:
    for name in names():
        heads = []
        for number in range(2):
            world = build(tmp_path / f"{name}-{number}")
            seed(world, load(name))
            with world.store.read() as connection:
                [repository] = world.hub.repositories(connection)
            branches = world.hub.git(repository).branches()
            heads.append({
                branch: oid
                for branch, oid in branches.items()
                if not branch.startswith(("mg-stack-", "mg-park-"))
            })
            world.store.close()
        assert heads[0] == heads[1]


def test_a_service_is_seeded_once(tmp_path: Path) -> None:
    world = build(tmp_path / "state")
    first = seed(world, load("happy-landing"))
    assert list(first.keys) == ["rivka"]
    again = seed(world, load("conflict"))
    assert (again.title, again.keys) == (first.title, {})
    with world.store.read() as connection:
        assert len(world.hub.repositories(connection)) == 1
    world.store.close()


OWN = """\
title: Own
accounts:
  - {login: rivka, key: msk_live_own-key, settings: {auto_review_enabled: false}}
  - {login: sam}
repositories:
  - name: a/b
    private: true
    default_branch: trunk
    people: {rivka: PERMISSION}
    surge: SURGE
    cyclone: absent
    labels: [bug]
    settings: {rivka: {auto_patch_enabled: true}}
    commits:
      - {branch: trunk, message: one, files: {x: one, run: {text: go, mode: "100755"}}, author: A B <a@b.c>}
      - {branch: topic, message: two, files: {FILE: two}}
    pulls:
      - {head: topic, title: t, author: sam, body: text}
    stacks:
      - {account: rivka, head: topic, auto_land: false, auto_patch: false}
knobs:
  - {kind: latency, latency_seconds: 0.5, path: "/api/v1/me"}
"""


def own(permission: str = "write", surge: str = "ready", file: str = "y") -> Any:
    return parse(OWN.replace("PERMISSION", permission).replace("SURGE", surge).replace("FILE", file))


def test_a_scenario_of_one_s_own_is_what_it_says(tmp_path: Path) -> None:
    world = build(tmp_path / "state")
    seeded = seed(world, own())
    assert seeded.keys["rivka"] == "msk_live_own-key"
    assert seeded.keys["sam"].startswith("msk_live_")
    hub = world.hub
    with world.store.read() as connection:
        [repository] = hub.repositories(connection)
        assert repository == GitHubRepository(repository.id, "a", "b", "trunk", "a/b.git", private=True)
        assert hub.permission(connection, repository, "sam") is None
        assert (
            hub.app(connection, repository.id, "surge"),
            hub.app(connection, repository.id, "cyclone"),
        ) == (
            "ready",
            "absent",
        )
        assert hub.labels(connection, repository.id) == ["bug"]
        [pull] = hub.pulls(connection, repository.id)
        assert (pull.title, pull.body, pull.base_branch, pull.author_login) == ("t", "text", "trunk", "sam")
        stack = connection.execute("SELECT auto_land, auto_patch FROM stacks").fetchone()
        assert tuple(stack) == (0, 0)
        assert connection.execute("SELECT count(*) FROM knobs").fetchone()[0] == 1
    head = hub.git(repository).head("topic")
    assert head is not None
    modes = {entry.path: entry.mode for entry in hub.git(repository).repository.list_tree(head)}
    assert modes == {b"run": "100755", b"x": "100644", b"y": "100644"}
    assert hub.git(repository).commit(head).subject == "two"
    world.store.close()


@pytest.mark.parametrize(
    "wrong",
    [own(permission="read"), own(surge="absent"), own(file="x/below")],
    ids=["access", "app", "files"],
)
def test_what_cannot_be_made_leaves_an_empty_service(tmp_path: Path, wrong: Any) -> None:
    world = build(tmp_path / "state")
    with pytest.raises(ScenarioError):
        seed(world, wrong)
    with world.store.read() as connection:
        for table in ("accounts", "repositories", "knobs", "stacks"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    assert seed(world, own()).keys
    world.store.close()

"""What an agent meets in each scenario that comes with the package, and how it gets out of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import Hire, Serve
from .processes import OWNER, PATIENCE, REPO, Agent, Service, clone, followed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]  # many steps, on a busy machine seconds each

AT = {"owner": OWNER, "repo": REPO}
SPEED = 100


@pytest.fixture(scope="module")
def agent(hire: Hire) -> Agent:
    """One server for all of them: it signs in to another service each time."""
    return hire()


class Scene:
    """A scenario under way, with the agent signed in to it.

    Attributes:
        service: the service.
        stack: the scenario's stack.
    """

    def __init__(self, agent: Agent, service: Service, place: Path) -> None:
        self._agent = agent
        self._place = place
        self.service = service
        agent.signs_in(service.url, service.key)

    def only_stack(self) -> str:
        [stack] = self._agent.does("stack_list")["stacks"]
        found: str = stack["id"]
        return found

    def until_something_happens(self, stack: str) -> dict[str, Any]:
        return followed(self._agent, self._agent.does("stack_wait", stack_id=stack)["watch"])

    def checkout(self, branch: str) -> Any:
        return clone(self.service, self._place, branch)

    def on_main(self, path: str) -> str:
        bare = self.service.repositories[f"{OWNER}/{REPO}"]
        told: str = clone(self.service, self._place.with_name("landed")).git(
            "--git-dir", bare, "show", f"main:{path}"
        )
        return told


@pytest.fixture
def scene(agent: Agent, serve: Serve, ground: Path, request: pytest.FixtureRequest) -> Scene:
    """The scenario that the test is named for."""
    name, speed = request.param
    return Scene(agent, serve(name, speed=speed), ground / name / "checkout")


def scenario(name: str, speed: float = SPEED) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scene", [(name, speed)], indirect=True, ids=[name])


def first_wait(agent: Agent, stack: str) -> dict[str, Any]:
    """Wait from a fresh snapshot until something needs attention or the watch is done."""
    begun = agent.does("stack_wait", stack_id=stack, timeout_s=0)
    if begun["watch"]["done"] or begun["status"] == "attention":
        return begun
    return followed(agent, begun["watch"])


@scenario("happy-landing")
def test_nothing_is_wrong_and_it_lands(scene: Scene, agent: Agent) -> None:
    landed = first_wait(agent, scene.only_stack())
    assert landed["watch"]["reason"] == "landed"
    assert "is_low" in scene.on_main("src/tides.py")


@scenario("failing-ci-then-fix")
def test_a_red_check_is_named_and_a_published_fix_lands(scene: Scene, agent: Agent) -> None:
    red = first_wait(agent, scene.only_stack())
    assert (red["status"], red["repair"]["kind"], red["repair"]["failingCheck"]) == (
        "attention",
        "ci_failure",
        "tests",
    )
    checkout = scene.checkout("moon-phase")
    checkout.commit({"src/moon.py": b"def phase(day):\n    return day % 29\n"}, "Write it")
    published = agent.does("stack_publish", cwd=str(checkout.path))
    assert (published["resumed"], published["pull"]["number"]) == (True, red["prNumber"])
    assert followed(agent, published["watch"])["watch"]["reason"] == "landed"


@scenario("conflict")
def test_a_conflict_is_repaired_by_a_merge_and_an_ordinary_push(scene: Scene, agent: Agent) -> None:
    stuck = first_wait(agent, scene.only_stack())
    assert (stuck["status"], stuck["repair"]["kind"], stuck["repair"]["liveParent"]) == (
        "attention",
        "merge_conflict",
        "main",
    )
    checkout = scene.checkout("summer-time")
    checkout.git("merge", "--quiet", "--no-commit", "-s", "ours", "origin/main")
    checkout.commit({"src/tides.py": b"HIGH = (6, 18)\n"}, "Merge main")
    # A merge commit cannot be published: this repair needs a push, as its steps say.
    assert agent.is_refused("stack_publish", cwd=str(checkout.path)) == "merge_commit"
    checkout.git("push", "--quiet", scene.service.repositories[f"{OWNER}/{REPO}"], "HEAD:summer-time")
    assert followed(agent, stuck["watch"])["watch"]["reason"] == "landed"
    assert scene.on_main("src/tides.py") == "HIGH = (6, 18)"


@scenario("seam-review")
def test_a_seam_finding_that_is_wrong_is_dismissed_and_the_stack_lands(scene: Scene, agent: Agent) -> None:
    stack = scene.only_stack()
    held = first_wait(agent, stack)
    assert (held["status"], held["blocker"], held["repair"]) == ("attention", "Seam findings", None)
    status = agent.does("stack_status", stack_id=stack)
    [member] = [item for item in status["stack"]["unit"]["members"] if item["prNumber"] == held["prNumber"]]
    wrong = {
        **AT,
        "pr_number": held["prNumber"],
        "head_sha": held["headSha"],
        "review_id": member["seamReviewId"],
        "scope": "review",
    }
    preview = agent.does("review_dismiss", **wrong, preview=True)
    assert (preview["review_kind"], preview["gate"]["seam"]["blocking"]) == ("seam", True)
    assert [item["path"] for item in preview["remaining"]] == ["src/forecast.py"]
    assert agent.is_refused("review_dismiss", **wrong, reason="no") == "invalid_input"
    done = agent.does("review_dismiss", **wrong, reason="The number is converted by the caller of forecast.")
    assert (done["gate"]["seam"]["cleared"], done["all_dismissed"], done["stack_id"]) == (True, True, stack)
    again = agent.does("review_dismiss", **wrong, reason="The number is converted by the caller of forecast.")
    assert (again["dismissed"], len(again["already_dismissed"])) == ([], 1)
    assert followed(agent, done["watch"])["watch"]["reason"] == "landed"
    assert "metres" in scene.on_main("src/forecast.py")


@scenario("bounce-and-rearm")
def test_a_bounce_switches_auto_land_off_and_arming_it_again_lands(scene: Scene, agent: Agent) -> None:
    stack = scene.only_stack()
    bounced = first_wait(agent, stack)
    assert (bounced["status"], bounced["bounceKind"]) == ("attention", "merge_failed")
    [entry] = agent.does("queue_status", stack_id=stack)["entries"]
    assert (entry["state"], entry["bounceDetail"]["kind"]) == ("bounced", "merge_failed")
    armed = agent.does("stack_set", stack_id=stack, auto_land=True)
    assert armed["auto_land"] is True
    # The cursor says that this bounce is known, so that the wait does not name it again.
    assert followed(agent, bounced["watch"])["watch"]["reason"] == "landed"


@scenario("quota-exhausted")
def test_without_credits_reviews_are_refused_and_stacks_are_still_read(scene: Scene, agent: Agent) -> None:
    checkout = scene.checkout("ebb")
    submitted = agent.does("review_submit", cwd=str(checkout.path))
    assert (submitted["status"], submitted["job_id"]) == ("quota_exceeded", None)
    assert agent.does("credits")["usage"]["standard"]["remaining"] == 0
    assert agent.does("review_list")["items"] == []
    held = first_wait(agent, scene.only_stack())
    assert (held["status"], held["blocker"]) == ("attention", "Review skipped, out of review quota")


@scenario("rate-limited")
def test_a_wait_gets_through_rate_limits_and_a_write_is_not_repeated(scene: Scene, agent: Agent) -> None:
    limited = agent.call("stack_list")
    assert (limited.code, limited.data["error"]["retry_after_seconds"]) == ("rate_limited", 1)
    checkout = scene.checkout("flood")
    refused = agent.call("stack_publish", cwd=str(checkout.path))
    assert (refused.code, refused.data["error"]["retry_after_seconds"]) == ("rate_limited", 1)
    # The third of five, which says a second like the two before: the write has used up one only.
    limited = agent.call("stack_list")
    assert (limited.code, limited.data["error"]["retry_after_seconds"]) == ("rate_limited", 1)
    # Two are left, and a wait asks again after each as it was told. (No stack's id could be read so far.)
    waited = agent.call("stack_wait", stack_id="00000000-0000-4000-8000-000000000000", timeout_s=45)
    assert waited.data["watch"]["reason"] == "not_found"
    assert first_wait(agent, scene.only_stack())["watch"]["reason"] == "landed"


@scenario("outage", speed=10)
def test_an_outage_is_waited_out_and_a_lost_answer_is_looked_up(scene: Scene, agent: Agent) -> None:
    assert agent.call("stack_list").failed
    assert agent.does("whoami")["key_prefix"] == scene.service.key[:12], "the rest goes on"
    checkout = scene.checkout("neap")
    checkout.commit({"docs/neap.md": b"# Neap\n\nThe smallest difference.\n"}, "Say it better")
    here = {"cwd": str(checkout.path)}
    deadline = time.monotonic() + PATIENCE
    while (reply := agent.call("review_wait_pr", **AT, pr_number=1, timeout_s=45)).failed:
        assert time.monotonic() < deadline, reply.text
    lost = agent.call("stack_publish", **here)
    assert lost.failed
    status = agent.does("stack_publish_status", **here)
    assert (status["state"], status["in_sync"]) == ("registered", True)
    again = agent.does("stack_publish", **here)
    assert (again["resumed"], again["created"]) == (True, {"branch": False, "pull": False, "stack": False})
    assert followed(agent, again["watch"])["watch"]["reason"] == "landed"
    assert scene.on_main("docs/neap.md").endswith("The smallest difference.")

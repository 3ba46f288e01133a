"""Any history that may be published stands on the service's GitHub side bit by bit: trees, and ids where unsigned.

The real client sends it to the real service over HTTP, in two steps that end at a random commit, from a checkout, a
linked worktree or a shallow clone, with answers lost on the way.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication, publish_branch
from mergestorm_mcp.publication.refusals import PublicationRefused
from mergestorm_mcp.runtime import Runtime
from mergestorm_mcp.service import knobs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(os.name == "nt", reason="Windows cannot express some of the names"),
]

WAYS = st.sampled_from(["checkout", "worktree", "shallow"])


@pytest.fixture
def copies_of(tmp_path: Path, make_checkout: Callable[..., Any], histories: Any, tidepool: Any) -> Any:
    """`copies_of(commits, way)` is a checkout of that kind whose branch `topic-<n>` has these commits; and its name."""
    serial = itertools.count()

    def made(commits: list[dict[str, Any]], way: str) -> tuple[Any, str]:
        number = next(serial)
        branch = f"topic-{number}"
        source = make_checkout(tmp_path / f"source-{number}")
        source.git("fetch", "--quiet", str(tidepool.git.path), "main")
        source.git("reset", "--quiet", "--hard", "FETCH_HEAD")
        base = source.git("rev-parse", "HEAD")
        histories.write_history(source, commits, base)
        source.git("branch", "-m", "topic", branch)
        place = source
        if way == "worktree":
            source.git("worktree", "add", "--quiet", "--no-checkout", "beside", branch)
            place = type(source)(Path(source.path, "beside"))
        elif way == "shallow":
            source.git(
                "clone", "--quiet", "--no-checkout", "--no-single-branch", f"--depth={len(commits) + 1}",
                f"file://{source.path}", str(tmp_path / f"clone-{number}"),
            )  # fmt: skip
            place = type(source)(tmp_path / f"clone-{number}")
            place.git("branch", branch, f"origin/{branch}")
        place.git("update-ref", "refs/remotes/origin/main", base)
        return place, branch

    return made


Check = Callable[[st.DataObject], None]


@pytest.fixture
def check_history(
    copies_of: Any, histories: Any, tidepool: Any, environment: Environment, tmp_path: Path
) -> Check:
    """`check_history(data)` draws a history, publishes it and compares."""

    def check(data: st.DataObject) -> None:
        commits = data.draw(histories.HISTORIES)
        checkout, branch = copies_of(commits, data.draw(WAYS))
        originals = checkout.git("rev-list", "--reverse", f"origin/main..{branch}").split()
        root = Environment(
            {**environment.variables, "MERGESTORM_SANDBOX_ROOT": str(tmp_path)},
            environment.home,
            str(tmp_path),
        )
        first = data.draw(st.integers(1, len(originals)))
        before = tidepool.count("pulls")
        told: dict[str, Any] = {}
        for end in (first, len(originals)):
            checkout.git("update-ref", f"refs/heads/{branch}", originals[end - 1])
            told = anyio.run(_publish, root, str(checkout.path), branch, tidepool, data.draw(st.booleans()))
            assert told["head"]["verified"] is True
        bare = tidepool.git
        published = [commit.oid for commit in bare.commits_between(bare.head("main"), bare.head(branch))]
        assert published == [commit["github_sha"] for commit in told["commits"]]
        assert [bare.tree_of(oid) for oid in published] == [
            checkout.git("rev-parse", f"{oid}^{{tree}}") for oid in originals
        ]
        unsigned = list(itertools.takewhile(lambda commit: not commit["signed"], commits))
        assert published[: len(unsigned)] == originals[: len(unsigned)]
        if len(unsigned) < len(commits):
            assert not set(published[len(unsigned) :]) & set(originals)
        assert tidepool.count("pulls") == tidepool.count("stacks") == before + 1
        checkout.git("--git-dir", str(bare.path), "fsck", "--connectivity-only", "--no-dangling")

    return check


def properties(examples: int) -> settings:
    return settings(
        max_examples=examples,
        deadline=None,
        # Histories are small as they come, and each run of one takes a second: shrinking would take minutes.
        phases=(Phase.explicit, Phase.reuse, Phase.generate),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@given(data=st.data())
@properties(10)
def test_a_history_stands_on_github_bit_by_bit(check_history: Check, data: st.DataObject) -> None:
    check_history(data)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(data=st.data())
@properties(150)
def test_many_histories_stand_on_github_bit_by_bit(check_history: Check, data: st.DataObject) -> None:
    check_history(data)


async def _publish(
    environment: Environment, cwd: str, branch: str, tidepool: Any, answer_is_lost: bool
) -> dict[str, Any]:
    """Publish, once more where the answer is lost."""
    request = PublishRequest(cwd=cwd, owner="kestrel-labs", repo="tidepool", branch=branch)
    publication = prepare_publication(environment, request)
    runtime = Runtime(environment=environment)
    try:
        if answer_is_lost:
            with tidepool.world.store.write() as connection:
                knobs.turn(tidepool.world, connection, "lost_answer", method="POST", times=1)
            with pytest.raises(PublicationRefused) as caught:
                await publish_branch(runtime.api(), publication)
            assert caught.value.details == {"state": "unknown"}
        return await publish_branch(runtime.api(), publication)
    finally:
        await runtime.aclose()

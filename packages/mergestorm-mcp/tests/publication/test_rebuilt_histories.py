"""Any history that may be published is built again from its request alone: identical trees, and identical commit ids
up to the first signature; from there on the ids that were foretold."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mergestorm_mcp.config import Environment
from mergestorm_mcp.publication.publish import PublishRequest, prepare_publication

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows cannot express some of the names"),
]


@pytest.fixture
def repositories(
    tmp_path: Path, make_checkout: Callable[..., Any], histories: Any
) -> Callable[[list[dict[str, Any]]], tuple[Any, Environment]]:
    """`repositories(commits)` makes a checkout with that history on topic, and the environment to publish it in."""
    serial = itertools.count()

    def made(commits: list[dict[str, Any]]) -> tuple[Any, Environment]:
        place = tmp_path / f"work-{next(serial)}"
        checkout = make_checkout(place)
        base = checkout.commit({"tide.txt": b"low\n"})
        histories.write_history(checkout, commits, base)
        return checkout, Environment({}, str(tmp_path / "home"), str(place))

    return made


@given(data=st.data())
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_a_history_is_built_again_bit_by_bit(
    repositories: Any, rebuild: Any, histories: Any, data: st.DataObject
) -> None:
    commits = data.draw(histories.HISTORIES)
    checkout, environment = repositories(commits)
    request = PublishRequest(owner="kestrel-labs", repo="tidepool", branch="topic")
    made = prepare_publication(environment, request)
    rebuilt = rebuild(checkout, made.body)
    originals = checkout.git("rev-list", "--reverse", "main..topic").split()
    assert rebuilt.trees == [checkout.git("rev-parse", f"{oid}^{{tree}}") for oid in originals]
    assert rebuilt.commits == [copy.oid for copy in made.made]
    unsigned = list(itertools.takewhile(lambda commit: not commit["signed"], commits))
    assert rebuilt.commits[: len(unsigned)] == originals[: len(unsigned)]
    assert [copy.original.signed for copy in made.made] == [commit["signed"] for commit in commits]
    if len(unsigned) < len(commits):
        assert not set(rebuilt.commits[len(unsigned) :]) & set(originals)

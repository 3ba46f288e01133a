"""The service on a manual clock, and a visitor who has come in by the link of the start."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mergestorm_mcp.service.http.pages import cookie_name

from ..stacks.conftest import KEYS, Bench, bench  # noqa: TID252 - one bench for both folders

__all__ = ["KEYS", "Bench", "Visitor", "bench", "visitor"]


class Visitor:
    """Somebody at the page, without a browser.

    Attributes:
        bench: the service.
        http: a client that sends the Origin of the page, and the cookie if it has one.
    """

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.http = bench.open_things.enter_context(
            httpx.Client(base_url=bench.url, headers={"Origin": bench.url}, trust_env=False, timeout=30)
        )

    def enter(self) -> None:
        """Follow the link."""
        self.http.cookies.set(cookie_name(self.bench.world), self.bench.world.run_token)

    def state(self, **query: str) -> dict[str, Any]:
        """What the page is told."""
        answer = self.http.get("/ui/state", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def stack(self) -> dict[str, Any]:
        """The one stack."""
        (found,) = self.state()["stacks"]
        return dict(found)

    def act(self, name: str, **fields: str | int) -> httpx.Response:
        """Press a button."""
        return self.http.post(f"/ui/{name}", data={key: str(value) for key, value in fields.items()})


@pytest.fixture
def visitor(bench: Bench) -> Visitor:
    """Somebody who has the cookie."""
    made = Visitor(bench)
    made.enter()
    return made

"""Every recorded case, in memory: the real server and client, real HTTP to a scripted service, waits in no time.

One theme or case: `pytest packages/mergestorm-mcp/tests/test_recorded_vectors.py -n0 -k "review-pr"`. The same cases run
over stdio in real time through `vectors/run.py`.
"""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.anyio
async def test_the_server_does_what_was_recorded(vector_case: Any, play_case: Any) -> None:
    assert await play_case(vector_case.raw) == []

"""The SDK's own client against the endpoint, in both eras, and through a bad network."""

from __future__ import annotations

import httpx2
import pytest
from fastmcp import Client

from mcpkit.testing import Faults, HttpClient, connect_http, fault_proxy

pytestmark = pytest.mark.anyio


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_the_sdk_client_lists_and_calls_tools(client: HttpClient) -> None:
    async with Client(client.url) as sdk:
        tools = {tool.name for tool in await sdk.list_tools()}
        assert {"entity_list", "echo"} <= tools
        result = await sdk.call_tool("echo", {"text": "hi"})
        assert result.structured_content == {"text": "hi"}
        failed = await sdk.call_tool("fail", {"how": "tool"}, raise_on_error=False)
        assert failed.is_error


@pytest.mark.parametrize(
    ("upstream", "downstream"),
    [
        (Faults(dribble=1), Faults()),
        (Faults(), Faults(dribble=1)),
        (Faults(latency=0.001, dribble=64), Faults(latency=0.001, dribble=64)),
    ],
)
async def test_bytes_that_dribble_in_make_no_difference(
    client: HttpClient, upstream: Faults, downstream: Faults
) -> None:
    host, port = client.url.removeprefix("http://").removesuffix("/").split(":")
    async with (
        fault_proxy(host, int(port), upstream=upstream, downstream=downstream) as (at, through),
        connect_http(f"http://{at}:{through}/") as slow,
    ):
        assert (await slow.call("entity_list")).structured == {"entities": ["Boat"]}


@pytest.mark.parametrize("faults", [Faults(reset_after=40), Faults(half_close_after=40)])
async def test_a_request_cut_off_midway_does_the_server_no_harm(client: HttpClient, faults: Faults) -> None:
    host, port = client.url.removeprefix("http://").removesuffix("/").split(":")
    async with (
        fault_proxy(host, int(port), upstream=faults) as (at, through),
        connect_http(f"http://{at}:{through}/") as cut,
    ):
        with pytest.raises(httpx2.TransportError):
            await cut.call("entity_list")
    assert (await client.call("entity_list")).ok

"""Requests to an embedding service.

One `ask` sends the bodies one after another and gives the parsed answers, or fails as a whole. What the service can do:

* it may take `timeout_seconds` for one answer, headers, body and name resolution together, however slowly it drips;
* it cannot redirect: where text goes was decided before;
* it cannot send more than the answer can need, nor anything compressed;
* nothing of its answer reaches a message.

A service on this machine is asked directly, whatever the proxy variables say.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from ragit_mcp.embedding.addresses import is_loopback
from ragit_mcp.embedding.remote.retries import RetryPolicy, may_succeed_later
from ragit_mcp.embedding.vectors import invalid_response
from ragit_mcp.errors import EmbeddingError

if TYPE_CHECKING:  # httpx takes a tenth of a second to import; only providers that ask a service need it
    import httpx

__all__ = ["Service", "Sleep"]

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

_USER_AGENT: Final = "ragit"


async def _sleep(seconds: float) -> None:
    import anyio

    await anyio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class _Failure:
    """Why one try failed, and whether another may succeed."""

    error: EmbeddingError
    again: bool
    retry_after: str | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """An embedding service.

    Attributes:
        provider: name for errors.
        url: full address of the method, below a normalised and permitted base URL.
        headers: sent with each request; may hold a key, which appears nowhere else.
        timeout_seconds: longest wait for one answer.
        retries: when to try again.
        sleep: waits between tries.
    """

    provider: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_seconds: float
    retries: RetryPolicy
    sleep: Sleep = _sleep

    def ask(self, requests: Sequence[tuple[object, int]], parse: Callable[[int, Any], T]) -> list[T]:
        """Send requests in order; not to be called on the thread of an event loop.

        Args:
            requests: JSON bodies, each with the largest answer in bytes that is read.
            parse: turns place and JSON of an answer into a result; its `EmbeddingError` ends the whole.

        Raises:
            EmbeddingError: `PROVIDER_UNREACHABLE`, `TIMEOUT`, `RESPONSE_INVALID`, or what `parse` raises.
        """
        import anyio

        return anyio.run(self._ask, requests, parse)

    async def _ask(self, requests: Sequence[tuple[object, int]], parse: Callable[[int, Any], T]) -> list[T]:
        results: list[T] = []
        async with self._client() as client:
            for place, (body, max_bytes) in enumerate(requests):
                data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
                results.append(
                    parse(place, _decoded(self.provider, await self._answer(client, data, max_bytes)))
                )
        return results

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        import httpx

        # Loading the certificates of authorities takes longer than a local request; http has no use for them.
        verify: ssl.SSLContext | bool = self.url.startswith("https:") or ssl.SSLContext(
            ssl.PROTOCOL_TLS_CLIENT
        )
        async with httpx.AsyncClient(
            verify=verify,
            trust_env=not is_loopback(self.url),
            follow_redirects=False,
            timeout=None,  # noqa: S113 - one deadline over everything instead, in `_try`
            headers={
                "accept": "application/json",
                "accept-encoding": "identity",
                "content-type": "application/json",
                "user-agent": _USER_AGENT,
                **self.headers,
            },
        ) as client:
            yield client

    async def _answer(self, client: httpx.AsyncClient, data: bytes, max_bytes: int) -> bytes:
        retry = 0
        while True:
            outcome = await self._try(client, data, max_bytes)
            if isinstance(outcome, bytes):
                return outcome
            pause = self.retries.pause(retry, outcome.retry_after) if outcome.again else None
            if pause is None:
                raise outcome.error
            await self.sleep(pause)
            retry += 1

    async def _try(self, client: httpx.AsyncClient, data: bytes, max_bytes: int) -> bytes | _Failure:
        import anyio
        import httpx

        try:
            with anyio.fail_after(self.timeout_seconds):
                async with client.stream("POST", self.url, content=data) as response:
                    if response.status_code != 200:
                        return self._refused(response)
                    return await self._body(response, max_bytes)
        except TimeoutError:
            return _Failure(
                EmbeddingError(
                    "TIMEOUT",
                    "The embedding service did not answer in time.",
                    details={"provider": self.provider, "timeoutMs": round(self.timeout_seconds * 1000)},
                ),
                again=True,
            )
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError):
            # The exception's own text may hold addresses and parts of an answer.
            return _Failure(
                EmbeddingError(
                    "PROVIDER_UNREACHABLE",
                    "The embedding service cannot be reached, or broke off.",
                    details={"provider": self.provider, "reason": "network"},
                ),
                again=True,
            )

    def _refused(self, response: httpx.Response) -> _Failure:
        status = response.status_code
        return _Failure(
            EmbeddingError(
                "PROVIDER_UNREACHABLE",
                f"The embedding service refused the request with HTTP status {status}.",
                details={"provider": self.provider, "reason": "status", "status": status},
                recovery="check the provider's key" if status in {401, 403} else None,
            ),
            again=may_succeed_later(status),
            retry_after=response.headers.get("retry-after"),
        )

    async def _body(self, response: httpx.Response, max_bytes: int) -> bytes:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise invalid_response(self.provider, "encoding")
        parts = bytearray()
        async for part in response.aiter_raw():
            parts += part
            if len(parts) > max_bytes:
                raise invalid_response(self.provider, "size")
        return bytes(parts)


def _decoded(provider: str, data: bytes) -> Any:
    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise invalid_response(provider, "json") from None

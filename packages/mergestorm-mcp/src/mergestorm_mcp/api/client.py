"""Calls the service: connections, deadlines, the key, and what counts as an answer.

Rules of the contract, section 1.1, and of issue 5: a request has one deadline for everything, 30 s unless told
otherwise; any HTTP status is an answer except 401; nothing is retried but a read on a kept connection that turns out
to be closed, once. Redirects are answers, never followed, so a key stays with the host it is for. Loopback is reached
directly whatever the proxy settings say. No cookie is kept. Replies are bounded, also where they were compressed against
the request. JSON that Python reads but JSON does not allow (NaN, 1e999, lone surrogates), or that is nested deeper or
counts further than the next program can follow, never gets further than this module.

The key is masked in whatever a service echoes back.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import httpx

from mergestorm_mcp.api.network import CheckedClient, CheckedNetwork, Resolver, resolve
from mergestorm_mcp.clock import Clock
from mergestorm_mcp.config import Access, is_loopback
from mergestorm_mcp.errors import CommandError, ConnectionFailed, RequestTimeout

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "MAX_REPLY_BYTES", "Api", "Connections", "Reply", "parse_retry_after"]

DEFAULT_TIMEOUT_SECONDS: Final = 30.0

MAX_REPLY_BYTES: Final = 16 * 1024 * 1024
"""Most of a reply that is read; a stack of hundreds of layers has less than one."""

_MAX_DEPTH: Final = 64
"""Deepest nesting of a reply that is read as JSON; the service's own has less than ten levels."""

_MAX_DELAY: Final = 10 * 365 * 86_400.0  # a delay beyond it is a mistake of the service
_MAX_INTEGER: Final = (
    2**64
)  # room for any id; a larger number fits neither a float nor another program's integers
_READS: Final = frozenset({"GET", "HEAD"})
_CONNECTING: Final = "connect_tcp.started"
_HIDDEN: Final = "[key hidden]"
_WRITE_ADVICE: Final = (
    "The service may have acted on it all the same: read the state before sending it again."
)

JsonObject = Mapping[str, Any]


class Reply(NamedTuple):
    """One answer of the service.

    Attributes:
        status: HTTP status, never 401.
        body: JSON value, or the text as it came where it is not JSON.
        retry_after: seconds the service asks to wait, from header or body, whichever is longer; None if unsaid.
    """

    status: int
    body: Any
    retry_after: float | None

    @property
    def ok(self) -> bool:
        """Whether the status is 200."""
        return self.status == 200

    def member(self, name: str) -> Any:
        """A member of the body if that is an object, else None."""
        return self.body.get(name) if isinstance(self.body, dict) else None

    def text(self, name: str) -> str | None:
        """A non-blank string member of the body, else None."""
        value = self.member(name)
        return value if isinstance(value, str) and value.strip() else None


class Connections:
    """The pools of open connections, shared by all calls of a process.

    One event loop; made on first use. Loopback has a pool of its own that knows no proxy.

    Args:
        transport: what carries requests instead of the network; for tests.
        resolver: finds the addresses of a service's name; the system's unless told.
    """

    def __init__(
        self, transport: httpx.AsyncBaseTransport | None = None, resolver: Resolver = resolve
    ) -> None:
        self._transport = transport
        self._network = CheckedNetwork(resolver)
        self._pools: dict[bool, httpx.AsyncClient] = {}

    def pool(self, base: str) -> httpx.AsyncClient:
        """The pool for an address.

        Raises:
            CommandError: the environment's proxy or certificate settings cannot be used.
        """
        direct = is_loopback(base)
        if direct not in self._pools:
            try:
                self._pools[direct] = CheckedClient(
                    self._network,
                    transport=self._transport,
                    trust_env=not direct,
                    follow_redirects=False,
                    # A jar knows no ports: what one service of loopback sets would be sent to every other.
                    cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
                    limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
                )
            except (ValueError, TypeError, OSError, ImportError, httpx.InvalidURL):
                raise CommandError(
                    "The proxy or certificate settings of the environment cannot be used: check HTTP_PROXY, "
                    "HTTPS_PROXY, ALL_PROXY, NO_PROXY and SSL_CERT_FILE, then call again."
                ) from None
        return self._pools[direct]

    async def aclose(self) -> None:
        """Close every connection; further calls open new ones."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Api:
    """The service as one account sees it.

    Args:
        connections: the pools to use.
        base: checked address of the service.
        key: API key; None for the two calls of the device login.
        clock: deadlines, and the present for dates in Retry-After.
        access: where base and key came from, for tools that say so.
    """

    def __init__(
        self, connections: Connections, base: str, key: str | None, clock: Clock, access: Access | None = None
    ) -> None:
        self._connections = connections
        self._key = key
        self.base = base
        self.clock = clock
        self.access = access

    def __repr__(self) -> str:
        return f"Api({self.base!r})"

    async def get(
        self,
        path: str,
        query: Mapping[str, str | int] | None = None,
        *,
        seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> Reply:
        """Read something; see `request`."""
        return await self.request("GET", path, query=query, seconds=seconds)

    async def post(self, path: str, body: JsonObject, *, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Reply:
        """Write something; see `request`."""
        return await self.request("POST", path, body=body, seconds=seconds)

    async def patch(self, path: str, body: JsonObject, *, seconds: float = DEFAULT_TIMEOUT_SECONDS) -> Reply:
        """Change something; see `request`."""
        return await self.request("PATCH", path, body=body, seconds=seconds)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: JsonObject | None = None,
        seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> Reply:
        """Make one call and take any answer but 401.

        Args:
            method: HTTP method.
            path: encoded path, from `paths.resource`.
            query: query parameters.
            body: sent as JSON.
            seconds: for the whole call, connecting and reading included.

        Raises:
            RequestTimeout: no complete answer in time.
            ConnectionFailed: no answer at all, or half of one.
            CommandError: `auth_invalid` for 401; without a code for unusable proxy settings or a reply beyond
                `MAX_REPLY_BYTES`.
        """
        reading = method in _READS
        advice = "" if reading else _WRITE_ADVICE
        pool = self._connections.pool(self.base)
        try:
            with self.clock.fail_after(seconds):
                status, headers, data = await self._exchange(pool, method, path, query, body, seconds)
        except (TimeoutError, httpx.TimeoutException):
            raise RequestTimeout(seconds, advice) from None
        except httpx.ProxyError:
            raise ConnectionFailed(
                "The proxy refused to connect to Mergestorm: check HTTPS_PROXY and NO_PROXY. " + advice
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            if isinstance(error, httpx.ConnectError) and not reading:
                advice = "Nothing was sent."  # a request is written only once there is a connection
            # httpx says it in words only; the words are OpenSSL's own name of the case.
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                hint = "its certificate is not trusted here; check the address and SSL_CERT_FILE."
            else:
                hint = "check the network and the address."
            raise ConnectionFailed(
                f"No answer from {self.base} ({type(error).__name__}): {hint} {advice}".rstrip()
            ) from None
        if status == 401:
            raise CommandError(
                "Mergestorm rejected the API key. Run `mg login`, or set MERGESTORM_API_KEY to a valid key.",
                code="auth_invalid",
            )
        value = self._understood(data.decode("utf-8", "replace"))
        delay = _longest(parse_retry_after(headers.get("retry-after"), self.clock.now()), _body_delay(value))
        return Reply(status, value, delay)

    async def _exchange(
        self,
        pool: httpx.AsyncClient,
        method: str,
        path: str,
        query: Mapping[str, str | int] | None,
        body: JsonObject | None,
        seconds: float,
    ) -> tuple[int, httpx.Headers, bytes]:
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        content = None
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(
                "utf-8", "replace"
            )
        connected = False

        async def watch(event: str, _info: Any) -> None:
            nonlocal connected
            connected = connected or event.endswith(_CONNECTING)

        def made(left: float) -> httpx.Request:
            return pool.build_request(
                method,
                self.base + path,
                params=None if query is None else {name: str(value) for name, value in query.items()},
                content=content,
                headers=headers,
                timeout=max(0.001, left),
                extensions={"trace": watch},
            )

        began = self.clock.monotonic()
        try:
            response = await pool.send(made(seconds), stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
            # A kept connection may have been closed by the service a moment ago. The request may have arrived all the
            # same, so this is for reads only; a connection just opened gets no second chance.
            if connected or method not in _READS:
                raise
            response = await pool.send(made(seconds - (self.clock.monotonic() - began)), stream=True)
        try:
            data = await _read(response)
        finally:
            await response.aclose()
        return response.status_code, response.headers, data

    def _understood(self, text: str) -> Any:
        """A reply's JSON, or its text where it is none, without the key in it."""
        value = _json_or_text(self._masked(text))
        # Escapes can hide a key from the first look, and can bring lone surrogates, which fail at the next encoder.
        if "\\u" in text:
            value = json.loads(self._masked(json.dumps(value, ensure_ascii=False)).encode("utf-8", "replace"))
        return value

    def _masked(self, text: str) -> str:
        return text.replace(self._key, _HIDDEN) if self._key else text


async def _read(response: httpx.Response) -> bytes:
    """A reply's content.

    Raises:
        CommandError: it is too large.
        httpx.DecodingError: it is compressed in a way that nobody asked for, or badly.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in {"", "identity"}:
        return await _bounded(response.aiter_bytes())
    if coding not in {"gzip", "x-gzip", "deflate"}:
        raise httpx.DecodingError("the reply's encoding was not asked for")
    packed = await _bounded(response.aiter_raw())
    if not packed:
        return packed
    # httpx unpacks whatever it is given, also what was packed several times: some hundred bytes become gigabytes.
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        data = unpacker.decompress(packed, MAX_REPLY_BYTES + 1)
    except zlib.error:
        raise httpx.DecodingError("the reply cannot be unpacked") from None
    if len(data) > MAX_REPLY_BYTES:
        raise _too_large()
    if not unpacker.eof:
        raise httpx.DecodingError("the reply ends too early")
    return data


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > MAX_REPLY_BYTES:
            raise _too_large()
    return bytes(data)


def _too_large() -> CommandError:
    return CommandError(
        f"Mergestorm's reply is larger than {MAX_REPLY_BYTES // 2**20} MiB and was not read; "
        "check that the address is Mergestorm's."
    )


def parse_retry_after(value: object, now: float) -> float | None:
    """Seconds to wait from a Retry-After header or a `retry_after_seconds` member.

    Args:
        value: a number, or text with a number or an HTTP date.
        now: the present, seconds since the epoch.

    Returns:
        At least 0; None where the value says nothing usable.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _delay(value)
    if not isinstance(value, str) or not value.strip() or len(value) > 100:
        return None
    try:
        return _delay(float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        # Up to a whole second: the header has no fractions, and a moment too early is refused again.
        return _delay(
            max(0.0, float(math.ceil(moment.timestamp() - datetime.fromtimestamp(now, UTC).timestamp())))
        )
    except (OverflowError, ValueError):
        return None


def _delay(seconds: float) -> float | None:
    if not 0 <= seconds <= _MAX_DELAY:  # compared before it is converted; not a number is never within
        return None
    return int(seconds) if float(seconds).is_integer() else seconds


def _body_delay(value: Any) -> float | None:
    told = value.get("retry_after_seconds") if isinstance(value, dict) else None
    if isinstance(told, str):
        try:
            told = float(told) if len(told) <= 100 else None
        except ValueError:
            return None
    return parse_retry_after(told, 0.0)


def _longest(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_countable)
    except (ValueError, RecursionError):
        return text
    return text if _too_deep(value) else value


def _too_deep(value: Any) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True


def _countable(text: str) -> int:
    value = int(text)
    if abs(value) > _MAX_INTEGER:
        raise ValueError("beyond what other programs count to")
    return value


def _no_constant(_name: str) -> float:
    raise ValueError("not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("beyond a double")
    return value

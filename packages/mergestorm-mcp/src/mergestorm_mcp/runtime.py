"""What every tool and command works with: an environment, a clock and connections."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from mergestorm_mcp.clock import Clock, SystemClock
from mergestorm_mcp.config import Environment, resolve_access

if TYPE_CHECKING:
    from mergestorm_mcp.api.client import Api, Connections

__all__ = ["Runtime"]


class Runtime:
    """The outside world, passed in.

    Args:
        environment: variables, home and working directory; the process's own unless told.
        clock: time; the computer's unless told.
        connections: pools; made on first use unless told.
        jitter: randomness for back-off.
    """

    def __init__(
        self,
        *,
        environment: Environment | None = None,
        clock: Clock | None = None,
        connections: Connections | None = None,
        jitter: random.Random | None = None,
    ) -> None:
        self.environment = environment or Environment.current()
        self.clock: Clock = clock or SystemClock()
        self.jitter = jitter or random.Random()  # noqa: S311 - spreads retries, protects nothing
        self._connections = connections

    @property
    def connections(self) -> Connections:
        """The pools of this process."""
        if self._connections is None:
            from mergestorm_mcp.api.client import Connections  # httpx is not needed before the first call

            self._connections = Connections()
        return self._connections

    def api(self) -> Api:
        """The service for one call, with the configuration as it is now: a login takes effect without a restart.

        Raises:
            CommandError: `missing_api_key` or `usage`; see `mergestorm_mcp.config.resolve_access`.
        """
        from mergestorm_mcp.api.client import Api

        access = resolve_access(self.environment)
        return Api(self.connections, access.base, access.key, self.clock, access)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._connections is not None:
            await self._connections.aclose()

"""Rate limits that several processes and machines share, in Redis or Valkey; without it, each has its own."""

from __future__ import annotations

import importlib.util
import logging
import math
import time
from typing import TYPE_CHECKING

from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.protocol.limits import LocalPurse

if TYPE_CHECKING:
    from limits import RateLimitItem

    from openzim_mcp.config import BucketSettings, Operation, RateLimitSettings

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 0.5
_REST_SECONDS = 5.0
_NAME = "openzim-mcp"


def check_installed() -> None:
    """Refuse to start without the packages that it takes."""
    missing = [name for name in ("limits", "redis") if importlib.util.find_spec(name) is None]
    if missing:
        raise OpenZimMcpConfigurationError(
            f"redis_url (OPENZIM_MCP_REDIS_URL) needs {' and '.join(missing)}: pip install 'openzim-mcp[cluster]'"
        )


class SharedPurse:
    """Windows in a store that all replicas use; while the store is away, buckets of this process alone."""

    def __init__(self, settings: RateLimitSettings, url: str) -> None:
        from limits.aio.storage import RedisStorage  # noqa: PLC0415  an extra: few need it
        from limits.aio.strategies import SlidingWindowCounterRateLimiter  # noqa: PLC0415

        self._store = RedisStorage(
            f"async+{url.replace('valkey', 'redis', 1)}",
            implementation="redispy",
            key_prefix=_NAME,
            socket_timeout=_PATIENCE_SECONDS,
            socket_connect_timeout=_PATIENCE_SECONDS,
        )
        self._windows = SlidingWindowCounterRateLimiter(self._store)
        self._all = _window(settings)
        self._of = {operation: _window(limit) for operation, limit in settings.per_operation_limits.items()}
        self._local = LocalPurse(settings)
        self._away_until = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether the store is there."""
        return not self._away_until

    async def take(self, client: str, operation: Operation, cost: int) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait."""
        if time.monotonic() < self._away_until:
            return await self._local.take(client, operation, cost)
        try:
            wait = await self._take(client, operation, cost)
        except self._store.base_exceptions as error:
            if self.is_shared:
                log.warning("the store of the rate limits is away, each process counts alone: %s", type(error).__name__)
            self._away_until = time.monotonic() + _REST_SECONDS
            return await self._local.take(client, operation, cost)
        if not self.is_shared:
            log.info("the store of the rate limits is back")
            self._away_until = 0.0
        return wait

    async def _take(self, client: str, operation: Operation, cost: int) -> float:
        for window, name in [*((w, o) for o, w in self._of.items() if o == operation), (self._all, "all")]:
            if not await self._windows.hit(window, name, client, cost=min(cost, window.amount)):
                until = (await self._windows.get_window_stats(window, name, client)).reset_time
                return max(0.01, until - time.time())
        return 0.0


def _window(limit: BucketSettings) -> RateLimitItem:
    """Return the window that lets as much through as a bucket does: its burst in the time that fills it again."""
    from limits import RateLimitItemPerSecond  # noqa: PLC0415

    seconds = max(1, math.ceil(limit.burst_size / limit.requests_per_second))
    return RateLimitItemPerSecond(max(1, round(limit.requests_per_second * seconds)), seconds, namespace=_NAME)

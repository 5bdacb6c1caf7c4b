"""Rate limits: the cost of each operation, and the token buckets of each client that pay for it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache

from openzim_mcp.errors import OpenZimMcpRateLimitError
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.config import Operation, RateLimitSettings

COSTS: dict[Operation, int] = {
    "search": 2,
    "find_entry_by_title": 2,
    "suggestions": 1,
    "get_entry": 1,
    "get_zim_entries": 1,
    "get_binary_entry": 3,
    "get_structure": 1,
    "browse_namespace": 1,
    "get_metadata": 1,
    "get_related_articles": 2,
    "get_inbound_links": 2,
    "default": 1,
}
"""Tokens per call, by operation; for `get_zim_entries` per entry."""
_MAX_CLIENTS = 10_000


class BucketStore(Protocol):
    """The token buckets of all clients."""

    @property
    def is_shared(self) -> bool:
        """Whether several processes take tokens from the same buckets."""
        ...

    async def take(self, client: str, operation: Operation, cost: float) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait.

        A negative cost is given back.
        """
        ...


class _ClientBuckets:
    """The buckets of one client: one for all calls, and one for each operation with a limit of its own."""

    def __init__(self, settings: RateLimitSettings, clock: Callable[[], float]) -> None:
        self._all_calls = TokenBucket(settings.requests_per_second, settings.burst_size, clock)
        self._by_operation = {
            operation: TokenBucket(limit.requests_per_second, limit.burst_size, clock)
            for operation, limit in settings.per_operation_limits.items()
        }

    def take(self, operation: Operation, cost: float) -> float:
        buckets = [self._all_calls, *filter(None, [self._by_operation.get(operation)])]
        wait = max(bucket.wait(cost) for bucket in buckets)
        for bucket in buckets if not wait else []:
            bucket.take(cost)
        return wait


class MemoryBuckets:
    """Token buckets in the memory of this process; the least recently used client's are dropped, as they are full."""

    is_shared = False

    def __init__(self, settings: RateLimitSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._clients: LRUCache[str, _ClientBuckets] = LRUCache(_MAX_CLIENTS)

    async def take(self, client: str, operation: Operation, cost: float) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait."""
        buckets = self._clients.get(client)
        if buckets is None:
            buckets = self._clients[client] = _ClientBuckets(self._settings, self._clock)
        return buckets.take(operation, cost)


class RateLimiter:
    """Charges clients for their calls."""

    def __init__(self, settings: RateLimitSettings, buckets: BucketStore | None = None) -> None:
        self._enabled = settings.enabled
        self._burst_size = settings.burst_size
        self._buckets = buckets or MemoryBuckets(settings)

    @property
    def is_shared(self) -> bool:
        """Whether the limits are shared with other processes."""
        return self._buckets.is_shared

    async def charge(self, client: str, operation: Operation, times: int = 1) -> None:
        """Take the cost of an operation, or raise an error that says when to retry."""
        wait = await self._buckets.take(client, operation, COSTS[operation] * times) if self._enabled else 0
        if wait:
            raise OpenZimMcpRateLimitError(
                f"Rate limit exceeded ({operation}).",
                hint="Wait retry_after seconds, then try again; request more in one call.",
                retry_after=math.ceil(wait * 100) / 100,
            )

    async def refund_half(self, client: str, operation: Operation, times: int = 1) -> None:
        """Give back half of the cost of an operation; a bucket never paid more than it holds."""
        cost = min(COSTS[operation] * times, self._burst_size)
        if self._enabled and cost:
            await self._buckets.take(client, operation, -cost / 2)

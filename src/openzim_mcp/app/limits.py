"""Rate limits: what each operation costs, and the buckets that pay for it, which every client has of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache

from openzim_mcp.errors import OpenZimMcpRateLimitError
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
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
    "default": 1,
}
"""Tokens of one call, by operation; `get_zim_entries` is for each entry."""
_CLIENTS = 10_000


class BucketStore(Protocol):
    """Pays for calls."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes draw from it too."""
        ...

    async def take(self, client: str, operation: Operation, cost: int) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait."""
        ...


class _Buckets:
    """The buckets of one client: one for all calls, and one more for each operation with a limit of its own."""

    def __init__(self, settings: RateLimitSettings) -> None:
        self._all = TokenBucket(settings.requests_per_second, settings.burst_size)
        self._of = {
            operation: TokenBucket(limit.requests_per_second, limit.burst_size)
            for operation, limit in settings.per_operation_limits.items()
        }

    def take(self, operation: Operation, cost: int) -> float:
        buckets = [self._all, *filter(None, [self._of.get(operation)])]
        wait = max(bucket.wait(cost) for bucket in buckets)
        for bucket in buckets if not wait else []:
            bucket.take(cost)
        return wait


class MemoryBuckets:
    """Buckets in the memory of this process; those of clients that have not been seen for long are full, and go."""

    is_shared = False

    def __init__(self, settings: RateLimitSettings) -> None:
        self._settings = settings
        self._buckets: LRUCache[str, _Buckets] = LRUCache(_CLIENTS)

    async def take(self, client: str, operation: Operation, cost: int) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait."""
        buckets = self._buckets.get(client)
        if buckets is None:
            buckets = self._buckets[client] = _Buckets(self._settings)
        return buckets.take(operation, cost)


class RateLimiter:
    """Charges clients for what they ask."""

    def __init__(self, settings: RateLimitSettings, buckets: BucketStore | None = None) -> None:
        self._enabled = settings.enabled
        self._buckets = buckets or MemoryBuckets(settings)

    @property
    def is_shared(self) -> bool:
        """Whether clients are charged by several processes together."""
        return self._buckets.is_shared

    async def charge(self, client: str, operation: Operation, times: int = 1) -> None:
        """Take the cost of an operation, or raise an error that says when to come back."""
        wait = await self._buckets.take(client, operation, COSTS[operation] * times) if self._enabled else 0
        if wait:
            raise OpenZimMcpRateLimitError(
                f"Too many calls: {operation} would exceed the rate limit.",
                hint="Wait retry_after seconds, then ask again; ask for more in one call.",
                retry_after=math.ceil(wait * 100) / 100,
            )

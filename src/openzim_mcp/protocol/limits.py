"""Rate limits: what each operation costs, and the buckets that pay for it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openzim_mcp.bucket import TokenBucket
from openzim_mcp.errors import OpenZimMcpRateLimitError

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


class RateLimiter:
    """One bucket for all calls, and one more for each operation that has a limit of its own."""

    def __init__(self, settings: RateLimitSettings) -> None:
        self._enabled = settings.enabled
        self._all = TokenBucket(settings.requests_per_second, settings.burst_size)
        self._of = {
            operation: TokenBucket(limit.requests_per_second, limit.burst_size)
            for operation, limit in settings.per_operation_limits.items()
        }

    def charge(self, operation: Operation, times: int = 1) -> None:
        """Take the cost of an operation, or raise an error that says when to come back."""
        if not self._enabled:
            return
        cost = COSTS[operation] * times
        buckets = [self._all, *filter(None, [self._of.get(operation)])]
        wait = max(bucket.wait(cost) for bucket in buckets)
        if wait:
            raise OpenZimMcpRateLimitError(
                f"Too many calls: {operation} would exceed the rate limit.",
                hint="Wait retry_after seconds, then ask again; ask for more in one call.",
                retry_after=math.ceil(wait * 100) / 100,
            )
        for bucket in buckets:
            bucket.take(cost)

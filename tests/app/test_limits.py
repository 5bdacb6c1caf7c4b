from __future__ import annotations

import anyio
import pytest

from openzim_mcp.app.limits import MemoryBuckets, RateLimiter
from openzim_mcp.config import BucketSettings, Operation, RateLimitSettings
from openzim_mcp.errors import OpenZimMcpRateLimitError


def count_charges(limiter: RateLimiter, operation: Operation, times: int, client: str = "") -> int:
    """Return how many of the calls were allowed."""
    allowed = 0
    for _ in range(times):
        try:
            anyio.run(limiter.charge, client, operation)
        except OpenZimMcpRateLimitError:
            continue
        allowed += 1
    return allowed


def test_all_operations_share_one_bucket() -> None:
    limiter = RateLimiter(RateLimitSettings(requests_per_second=0.01, burst_size=5))

    assert count_charges(limiter, "get_metadata", 3) == 3
    assert count_charges(limiter, "browse_namespace", 3) == 2


def test_operation_can_have_its_own_limit() -> None:
    limits: dict[Operation, BucketSettings] = {
        "browse_namespace": BucketSettings(requests_per_second=0.01, burst_size=1)
    }
    limiter = RateLimiter(RateLimitSettings(requests_per_second=0.01, burst_size=10, per_operation_limits=limits))

    assert count_charges(limiter, "browse_namespace", 5) == 1
    assert count_charges(limiter, "get_metadata", 10) == 9


def test_error_says_when_to_retry() -> None:
    settings = RateLimitSettings(requests_per_second=2, burst_size=1)
    limiter = RateLimiter(settings, MemoryBuckets(settings, clock=lambda: 0.0))
    anyio.run(limiter.charge, "", "default")

    with pytest.raises(OpenZimMcpRateLimitError) as caught:
        anyio.run(limiter.charge, "", "default")

    assert caught.value.details["retry_after"] == 0.5


def test_limiter_can_be_disabled() -> None:
    assert count_charges(RateLimiter(RateLimitSettings(enabled=False, burst_size=1)), "default", 100) == 100


def test_each_client_has_its_own_buckets() -> None:
    limiter = RateLimiter(RateLimitSettings(requests_per_second=0.01, burst_size=3))

    assert count_charges(limiter, "default", 5, "192.0.2.1") == 3
    assert count_charges(limiter, "default", 5, "192.0.2.2") == 3

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from openzim_mcp.app.limits import MemoryBuckets, RateLimiter
from openzim_mcp.config import BucketSettings, Operation, RateLimitSettings
from openzim_mcp.errors import OpenZimMcpRateLimitError
from support.stdio_server import StdioServer


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


def test_half_of_a_cost_is_given_back() -> None:
    settings = RateLimitSettings(requests_per_second=0.01, burst_size=4)
    limiter = RateLimiter(settings, MemoryBuckets(settings, clock=lambda: 0.0))
    anyio.run(limiter.charge, "", "search", 50)

    anyio.run(limiter.refund_half, "", "search", 50)

    assert count_charges(limiter, "default", 5) == 2


def test_bucket_never_holds_more_than_its_size() -> None:
    limiter = RateLimiter(RateLimitSettings(requests_per_second=0.01, burst_size=3))

    anyio.run(limiter.refund_half, "", "search")

    assert count_charges(limiter, "default", 5) == 3


def test_call_that_fails_for_what_it_asks_costs_half(isles_zim: Path) -> None:
    limits = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01", "RATE_LIMIT__BURST_SIZE": "4"}
    with StdioServer("--mode", "advanced", isles_zim, **limits) as server:
        operations = [server.call("zim_get", entry_path="Nowhere at all").get("operation") for _ in range(8)]

    assert operations == ["entry_not_found"] * 7 + ["rate_limited"]


def test_limiter_can_be_disabled() -> None:
    assert count_charges(RateLimiter(RateLimitSettings(enabled=False, burst_size=1)), "default", 100) == 100


def test_each_client_has_its_own_buckets() -> None:
    limiter = RateLimiter(RateLimitSettings(requests_per_second=0.01, burst_size=3))

    assert count_charges(limiter, "default", 5, "192.0.2.1") == 3
    assert count_charges(limiter, "default", 5, "192.0.2.2") == 3


def test_expensive_call_leaves_no_debt() -> None:
    settings = RateLimitSettings(per_operation_limits={"search": BucketSettings(requests_per_second=5, burst_size=5)})
    limiter = RateLimiter(settings, MemoryBuckets(settings, clock=lambda: 0.0))
    anyio.run(limiter.charge, "", "search", 1000)

    with pytest.raises(OpenZimMcpRateLimitError) as caught:
        anyio.run(limiter.charge, "", "get_zim_entries", 1000)
    assert caught.value.details["retry_after"] == 2
    with pytest.raises(OpenZimMcpRateLimitError) as caught:
        anyio.run(limiter.charge, "", "get_entry")
    assert caught.value.details["retry_after"] == 0.1


def test_stdio_client_is_not_limited_by_default(
    open_server: Callable[..., StdioServer], town_zim: Path, isles_zim: Path
) -> None:
    server = open_server(town_zim, isles_zim, RATE_LIMIT__ENABLED="")

    for _ in range(30):
        assert server.call("zim_search", query="Ravenport", cross_file=True).get("status") != "error"


@pytest.mark.parametrize(("archives", "answered"), [(1, 4), (10, 4), (11, 2)])
def test_query_costs_one_token_per_ten_archives(
    open_server: Callable[..., StdioServer], town_zim: Path, tmp_path: Path, archives: int, answered: int
) -> None:
    for number in range(archives):
        shutil.copy(town_zim, tmp_path / f"copy{number}.zim")
    limits = {"ENABLED": "true", "BURST_SIZE": "4", "REQUESTS_PER_SECOND": "0.01"}
    server = open_server(tmp_path, **{f"RATE_LIMIT__{name}": value for name, value in limits.items()})

    replies = [server.request("tools/call", {"name": "zim_query", "arguments": {"query": "help"}}) for _ in range(5)]

    assert sum(not reply.get("isError") for reply in replies) == answered


def test_query_that_costs_more_than_a_full_bucket_is_answered(
    open_server: Callable[..., StdioServer], town_zim: Path, tmp_path: Path
) -> None:
    for number in range(31):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    limits = {"ENABLED": "true", "BURST_SIZE": "3", "REQUESTS_PER_SECOND": "0.01"}
    server = open_server(tmp_path, **{f"RATE_LIMIT__{name}": value for name, value in limits.items()})

    results = [
        server.wait_for_response(server.start_call("zim_query", query=f"where is Ravenport {n}"))["result"]
        for n in range(2)
    ]

    assert [result.get("isError", False) for result in results] == [False, True]
    assert results[1]["structuredContent"]["operation"] == "rate_limited"

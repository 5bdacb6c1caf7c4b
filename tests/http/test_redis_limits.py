from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from redis.asyncio import Redis

from openzim_mcp.app.limits import MemoryBuckets
from openzim_mcp.config import Operation, RateLimitSettings
from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.http import redis_limits
from openzim_mcp.http.redis_limits import RedisBuckets
from support.http_server import HttpServer, McpClient
from support.redis_server import PASSWORD, RedisServer

pytestmark = pytest.mark.anyio

# A token takes 100 seconds, so that the buckets are not refilled while a test runs.
RATE, CAPACITY = 0.01, 10
LIMITS: dict[str, Any] = {"requests_per_second": RATE, "burst_size": CAPACITY}


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def fragile_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis server that the test may stop or suspend."""
    with RedisServer(tmp_path) as server:
        yield server


@contextlib.asynccontextmanager
async def open_buckets(url: str, **limits: Any) -> AsyncIterator[RedisBuckets]:
    async with contextlib.aclosing(RedisBuckets(RateLimitSettings(**(limits or LIMITS)), url)) as buckets:
        yield buckets


async def take_each(buckets: RedisBuckets, client: str, *costs: int) -> list[bool]:
    """Which of these costs could be taken, one after the other."""
    return [await buckets.take(client, "default", cost) == 0 for cost in costs]


async def test_processes_share_one_bucket(redis: RedisServer) -> None:
    async with open_buckets(redis.url) as first, open_buckets(redis.url) as second:
        assert await take_each(first, "shared", 3, 3) == [True, True]
        assert await take_each(second, "shared", 3, 3) == [True, False]
        assert await take_each(first, "shared", 3) == [False]
        assert first.is_shared


async def test_each_client_has_its_own_bucket(redis: RedisServer) -> None:
    async with open_buckets(redis.url) as buckets:
        assert await take_each(buckets, "192.0.2.1", 10, 1) == [True, False]
        assert await take_each(buckets, "2001:db8::/64", 10, 1) == [True, False]
        assert await take_each(buckets, "{}", 10, 1) == [True, False]


async def test_operation_with_its_own_limit_pays_twice(redis: RedisServer) -> None:
    limits = LIMITS | {"per_operation_limits": {"search": {"requests_per_second": 0.02, "burst_size": 4}}}
    async with open_buckets(redis.url, **limits) as first, open_buckets(redis.url, **limits) as second:
        assert await first.take("operation", "search", 2) == 0
        assert await second.take("operation", "search", 2) == 0
        assert 50 < await first.take("operation", "search", 2) <= 100
        assert await first.take("operation", "get_entry", 6) == 0
        assert await second.take("operation", "get_entry", 1) > 0


async def test_refused_call_costs_nothing(redis: RedisServer) -> None:
    limits = LIMITS | {"per_operation_limits": {"search": {"requests_per_second": RATE, "burst_size": 4}}}
    async with open_buckets(redis.url, **limits) as buckets:
        assert await buckets.take("refused", "default", 9) == 0
        for _ in range(5):
            assert 0 < await buckets.take("refused", "search", 2) <= 100
        assert await buckets.take("refused", "search", 1) == 0


async def test_call_is_accepted_after_the_wait(redis: RedisServer) -> None:
    async with open_buckets(redis.url, requests_per_second=2, burst_size=10) as buckets:
        start = time.monotonic()
        assert await take_each(buckets, "wait", 10) == [True]
        wait = await buckets.take("wait", "default", 4)
        assert 2 - (time.monotonic() - start) <= wait <= 2

        await anyio.sleep(wait)
        assert await take_each(buckets, "wait", 4) == [True]


@pytest.mark.parametrize("cost", [1, 5, 10, 11, 1000])
async def test_wait_is_at_most_a_full_refill(redis: RedisServer, cost: int) -> None:
    async with open_buckets(redis.url) as buckets:
        start = time.monotonic()
        assert await take_each(buckets, f"cost-{cost}", 10) == [True]
        wait = await buckets.take(f"cost-{cost}", "default", cost)

    seconds = min(cost, CAPACITY) / RATE
    assert seconds - (time.monotonic() - start) <= wait <= seconds


async def test_full_bucket_pays_any_cost_without_debt(redis: RedisServer) -> None:
    async with open_buckets(redis.url) as buckets:
        assert await take_each(buckets, "full", 2000) == [True]
        assert 0 < await buckets.take("full", "default", 1) <= 1 / RATE
        assert await take_each(buckets, "not-full", 1, 2000) == [True, False]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_buckets_in_redis_equal_those_in_memory(redis: RedisServer) -> None:
    operation_limit = {"requests_per_second": 0.02, "burst_size": 6}
    settings = RateLimitSettings(
        requests_per_second=0.05, burst_size=20, per_operation_limits={"search": operation_limit}
    )
    clock = Clock()
    in_memory = MemoryBuckets(settings, clock)
    client = Redis.from_url(redis.url)
    async with contextlib.aclosing(RedisBuckets(settings, redis.url)) as in_redis, contextlib.aclosing(client):
        for number in range(60):
            operation: Operation = "search" if number % 3 else "default"
            cost = 2 if number % 3 else 1 + number % 25
            start = time.monotonic()
            expected = await in_memory.take("equal", operation, cost)
            wait = await in_redis.take("equal", operation, cost)
            assert (wait == 0) == (expected == 0)
            assert wait == pytest.approx(expected, abs=20)

            seconds = 150 if number % 2 else expected
            clock.now += seconds + time.monotonic() - start
            async for key in client.scan_iter("openzim-mcp:{equal}*"):
                await client.hincrbyfloat(key, "at", -seconds)


@pytest.mark.parametrize("scheme", ["redis", "valkey", "unix"])
async def test_every_url_scheme_is_supported(redis: RedisServer, scheme: str) -> None:
    urls = {
        "redis": redis.url,
        "valkey": redis.url.replace("redis://", "valkey://"),
        "unix": f"unix://{redis.socket}?password={PASSWORD}",
    }
    async with open_buckets(urls[scheme]) as buckets, open_buckets(redis.url) as other_buckets:
        assert await take_each(buckets, f"scheme-{scheme}", 10) == [True]
        assert await take_each(other_buckets, f"scheme-{scheme}", 1) == [False]
        assert buckets.is_shared


async def test_limits_are_per_process_while_redis_is_down(
    fragile_redis: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 0)
    async with open_buckets(fragile_redis.url) as first, open_buckets(fragile_redis.url) as second:
        assert await take_each(first, "client", 10) == [True]
        assert await take_each(second, "client", 1) == [False]
        fragile_redis.stop()
        assert await take_each(first, "client", 6, 6) == [True, False]
        assert await take_each(second, "client", 6, 6) == [True, False]
        assert await take_each(first, "client", 4, 1) == [True, False]
        assert not first.is_shared

        fragile_redis.start()
        assert await take_each(first, "client", 6) == [True]
        assert await take_each(second, "client", 6) == [False]
        assert first.is_shared
        assert second.is_shared

    lines = [record.getMessage() for record in caplog.records if record.name == redis_limits.__name__]
    assert len([line for line in lines if "using per-process rate limits" in line]) == 2, lines
    assert len([line for line in lines if "available again" in line]) == 2
    assert PASSWORD not in caplog.text


async def test_one_call_waits_for_a_redis_that_hangs(
    fragile_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_limits, "_TIMEOUT_SECONDS", 2)
    monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 1000)
    async with open_buckets(fragile_redis.url) as buckets:
        await buckets.take("client", "default", 1)
        fragile_redis.suspend()
        try:
            durations = []
            for _ in range(20):
                start = time.monotonic()
                await buckets.take("client", "default", 1)
                durations.append(time.monotonic() - start)
        finally:
            fragile_redis.resume()

    assert [duration >= 2 for duration in durations] == [True] + 19 * [False]


async def test_one_of_many_calls_retries_a_redis_that_hangs(
    fragile_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_limits, "_TIMEOUT_SECONDS", 2)
    monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 0)
    durations: list[float] = []

    async def call() -> None:
        start = time.monotonic()
        await buckets.take("client", "default", 1)
        durations.append(time.monotonic() - start)

    async with open_buckets(fragile_redis.url) as buckets:
        fragile_redis.suspend()
        try:
            await buckets.take("client", "default", 1)
            monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 1000)
            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call)
        finally:
            fragile_redis.resume()

    assert sum(duration >= 2 for duration in durations) == 1


async def test_wrong_password_is_not_logged(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    async with open_buckets(redis.url.replace(PASSWORD, "not-the-password")) as buckets:
        assert await take_each(buckets, "password", 10, 1) == [True, False]

    assert not buckets.is_shared
    assert "AuthenticationError" in caplog.text
    assert "not-the-password" not in caplog.text


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:port", f"{PASSWORD}/x@127.0.0.1:6379", "127.0.0.1:6379/0?socket_timeout=x", "h/0?colour=red"],
)
async def test_invalid_url_is_a_configuration_error(address: str) -> None:
    with pytest.raises(OpenZimMcpConfigurationError) as caught:
        redis_limits.check_redis_url(f"redis://:{PASSWORD}{'@' if '@' not in address else ''}{address}")

    assert "OPENZIM_MCP_REDIS_URL" in caught.value.message
    assert PASSWORD not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_valid_urls_are_accepted() -> None:
    for url in ("redis://h", "rediss://:p@h:6380/2", "valkeys://u:p@h", "redis://valkey:6379", "unix:///run/x.sock"):
        redis_limits.check_redis_url(url)


async def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(OpenZimMcpConfigurationError, match=r"needs redis; .*: pip install '\.\[cluster\]'"):
        redis_limits.check_redis_url("redis://h")


async def test_server_works_without_redis(fragile_redis: RedisServer, town_zim: Path) -> None:
    fragile_redis.stop()
    settings = {"REDIS_URL": fragile_redis.url, "RATE_LIMIT__ENABLED": "true", "LOGGING__LEVEL": "DEBUG"}
    with HttpServer((town_zim,), settings) as server:
        with McpClient(server.url) as client:
            assert not client.call("zim_query", query="Ravenport").get("isError")
        assert server.stop() == 0

    assert server.log.count("Redis unavailable") == 1
    assert PASSWORD not in server.log

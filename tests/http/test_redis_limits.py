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

from openzim_mcp.app.limits import MemoryBuckets
from openzim_mcp.config import RateLimitSettings
from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.http import redis_limits
from openzim_mcp.http.redis_limits import RedisBuckets
from support.http_server import HttpServer, McpClient
from support.redis_server import PASSWORD, RedisServer

pytestmark = pytest.mark.anyio

SLOW: dict[str, Any] = {"requests_per_second": 0.5, "burst_size": 10}
"""So slow that nothing comes back while a test runs."""
WINDOW = 20


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as store:
        yield store


@contextlib.asynccontextmanager
async def purse(url: str, **settings: Any) -> AsyncIterator[RedisBuckets]:
    made = RedisBuckets(RateLimitSettings(**(settings or SLOW)), url)
    async with contextlib.aclosing(made):
        yield made


async def taken(of: RedisBuckets | MemoryBuckets, client: str, *costs: int) -> list[bool]:
    """Which of these costs could be taken."""
    return [await of.take(client, "default", cost) == 0 for cost in costs]


async def test_processes_draw_from_one_bucket(running: RedisServer) -> None:
    async with purse(running.url) as here, purse(running.url) as there:
        assert await taken(here, "one", 3, 3) == [True, True]
        assert await taken(there, "one", 3, 3) == [True, False]
        assert await taken(here, "one", 3) == [False]
        assert here.is_shared


async def test_a_client_does_not_pay_for_another(running: RedisServer) -> None:
    async with purse(running.url) as here:
        assert await taken(here, "two", 10, 1) == [True, False]
        assert await taken(here, "2001:db8::/64", 10, 1) == [True, False]
        assert await taken(here, "{}", 10, 1) == [True, False]


async def test_an_operation_with_a_limit_of_its_own_pays_twice(running: RedisServer) -> None:
    limits = SLOW | {"per_operation_limits": {"search": {"requests_per_second": 0.1, "burst_size": 4}}}
    async with purse(running.url, **limits) as here, purse(running.url, **limits) as there:
        assert await here.take("three", "search", 2) == 0
        assert await there.take("three", "search", 2) == 0
        assert await here.take("three", "search", 2) == pytest.approx(20, abs=1)
        assert await here.take("three", "get_entry", 6) == 0
        assert await there.take("three", "get_entry", 1) > 0


async def test_a_call_that_is_refused_costs_nothing(running: RedisServer) -> None:
    limits = SLOW | {"per_operation_limits": {"search": {"requests_per_second": 0.5, "burst_size": 4}}}
    async with purse(running.url, **limits) as here:
        assert await here.take("four", "default", 9) == 0
        for _ in range(5):
            assert await here.take("four", "search", 2) == pytest.approx(2, abs=0.5)
        assert await here.take("four", "search", 1) == 0


async def test_the_wait_is_right(running: RedisServer) -> None:
    async with purse(running.url, requests_per_second=20, burst_size=10) as here:
        assert await taken(here, "five", 10) == [True]
        wait = await here.take("five", "default", 4)
        assert 0 < wait <= 0.2

        await anyio.sleep(wait)
        assert await taken(here, "five", 4) == [True]


@pytest.mark.parametrize("cost", [1, 5, 10, 11, 1000])
async def test_no_wait_is_negative_or_longer_than_filling_the_bucket_takes(running: RedisServer, cost: int) -> None:
    async with purse(running.url) as here:
        assert await taken(here, f"six-{cost}", 10) == [True]
        wait = await here.take(f"six-{cost}", "default", cost)

    assert min(cost, 10) / 0.5 - 1 <= wait <= WINDOW


async def test_more_than_the_bucket_holds_can_be_taken_from_a_full_one(running: RedisServer) -> None:
    async with purse(running.url) as here:
        assert await taken(here, "seven", 25) == [True]
        assert await taken(here, "eight", 1, 25) == [True, False]


async def test_shared_buckets_are_like_those_of_one_process(running: RedisServer) -> None:
    limits: dict[str, Any] = {
        "requests_per_second": 40,
        "burst_size": 20,
        "per_operation_limits": {"search": {"requests_per_second": 15, "burst_size": 6}},
    }
    alone = MemoryBuckets(RateLimitSettings(**limits))
    async with purse(running.url, **limits) as here:
        for number in range(30):
            operation, cost = ("search", 2) if number % 3 else ("default", 1 + number % 25)
            waits = [await of.take("nine", operation, cost) for of in (alone, here)]  # type: ignore[arg-type]
            assert waits[1] == pytest.approx(waits[0], abs=0.1)
            await anyio.sleep(0.1 if number % 2 else waits[0])


@pytest.mark.parametrize("scheme", ["redis", "valkey", "unix"])
async def test_every_kind_of_address_leads_to_the_store(running: RedisServer, scheme: str) -> None:
    urls = {
        "redis": running.url,
        "valkey": running.url.replace("redis://", "valkey://"),
        "unix": f"unix://{running.socket}?password={PASSWORD}",
    }
    async with purse(urls[scheme]) as here, purse(running.url) as there:
        assert await taken(here, f"ten-{scheme}", 10) == [True]
        assert await taken(there, f"ten-{scheme}", 1) == [False]
        assert here.is_shared


async def test_without_the_store_each_process_counts_alone_until_it_is_back(
    own: RedisServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 0.3)
    async with purse(own.url) as here, purse(own.url) as there:
        assert await taken(here, "one", 10) == [True]
        assert await taken(there, "one", 1) == [False]
        own.stop()
        assert await taken(here, "one", 6, 6) == [True, False]
        assert await taken(there, "one", 6, 6) == [True, False]
        await anyio.sleep(0.35)
        assert await taken(here, "one", 4, 1) == [True, False]
        assert not here.is_shared

        own.start()
        await anyio.sleep(0.35)
        assert await taken(here, "one", 6) == [True]
        assert await taken(there, "one", 6) == [False]
        assert here.is_shared
        assert there.is_shared

    told = [record.getMessage() for record in caplog.records if record.name == redis_limits.__name__]
    away = [line for line in told if "using per-process rate limits" in line]
    assert len(away) == 2, told
    assert len([line for line in told if "available again" in line]) == 2
    assert PASSWORD not in caplog.text


async def test_a_store_that_hangs_delays_few_calls_and_none_for_long(own: RedisServer) -> None:
    async with purse(own.url) as here:
        await here.take("one", "default", 1)
        own.suspend()
        try:
            seconds = []
            for _ in range(20):
                start = time.monotonic()
                await here.take("one", "default", 1)
                seconds.append(time.monotonic() - start)
        finally:
            own.resume()

    assert max(seconds) < 0.9
    assert sum(took > 0.1 for took in seconds) == 1


async def test_one_call_looks_for_a_store_that_hangs_and_the_others_do_not_wait(
    own: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_limits, "_RETRY_SECONDS", 0.6)
    async with purse(own.url) as here:
        own.suspend()
        try:
            await here.take("one", "default", 1)
            await anyio.sleep(0.65)
            seconds: list[float] = []

            async def call() -> None:
                start = time.monotonic()
                await here.take("one", "default", 1)
                seconds.append(time.monotonic() - start)

            async with anyio.create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(call)
        finally:
            own.resume()

    assert sum(took > 0.1 for took in seconds) == 1


async def test_a_wrong_password_is_told_by_its_kind_only(
    running: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with purse(running.url.replace(PASSWORD, "not-the-password")) as here:
        assert await taken(here, "eleven", 10, 1) == [True, False]

    assert not here.is_shared
    assert "AuthenticationError" in caplog.text
    assert "not-the-password" not in caplog.text


@pytest.mark.parametrize(
    "rest", ["127.0.0.1:port", f"{PASSWORD}/x@127.0.0.1:6379", "127.0.0.1:6379/0?socket_timeout=x", "h/0?colour=red"]
)
async def test_an_address_that_is_none_ends_the_start_and_is_not_shown(rest: str) -> None:
    with pytest.raises(OpenZimMcpConfigurationError) as told:
        redis_limits.check_redis_url(f"redis://:{PASSWORD}{'@' if '@' not in rest else ''}{rest}")

    assert "OPENZIM_MCP_REDIS_URL" in told.value.message
    assert PASSWORD not in str(told.value)
    assert told.value.__suppress_context__


async def test_addresses_that_can_be_meant_are_accepted() -> None:
    for url in ("redis://h", "rediss://:p@h:6380/2", "valkeys://u:p@h", "redis://valkey:6379", "unix:///run/x.sock"):
        redis_limits.check_redis_url(url)


async def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(OpenZimMcpConfigurationError, match=r"needs redis: pip install 'openzim-mcp\[cluster\]'"):
        redis_limits.check_redis_url("redis://h")


async def test_a_server_starts_and_answers_without_its_store(own: RedisServer, town_zim: Path) -> None:
    own.stop()
    settings = {"REDIS_URL": own.url, "RATE_LIMIT__ENABLED": "true", "LOGGING__LEVEL": "DEBUG"}
    with HttpServer((town_zim,), settings) as server:
        with McpClient(server.url) as client:
            assert not client.call("zim_query", query="Ravenport").get("isError")
        assert server.stop() == 0

    assert server.log.count("Redis unavailable") == 1
    assert PASSWORD not in server.log

"""Rate limits that several processes and machines share, in Redis or Valkey; without it, each has its own."""

from __future__ import annotations

import importlib.util
import logging
import time
from typing import TYPE_CHECKING

import anyio

from openzim_mcp.app.limits import MemoryBuckets
from openzim_mcp.errors import OpenZimMcpConfigurationError

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from openzim_mcp.config import Operation, RateLimitSettings

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 0.5
_REST_SECONDS = 5.0
_SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
_NAME = "redis_url (OPENZIM_MCP_REDIS_URL)"

_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local cost = tonumber(ARGV[1])
local wait, buckets = 0, {}
for i, key in ipairs(KEYS) do
  local rate, capacity = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local kept = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = capacity
  if kept[1] then
    tokens = math.min(capacity, kept[1] + math.max(0, now - kept[2]) * rate)
  end
  wait = math.max(wait, (math.min(cost, capacity) - tokens) / rate)
  buckets[i] = {tokens - cost, math.ceil((capacity - tokens + cost) / rate * 1000)}
end
for i, key in ipairs(wait == 0 and KEYS or {}) do
  redis.call('HSET', key, 'tokens', buckets[i][1], 'at', now)
  redis.call('PEXPIRE', key, buckets[i][2])
end
return tostring(wait)
"""
"""What `bucket.TokenBucket` does, for all buckets of a call at once; one that is full again need not be kept."""


def check_redis_url(url: str) -> None:
    """Refuse to start without the package that it takes, or with an address that is none."""
    if importlib.util.find_spec("redis") is None:
        raise OpenZimMcpConfigurationError(f"{_NAME} needs redis: pip install 'openzim-mcp[cluster]'")
    try:
        _store(url).connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        # What was wrong with it is not said: it may be the password.
        raise OpenZimMcpConfigurationError(
            f"{_NAME}: this is no address of a store, as in redis://:PASSWORD@HOST:6379/0; "
            "write other signs than letters and digits of a password as %XX"
        ) from None


class RedisBuckets:
    """Buckets in a store that all replicas use; while the store is away, those of this process alone."""

    def __init__(self, settings: RateLimitSettings, url: str) -> None:
        from redis import RedisError  # noqa: PLC0415  an extra: few need it

        self._store = _store(url)
        self._script = self._store.register_script(_TAKE)
        self._failures = (RedisError, OSError)
        self._settings = settings
        self._local = MemoryBuckets(settings)
        self._away_until = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether the store is there."""
        return not self._away_until

    async def aclose(self) -> None:
        """Leave the store."""
        await self._store.aclose()

    async def take(self, client: str, operation: Operation, cost: int) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait."""
        if time.monotonic() < self._away_until:
            return await self._local.take(client, operation, cost)
        if not self.is_shared:
            self._away_until = time.monotonic() + _REST_SECONDS  # this call looks for the store, others need not wait
        try:
            with anyio.fail_after(_PATIENCE_SECONDS):
                wait = await self._take(client, operation, cost)
        except self._failures as error:
            if self.is_shared:
                log.warning("the store of the rate limits is away, each process counts alone: %s", type(error).__name__)
            self._away_until = time.monotonic() + _REST_SECONDS
            return await self._local.take(client, operation, cost)
        if not self.is_shared:
            log.info("the store of the rate limits is back")
            self._away_until = 0.0
        return wait

    async def _take(self, client: str, operation: Operation, cost: int) -> float:
        name = f"openzim-mcp:{{{client}}}"
        own = self._settings.per_operation_limits.get(operation)
        buckets = {name: self._settings} | ({f"{name}:{operation}": own} if own else {})
        limits = [n for bucket in buckets.values() for n in (bucket.requests_per_second, bucket.burst_size)]
        return float(await self._script(list(buckets), [cost, *limits]))


def _store(url: str) -> Redis:
    from redis.asyncio import Redis  # noqa: PLC0415
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    scheme, rest = url.split("://", 1)
    return Redis.from_url(f"{_SCHEMES.get(scheme, scheme)}://{rest}", retry=Retry(NoBackoff(), 1))

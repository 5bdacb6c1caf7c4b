"""Rate limits shared by several processes and machines through Redis or Valkey; per process while it is unavailable."""

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

_TIMEOUT_SECONDS = 0.5
_RETRY_SECONDS = 5.0
_SCHEMES = {"valkey": "redis", "valkeys": "rediss"}
_SETTING = "redis_url (OPENZIM_MCP_REDIS_URL)"

# The same as `token_bucket.TokenBucket`, for all buckets of a call at once. A bucket that is full again expires.
_TAKE_SCRIPT = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local cost = tonumber(ARGV[1])
local wait, buckets = 0, {}
for i, key in ipairs(KEYS) do
  local rate, capacity = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local saved = redis.call('HMGET', key, 'tokens', 'at')
  local tokens = capacity
  if saved[1] then
    tokens = math.min(capacity, saved[1] + math.max(0, now - saved[2]) * rate)
  end
  local payable = math.min(cost, capacity)
  wait = math.max(wait, (payable - tokens) / rate)
  buckets[i] = {tokens - payable, math.ceil((capacity - tokens + payable) / rate * 1000)}
end
for i, key in ipairs(wait == 0 and KEYS or {}) do
  redis.call('HSET', key, 'tokens', buckets[i][1], 'at', now)
  redis.call('PEXPIRE', key, buckets[i][2])
end
return tostring(wait)
"""


def check_redis_url(url: str) -> None:
    """Raise an error if the package `redis` is missing, or if the URL is not valid."""
    if importlib.util.find_spec("redis") is None:
        raise OpenZimMcpConfigurationError(
            f"{_SETTING} needs redis; in a clone of the repository: pip install '.[cluster]'"
        )
    try:
        _make_client(url).connection_pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):
        # The error would show a part of the URL, which may be the password.
        raise OpenZimMcpConfigurationError(
            f"{_SETTING}: not a valid URL, as in redis://:PASSWORD@HOST:6379/0; "
            "in a password, write characters other than letters and digits as %XX"
        ) from None


class RedisBuckets:
    """Token buckets in Redis, shared by all replicas; while Redis is unavailable, those of this process."""

    def __init__(self, settings: RateLimitSettings, url: str) -> None:
        from redis import RedisError  # noqa: PLC0415  an extra: few need it

        self._redis = _make_client(url)
        self._take_script = self._redis.register_script(_TAKE_SCRIPT)
        self._failures = (RedisError, OSError)
        self._settings = settings
        self._local = MemoryBuckets(settings)
        self._unavailable_until = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether Redis is available."""
        return not self._unavailable_until

    async def aclose(self) -> None:
        """Close the connections to Redis."""
        await self._redis.aclose()

    async def take(self, client: str, operation: Operation, cost: float) -> float:
        """Take the cost of an operation and return 0, or take nothing and return the seconds to wait.

        A negative cost is given back.
        """
        if time.monotonic() < self._unavailable_until:
            return await self._local.take(client, operation, cost)
        if not self.is_shared:
            # This call tries Redis again; concurrent ones do not wait for it.
            self._unavailable_until = time.monotonic() + _RETRY_SECONDS
        try:
            with anyio.fail_after(_TIMEOUT_SECONDS):
                wait = await self._take_shared(client, operation, cost)
        except self._failures as error:
            if self.is_shared:
                log.warning("Redis unavailable (%s): using per-process rate limits", type(error).__name__)
            self._unavailable_until = time.monotonic() + _RETRY_SECONDS
            return await self._local.take(client, operation, cost)
        if not self.is_shared:
            log.info("Redis available again: using shared rate limits")
            self._unavailable_until = 0.0
        return wait

    async def _take_shared(self, client: str, operation: Operation, cost: float) -> float:
        key = f"openzim-mcp:{{{client}}}"
        operation_limit = self._settings.per_operation_limits.get(operation)
        buckets = {key: self._settings} | ({f"{key}:{operation}": operation_limit} if operation_limit else {})
        limits = [number for bucket in buckets.values() for number in (bucket.requests_per_second, bucket.burst_size)]
        return float(await self._take_script(list(buckets), [cost, *limits]))


def _make_client(url: str) -> Redis:
    from redis.asyncio import Redis  # noqa: PLC0415
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    scheme, address = url.split("://", 1)
    return Redis.from_url(f"{_SCHEMES.get(scheme, scheme)}://{address}", retry=Retry(NoBackoff(), 1))

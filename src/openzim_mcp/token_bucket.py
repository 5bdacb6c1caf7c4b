"""Token bucket, for rate limits of calls and restarts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class TokenBucket:
    """Refilled at `rate` tokens per second, up to `capacity`."""

    rate: float
    capacity: float
    clock: Callable[[], float] = time.monotonic
    _tokens: float = field(init=False)
    _filled_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self.capacity
        self._filled_at = self.clock()

    def wait(self, cost: float = 1) -> float:
        """Return the seconds until `cost` can be taken: 0 if now."""
        now = self.clock()
        self._tokens = min(self.capacity, self._tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
        return max(0.0, (self._payable(cost) - self._tokens) / self.rate)

    def take(self, cost: float = 1) -> float:
        """Take `cost` tokens and return 0, or take nothing and return the seconds to wait."""
        wait = self.wait(cost)
        if not wait:
            self._tokens -= self._payable(cost)
        return wait

    def _payable(self, cost: float) -> float:
        # A full bucket pays any cost, and no cost leaves a debt: nobody waits longer than a bucket takes to fill.
        return min(cost, self.capacity)

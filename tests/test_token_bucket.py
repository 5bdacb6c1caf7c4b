from __future__ import annotations

from openzim_mcp.token_bucket import TokenBucket


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_burst_then_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(rate=2, capacity=3, clock=clock)

    assert [bucket.take() for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now = 0.5
    assert [bucket.take(), bucket.take()] == [0, 0.5]


def test_tokens_never_exceed_the_capacity() -> None:
    clock = Clock()
    bucket = TokenBucket(rate=10, capacity=2, clock=clock)

    clock.now = 1000

    assert [bucket.take() for _ in range(3)] == [0, 0, 0.1]


def test_cost_above_the_capacity_empties_a_full_bucket() -> None:
    clock = Clock()
    bucket = TokenBucket(rate=10, capacity=20, clock=clock)

    assert bucket.take(2000) == 0
    assert bucket.take(1) == 0.1
    assert bucket.take(2000) == 2
    clock.now = 2
    assert bucket.take(2000) == 0

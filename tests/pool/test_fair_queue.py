from __future__ import annotations

import itertools

import anyio
import pytest

from openzim_mcp.pool.fair_queue import FairSlots, QueuePath, queued_as

pytestmark = pytest.mark.anyio


async def serve_in_order(paths: list[QueuePath]) -> list[QueuePath]:
    """Queue a call for each path while the only slot is taken; return the order in which they are served."""
    slots = FairSlots(1)
    served: list[QueuePath] = []

    async def run(path: QueuePath) -> None:
        with queued_as(path):
            await slots.acquire()
        served.append(path)
        slots.release()

    await slots.acquire()
    async with anyio.create_task_group() as tasks:
        for path in paths:
            tasks.start_soon(run, path)
        await anyio.wait_all_tasks_blocked()
        slots.release()
    return served


@pytest.mark.parametrize(
    ("busy", "other"),
    [
        (("busy", 1, 1), ("other", 2, 2)),
        (("shared token", 1, 1), ("shared token", 2, 2)),
        (("", 1, 1), ("", 1, 2)),
    ],
    ids=["client", "connection", "request"],
)
async def test_single_call_is_served_second(busy: QueuePath, other: QueuePath) -> None:
    served = await serve_in_order([busy] * 1000 + [other])

    assert served.index(other) == 1
    assert len(served) == 1001


async def test_many_requests_of_a_client_do_not_outnumber_another() -> None:
    many = [("busy", number, number) for number in range(100)]

    served = await serve_in_order([*many, ("other", 0, 0), ("other", 0, 1)])

    assert [number for number, path in enumerate(served) if path[0] == "other"] == [1, 3]


async def test_calls_of_a_request_stay_in_order() -> None:
    slots = FairSlots(1)
    served: list[int] = []

    async def run(number: int) -> None:
        await slots.acquire()
        served.append(number)
        slots.release()

    await slots.acquire()
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(run, number)
        await anyio.wait_all_tasks_blocked()
        slots.release()

    assert served == list(range(20))


async def test_cancelled_calls_leave_no_trace_and_lose_no_slot() -> None:
    slots = FairSlots(2)

    async def run() -> None:
        await slots.acquire()
        slots.release()

    for _ in range(2):
        await slots.acquire()
    async with anyio.create_task_group() as tasks:
        for _, path in zip(range(100), itertools.cycle([("a", 1, 1), ("b", 1, 1)]), strict=False):
            with queued_as(path):
                tasks.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        slots.release()  # passed on to a task that is cancelled before it runs
        tasks.cancel_scope.cancel()

    assert slots._waiting == {}
    slots.release()
    with anyio.fail_after(1):
        for _ in range(2):
            await slots.acquire()

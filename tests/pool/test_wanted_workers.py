from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from openzim_mcp import errors
from openzim_mcp.pool.process import WorkerProcess, start_worker
from openzim_mcp.pool.wanted_workers import WantedWorkers

pytestmark = pytest.mark.anyio


@pytest.fixture
async def worker() -> AsyncIterator[WorkerProcess]:
    process = await start_worker(1024, 20)
    yield process
    await process.stop()


async def test_free_worker_goes_to_the_first_call_that_still_waits(worker: WorkerProcess) -> None:
    wanted = WantedWorkers()
    scopes = [anyio.CancelScope() for _ in range(3)]
    served: list[int] = []

    async def wait(number: int) -> None:
        with scopes[number]:
            await wanted.next_free()
            served.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(3):
            tasks.start_soon(wait, number)
            await anyio.wait_all_tasks_blocked()
        scopes[0].cancel()
        await anyio.wait_all_tasks_blocked()

        assert wanted.give(worker)
        await anyio.wait_all_tasks_blocked()
        assert (served, len(wanted)) == ([1], 1)
        tasks.cancel_scope.cancel()
    assert not wanted.give(worker)


async def test_worker_that_cannot_start_fails_one_call() -> None:
    wanted = WantedWorkers()
    failed: list[str] = []

    async def wait() -> None:
        try:
            await wanted.next_free()
        except errors.WorkerFailed as error:
            failed.append(error.message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        wanted.fail(errors.WorkerFailed("It cannot be started."))
        await anyio.wait_all_tasks_blocked()

        assert (failed, len(wanted)) == (["It cannot be started."], 1)
        tasks.cancel_scope.cancel()
    wanted.fail(errors.WorkerFailed("Nobody waits."))

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from openzim_mcp.calls.archive import ReadMetadata
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool.activity import CallActivity
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from support.archives import archive_file

pytestmark = pytest.mark.anyio


def start(tasks: TaskGroup, wait: Callable[[float], Awaitable[None]]) -> anyio.Event:
    """Start to wait, and return the event that it is over."""
    is_over = anyio.Event()

    async def run() -> None:
        await wait(math.inf)
        is_over.set()

    tasks.start_soon(run)
    return is_over


async def test_quiet_begins_after_the_last_call() -> None:
    activity = CallActivity()
    async with anyio.create_task_group() as tasks:
        with activity.call():
            with activity.call():
                is_quiet = start(tasks, activity.wait_until_quiet)
                await anyio.sleep(0.01)
            await anyio.sleep(0.01)
            assert not is_quiet.is_set()
        with anyio.fail_after(60):
            await is_quiet.wait()


async def test_wait_ends_under_load() -> None:
    activity = CallActivity()

    with activity.call(), anyio.fail_after(60):
        await activity.wait_until_quiet(0.01)


async def test_calls_of_the_pool_are_counted(town_zim: Path) -> None:
    pool = Pool(FactStore(), ResultCache(CacheSettings(enabled=False)), workers=1, deadline=20, memory_mib=1024)
    states: list[bool] = []

    async def is_quiet() -> bool:
        with anyio.move_on_after(0.05) as scope:
            await pool.activity.wait_until_quiet(math.inf)
        return not scope.cancelled_caught

    async with pool.running():
        states.append(await is_quiet())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pool.call, archive_file(town_zim), ReadMetadata())
            await anyio.lowlevel.checkpoint()
            states.append(await is_quiet())

    assert states == [True, False]


async def test_first_call_is_waited_for_until_it_is_done() -> None:
    activity = CallActivity()
    async with anyio.create_task_group() as tasks:
        is_over = start(tasks, activity.wait_for_first_call)
        await anyio.sleep(0.01)
        with activity.call():
            await anyio.sleep(0.01)
            assert not is_over.is_set()
        with anyio.fail_after(60):
            await is_over.wait()

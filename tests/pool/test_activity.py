from __future__ import annotations

import math
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from openzim_mcp.calls.archive import ReadMetadata
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool.activity import CallActivity
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from support.archives import archive_file

pytestmark = pytest.mark.anyio


async def test_quiet_begins_after_the_last_call() -> None:
    activity = CallActivity()
    is_quiet = anyio.Event()

    async def wait() -> None:
        await activity.wait_until_quiet(math.inf)
        is_quiet.set()

    async with anyio.create_task_group() as tasks:
        with activity.call():
            with activity.call():
                tasks.start_soon(wait)
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
    is_done = anyio.Event()

    async def wait() -> None:
        await activity.wait_for_first_call(math.inf)
        is_done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.sleep(0.01)
        with activity.call():
            await anyio.sleep(0.01)
            assert not is_done.is_set()
        with anyio.fail_after(60):
            await is_done.wait()

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from openzim_mcp.app.importance import ImportanceMeasurer
from openzim_mcp.calls.archive import ImportanceResult, MeasureImportance
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool.activity import CallActivity
from openzim_mcp.pool.jobs import JobRunner
from support.archives import archive_file

pytestmark = pytest.mark.anyio


async def test_large_archive_is_measured_once(zims: Path, town_zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = archive_file(zims / "real/wikipedia_en_100_mini_2022-10.zim"), archive_file(town_zim)
    monkeypatch.setattr(MeasureImportance, "min_entries", 1000)
    jobs = JobRunner(FactStore(), CallActivity(), memory_mib=1024)
    measurer = ImportanceMeasurer(jobs)
    async with jobs.running(), anyio.create_task_group() as tasks:
        measurer.request([large])
        tasks.start_soon(measurer.run)
        await anyio.wait_all_tasks_blocked()
        ignored = await jobs.latest(large, MeasureImportance())
        measurer.request([small, large, large])
        with anyio.fail_after(60):
            while not ((run := await jobs.latest(large, MeasureImportance())) and run.result):
                await anyio.sleep(0.01)
        small_run = await jobs.latest(small, MeasureImportance())
        tasks.cancel_scope.cancel()

    assert ignored is None
    assert run.result == ImportanceResult(entries=4066, redirects=3885)
    assert small_run is None

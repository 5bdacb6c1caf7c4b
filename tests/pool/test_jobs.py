from __future__ import annotations

import math
import os
import shutil
import signal
from pathlib import Path

import anyio
import pytest

from openzim_mcp.calls.archive import BuildPassageIndex, ChecksumResult, ReadMetadata, ScanPages, Verify
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool import jobs
from openzim_mcp.pool.activity import CallActivity
from openzim_mcp.pool.jobs import JobRun, JobRunner
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from support.archives import archive_file
from support.stdio_server import child_pids, is_alive

pytestmark = pytest.mark.anyio
_other_pids: set[int] = set()
LARGE = "built/dictionary_pub.zim"
needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found through /proc")


@pytest.fixture(autouse=True)
def ignore_other_processes() -> None:
    """Servers that other tests share may still run."""
    _other_pids.clear()
    _other_pids.update(child_pids(os.getpid(), with_jobs=True))


def worker_pids() -> list[int]:
    return [pid for pid in child_pids(os.getpid(), with_jobs=True) if pid not in _other_pids]


def make_runner(activity: CallActivity | None = None) -> JobRunner:
    return JobRunner(FactStore(), activity or CallActivity(), memory_mib=1024)


async def test_checksum_result_is_kept_for_the_file(zims: Path, town_zim: Path) -> None:
    runner = make_runner()
    valid, damaged = archive_file(town_zim), archive_file(zims / "damaged/bad_checksum.zim")
    async with runner.running():
        assert await runner.latest(valid, Verify()) is None
        for archive in (valid, damaged):
            await runner.run(archive, Verify(), timeout=60)
        results = [await runner.latest(archive, Verify()) for archive in (valid, damaged)]

    assert [run.result for run in results if run] == [ChecksumResult(valid=True), ChecksumResult(valid=False)]


async def test_result_of_another_process_is_taken_unless_forced(town_zim: Path) -> None:
    archive = archive_file(town_zim)
    FactStore().save(archive, "checksum", ChecksumResult(valid=False))
    runner = make_runner()
    async with runner.running():
        assert (await runner.run(archive, Verify(), timeout=60)).result == ChecksumResult(valid=False)
        forced = await runner.run(archive, Verify(), timeout=60, force=True)
        latest = await runner.latest(archive, Verify())

    assert forced.result == ChecksumResult(valid=True)
    assert latest is not None
    assert latest.result == ChecksumResult(valid=True)


async def test_progress_is_reported(zims: Path) -> None:
    runner = make_runner()
    steps: list[tuple[int, int]] = []

    async def progress(done: int, total: int) -> None:
        steps.append((done, total))

    async with runner.running():
        run = await runner.run(archive_file(zims / LARGE), Verify(), timeout=60, progress=progress)

    assert steps
    assert all(done <= total for done, total in steps)
    assert run.done > 0


async def test_run_continues_after_the_timeout(zims: Path) -> None:
    runner = make_runner()
    archive = archive_file(zims / LARGE)
    async with runner.running():
        first = await runner.run(archive, Verify(), timeout=0)
        assert not first.finished.is_set()
        second = await runner.run(archive, Verify(), timeout=60)

    assert second is first
    assert first.result == ChecksumResult(valid=True)


async def test_removed_file_is_not_called_damaged(town_zim: Path, tmp_path: Path) -> None:
    runner = make_runner()
    archive = archive_file(Path(shutil.copy(town_zim, tmp_path)))
    Path(archive.path).unlink()
    async with runner.running():
        run = await runner.run(archive, Verify(), timeout=60)

        assert run.result == ChecksumResult(None, "cannot be read to its end: No such file or directory")
        assert await runner.latest(archive, Verify()) is None


async def test_concurrent_callers_share_one_run(town_zim: Path) -> None:
    runner = make_runner()
    runs: list[JobRun[ChecksumResult]] = []

    async def ask() -> None:
        runs.append(await runner.run(archive_file(town_zim), Verify(), timeout=60))

    async with runner.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)

    assert runs[0] is runs[1]
    assert runs[0].result == ChecksumResult(valid=True)


@needs_proc
async def test_run_ends_with_the_server(zims: Path) -> None:
    runner = make_runner()
    async with runner.running():
        run = await runner.run(archive_file(zims / LARGE), Verify(), timeout=0)

    assert run.finished.is_set()
    assert run.result is None
    assert worker_pids() == []


async def wait_for_process() -> int:
    while not (pids := worker_pids()):
        await anyio.sleep(0.01)
    return pids[0]


@needs_proc
async def test_run_is_cancelled_with_its_last_caller(zims: Path) -> None:
    runner = make_runner()
    archive = archive_file(zims / LARGE)
    async with runner.running():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: runner.run(archive, Verify(), timeout=60))
            pid = await wait_for_process()
            os.kill(pid, signal.SIGSTOP)
            tasks.cancel_scope.cancel()
        with anyio.fail_after(60):
            while is_alive(pid):
                await anyio.sleep(0.01)

        assert (await runner.run(archive, Verify(), timeout=60)).result == ChecksumResult(valid=True)


@needs_proc
async def test_slow_job_neither_delays_calls_nor_quarantines(town_zim: Path, zims: Path) -> None:
    facts = FactStore()
    runner = JobRunner(facts, CallActivity(), memory_mib=1024)
    pool = Pool(facts, ResultCache(CacheSettings(enabled=False)), workers=1, deadline=20, memory_mib=1024)
    slow, other = archive_file(zims / LARGE), archive_file(town_zim)
    async with runner.running(), pool.running():
        await pool.call(other, ReadMetadata())
        workers = set(worker_pids())
        await runner.run(slow, Verify(), timeout=0)
        while not (started := set(worker_pids()) - workers):
            await anyio.sleep(0.01)
        (pid,) = started
        os.kill(pid, signal.SIGSTOP)

        assert os.getpriority(os.PRIO_PROCESS, pid) >= os.getpriority(os.PRIO_PROCESS, 0)
        for archive in (slow, other):
            assert (await pool.call(archive, ReadMetadata())).metadata
        assert facts.incidents(slow) == {}
        os.kill(pid, signal.SIGCONT)


@needs_proc
async def test_background_job_does_not_delay_others(town_zim: Path, zims: Path) -> None:
    runner = make_runner()
    async with runner.running():
        run = await runner.run(archive_file(zims / LARGE), BuildPassageIndex(), timeout=0)
        os.kill(pid := await wait_for_process(), signal.SIGSTOP)

        assert (await runner.run(archive_file(town_zim), Verify(), timeout=60)).result == ChecksumResult(valid=True)
        assert not run.finished.is_set()
        os.kill(pid, signal.SIGCONT)


@needs_proc
async def test_crash_of_a_job_is_an_error_and_does_not_quarantine(zims: Path) -> None:
    runner = make_runner()
    archive = archive_file(zims / LARGE)
    async with runner.running(), anyio.create_task_group() as tasks:
        runs: list[JobRun[ChecksumResult]] = []

        async def ask() -> None:
            runs.append(await runner.run(archive, Verify(), timeout=60))

        tasks.start_soon(ask)
        os.kill(await wait_for_process(), signal.SIGSEGV)

    assert (runs[0].result, runs[0].error) in {
        (None, "it crashed the reader (SIGSEGV)"),
        (None, "The process that reads archives cannot be started."),
    }
    assert runner._facts.incidents(archive) == {}


async def test_job_that_reads_much_pauses_while_a_call_is_in_progress(
    zims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_MAX_PAUSE_SECONDS", math.inf)
    activity = CallActivity()
    runner = make_runner(activity)
    archive = archive_file(zims / LARGE)
    async with runner.running():
        with activity.call():
            run = await runner.run(archive, ScanPages(), timeout=0)
            with anyio.fail_after(60):
                while run.total == archive.size:  # before it reports pages
                    await anyio.sleep(0.01)
            paused_at = run.done
            await anyio.sleep(0.5)
            assert (run.done, run.result) == (paused_at, None)

            assert (await runner.run(archive, Verify(), timeout=60)).result == ChecksumResult(valid=True)
        run = await runner.run(archive, ScanPages(), timeout=60)

    assert run.result is not None
    assert run.result.is_complete


async def test_job_that_reads_much_goes_on_under_load(zims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MAX_PAUSE_SECONDS", 0.01)
    activity = CallActivity()
    runner = make_runner(activity)
    with activity.call():
        async with runner.running():
            run = await runner.run(archive_file(zims / LARGE), ScanPages(), timeout=60)

    assert run.result is not None
    assert run.result.is_complete


async def test_index_that_answers_depend_on_does_not_pause(zims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MAX_PAUSE_SECONDS", math.inf)
    activity = CallActivity()
    runner = make_runner(activity)
    with activity.call():
        async with runner.running():
            run = await runner.run(archive_file(zims / "built/se_coffee.zim"), BuildPassageIndex(), timeout=60)

    assert run.result is not None
    assert run.result.state == "complete"

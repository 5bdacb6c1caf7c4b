"""The pool on real files and real processes: it survives every fault."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from openzim_mcp import errors
from openzim_mcp.calls.archive import Describe, EntryRow, EntryRows, ListEntries, ProbeIndexes, ReadMetadata
from openzim_mcp.calls.reading import ReadText
from openzim_mcp.calls.search import FindPassages, FindTitles, Question, ScoreTitles, SearchText
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.logs import TRACEBACK
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.process import WorkerProcess, start_worker
from openzim_mcp.pool.results import ResultCache
from openzim_mcp.token_bucket import TokenBucket
from openzim_mcp.zimfile import ArchiveFile
from support.archives import archive_file, write_zim
from support.stdio_server import child_pids, is_alive

pytestmark = pytest.mark.anyio
_other_pids: set[int] = set()
if not Path("/proc/self/task").is_dir():
    pytest.skip("worker processes are found through /proc", allow_module_level=True)


@pytest.fixture(autouse=True)
def ignore_other_processes() -> None:
    """Servers that other tests share may still run."""
    _other_pids.clear()
    _other_pids.update(child_pids(os.getpid()))


def worker_pids() -> list[int]:
    return [pid for pid in child_pids(os.getpid()) if pid not in _other_pids]


def make_pool(workers: int = 1, deadline: float = 20, *, cache: bool = False) -> Pool:
    results = ResultCache(CacheSettings(enabled=cache))
    return Pool(FactStore(), results, workers=workers, deadline=deadline, memory_mib=1024)


async def title(pool: Pool, archive: ArchiveFile) -> str:
    return (await pool.call(archive, ReadMetadata())).metadata["Title"]


@pytest.fixture
def valid_archive(town_zim: Path) -> ArchiveFile:
    return archive_file(town_zim, "towns")


@pytest.fixture
def copied_archive(town_zim: Path, tmp_path: Path) -> Path:
    """A copy of the small archive that a test may ruin."""
    return Path(shutil.copy(town_zim, tmp_path / "victim.zim"))


async def meanwhile(call: Callable[[], Awaitable[Any]], act: Callable[[list[int]], None]) -> list[Any]:
    """Start a call on a worker that is stopped, act on the worker while it is in the call, and return what came."""
    results: list[Any] = []
    pids = worker_pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)

    async def run() -> None:
        try:
            results.append(await call())
        except errors.OpenZimMcpError as error:
            results.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await anyio.sleep(0.2)
        act(pids)
    return results


async def test_call_runs_in_another_process_and_is_typed(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        page = await pool.call(valid_archive, ListEntries("C", 0, 1))

    assert page == EntryRows("C", [EntryRow("Alderwick", "Alderwick", "text/html")], 7)


async def test_error_of_a_worker_function_keeps_its_class(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.NamespaceNotFound) as caught:
            await pool.call(valid_archive, ListEntries("Q", 0, 1))

    assert caught.value.details["archive"] == "towns.zim"


async def test_unexpected_exception_is_logged_not_shown(
    valid_archive: ArchiveFile, caplog: pytest.LogCaptureFixture
) -> None:
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.OpenZimMcpArchiveError, match="failed unexpectedly"):
            await pool.call(valid_archive, ListEntries(None, 0, 1))  # type: ignore[arg-type]
        assert await title(pool, valid_archive) == "Test"

    assert "ValidationError" in getattr(caplog.records[0], TRACEBACK)


async def test_call_is_retried_when_its_worker_is_killed(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        results = await meanwhile(
            lambda: title(pool, valid_archive), lambda pids: [os.kill(p, signal.SIGKILL) for p in pids] and None
        )

        assert results == ["Test"]
        assert pool.facts.incidents(valid_archive) == {}


async def test_worker_that_is_killed_while_it_starts_is_replaced() -> None:
    started: list[WorkerProcess] = []

    async def start() -> None:
        started.append(await start_worker(1024, 20))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start)
        while not worker_pids():
            await anyio.sleep(0.001)
        os.kill(worker_pids()[0], signal.SIGKILL)

    assert started[0].is_alive
    await started[0].stop()


async def test_idle_worker_that_is_killed_is_replaced(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        for pid in worker_pids():
            os.kill(pid, signal.SIGKILL)

        assert await title(pool, valid_archive) == "Test"


async def test_call_that_waits_for_a_disk_quarantines_nothing(valid_archive: ArchiveFile, copied_archive: Path) -> None:
    slow = archive_file(copied_archive)
    pool = make_pool(deadline=1)
    async with pool.running():
        await title(pool, slow)
        (error,) = await meanwhile(lambda: title(pool, slow), lambda _: None)

        assert isinstance(error, errors.ArchiveTooSlow)
        assert error.message == "'victim' is on a slow disk: a call waited for it for 1.5 s."
        assert pool.facts.incidents(slow) == {}
        assert await title(pool, slow) == "Test"
        assert await title(pool, valid_archive) == "Test"


async def test_call_whose_disk_wakes_up_after_the_deadline_is_answered(
    valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_computing = WorkerProcess.is_computing
    states = []

    async def wake_up(worker: WorkerProcess) -> bool:
        states.append(await is_computing(worker))
        os.kill(worker._process.pid, signal.SIGCONT)
        return states[-1]

    monkeypatch.setattr(WorkerProcess, "is_computing", wake_up)
    pool = make_pool(deadline=4)
    async with pool.running():
        await title(pool, valid_archive)
        for pid in child_pids(os.getpid()):
            os.kill(pid, signal.SIGSTOP)

        assert await title(pool, valid_archive) == "Test"
    assert states == [False]


async def test_disk_that_hangs_pauses_only_its_archive(valid_archive: ArchiveFile, copied_archive: Path) -> None:
    hanging = archive_file(copied_archive)
    pool = make_pool(deadline=1)
    async with pool.running():
        await title(pool, hanging)
        for _ in range(2):
            await title(pool, valid_archive)  # starts a worker
            await meanwhile(lambda: title(pool, hanging), lambda _: None)

        with pytest.raises(errors.ArchiveTooSlow, match="the last 2 calls waited for its disk in vain"):
            await title(pool, hanging)
        assert await title(pool, valid_archive) == "Test"
        pool.facts.of(hanging.identity).paused_until = 0.0
        assert await title(pool, hanging) == "Test"


async def test_slow_entry_does_not_quarantine_its_archive(
    copied_archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def is_computing(_worker: WorkerProcess) -> bool:
        return True

    monkeypatch.setattr(WorkerProcess, "is_computing", is_computing)
    archive = archive_file(copied_archive)
    slow = ReadText("Alderwick", 1000)
    pool = make_pool(deadline=1)
    async with pool.running():
        await title(pool, archive)
        (error,) = await meanwhile(lambda: pool.call(archive, slow), lambda _: None)

        assert isinstance(error, errors.EntryTooSlow)
        assert error.message == "Entry 'Alderwick' of 'victim' takes too long to read."
        assert (await pool.call(archive, ReadText("Ravenport", 1000))).title == "Ravenport"
        with pytest.raises(errors.EntryTooSlow):
            await pool.call(archive, slow)
        pool.facts.clear_timeouts(archive)
        assert (await pool.call(archive, slow)).title == "Alderwick"


@pytest.mark.parametrize("crash", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
async def test_crash_quarantines_only_its_archive(
    valid_archive: ArchiveFile, copied_archive: Path, crash: signal.Signals
) -> None:
    broken = archive_file(copied_archive)
    pool = make_pool()

    def end(pids: list[int]) -> None:
        for pid in pids:
            os.kill(pid, crash)
            os.kill(pid, signal.SIGCONT)

    async with pool.running():
        await title(pool, broken)
        (error,) = await meanwhile(lambda: title(pool, broken), end)

        assert isinstance(error, errors.ArchiveQuarantined)
        assert f"crashed the reader ({crash.name})" in error.message
        assert str(copied_archive.parent) not in str(error.payload("t"))
        assert await title(pool, valid_archive) == "Test"


async def test_crash_while_the_file_is_replaced_does_not_quarantine(copied_archive: Path) -> None:
    before = archive_file(copied_archive)
    pool = make_pool()

    def replace_and_crash(pids: list[int]) -> None:
        os.utime(copied_archive, (1, 1))
        for pid in pids:
            os.kill(pid, signal.SIGBUS)
            os.kill(pid, signal.SIGCONT)

    async with pool.running():
        await title(pool, before)
        (error,) = await meanwhile(lambda: title(pool, before), replace_and_crash)

        assert isinstance(error, errors.ArchiveChanged)
        assert await title(pool, archive_file(copied_archive)) == "Test"


async def test_damaged_index_quarantines_only_the_index(zims: Path) -> None:
    broken = archive_file(zims / "damaged/index_bytes_segfault_suggest.zim")
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.ArchiveQuarantined, match="Its search index stays quarantined"):
            await pool.call(broken, ProbeIndexes())
        with pytest.raises(errors.ArchiveQuarantined, match="The search index of"):
            await pool.call(broken, ProbeIndexes())

        assert await title(pool, broken) == "SQLite Docs"


async def test_decompression_bomb_is_a_memory_error(zims: Path, valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.OutOfMemory, match="takes more memory than a worker may have"):
            await pool.call(archive_file(zims / "damaged/decompression_bomb.zim"), ReadMetadata())

        assert await title(pool, valid_archive) == "Test"


async def test_call_is_repeated_in_a_new_worker_when_others_took_the_memory(
    zims: Path, valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[WorkerProcess] = []

    async def record(memory_mib: int, deadline: float) -> WorkerProcess:
        started.append(await start_worker(memory_mib, deadline))
        return started[-1]

    monkeypatch.setattr("openzim_mcp.pool.pool.start_worker", record)
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        with pytest.raises(errors.OutOfMemory):
            await pool.call(archive_file(zims / "damaged/decompression_bomb.zim"), ReadMetadata())

    assert len(started) == 2


async def test_concurrent_calls_are_all_answered(valid_archive: ArchiveFile) -> None:
    pool = make_pool(workers=2)
    titles: list[str] = []

    async def one() -> None:
        titles.append(await title(pool, valid_archive))

    async with pool.running():
        async with anyio.create_task_group() as tasks:
            for _ in range(64):
                tasks.start_soon(one)

        assert titles == ["Test"] * 64
        assert len(worker_pids()) == 2


async def test_first_call_waits_for_the_starting_worker(valid_archive: ArchiveFile) -> None:
    pool = make_pool(workers=2)
    async with pool.running():
        await title(pool, valid_archive)

        assert len(worker_pids()) == 1


async def test_call_takes_a_busy_worker_that_is_free_before_another_has_started(
    valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = make_pool(workers=2)
    titles: list[str] = []
    is_starting = anyio.Event()

    async def never_start(_memory_mib: int, _deadline: float) -> WorkerProcess:
        is_starting.set()
        await anyio.sleep_forever()
        raise AssertionError

    async def one() -> None:
        titles.append(await title(pool, valid_archive))

    async with pool.running():
        await one()
        monkeypatch.setattr("openzim_mcp.pool.pool.start_worker", never_start)
        (pid,) = worker_pids()
        os.kill(pid, signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
            await is_starting.wait()
            os.kill(pid, signal.SIGCONT)

        assert titles == ["Test"] * 3


async def test_cancelled_call_that_hangs_ends_its_worker(
    valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openzim_mcp.pool.pool._ABANDONED_SECONDS", 0.2)
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        (pid,) = worker_pids()
        os.kill(pid, signal.SIGSTOP)
        with anyio.move_on_after(0.2) as scope:
            await title(pool, valid_archive)

        assert scope.cancelled_caught
        assert await title(pool, valid_archive) == "Test"
        assert not is_alive(pid)


async def test_cancelled_call_that_finishes_keeps_its_worker(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        pids = worker_pids()
        os.kill(pids[0], signal.SIGSTOP)
        with anyio.move_on_after(0.2) as scope:
            await title(pool, valid_archive)
        os.kill(pids[0], signal.SIGCONT)

        assert scope.cancelled_caught
        assert await title(pool, valid_archive) == "Test"
        assert worker_pids() == pids


async def test_call_each_timeout_starts_no_new_worker(valid_archive: ArchiveFile) -> None:
    archives = [replace(valid_archive, name=f"copy{number}") for number in range(50)]
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        pids = worker_pids()
        outcomes = await pool.call_each(archives, ReadMetadata(), timeout=0)

        assert outcomes.results == {}
        assert set(outcomes.errors) == {archive.name for archive in archives}
        assert await title(pool, valid_archive) == "Test"
        assert worker_pids() == pids


async def test_call_each_returns_results_and_errors_by_name(valid_archive: ArchiveFile) -> None:
    broken = replace(valid_archive, name="broken", problem="truncated: 1 of 2 bytes")
    steps: list[tuple[int, int]] = []

    async def progress(done: int, total: int) -> None:
        steps.append((done, total))

    pool = make_pool()
    async with pool.running():
        outcomes = await pool.call_each([valid_archive, broken], FindTitles("Ravenport", 0, 1), progress=progress)

    assert [hit.title for hit in outcomes.results["towns"].results] == ["Ravenport"]
    assert [type(error) for error in outcomes.errors.values()] == [errors.ArchiveUnusable]
    assert steps == [(1, 2), (2, 2)]


async def test_result_of_a_replaced_file_is_not_kept_for_the_old_one(tmp_path: Path) -> None:
    path, other, aside = tmp_path / "a.zim", tmp_path / "b.zim", tmp_path / "aside.zim"
    write_zim(path, {"Page": "<p>The first.</p>"}, metadata={"Title": "First"})
    write_zim(other, {"Page": "<p>The second.</p>"}, metadata={"Title": "Second"})
    archive = archive_file(path)
    pool = make_pool(cache=True)
    async with pool.running():
        path.rename(aside)
        other.rename(path)
        during = await title(pool, archive)
        with pytest.raises(errors.ArchiveChanged):
            await pool.call(archive, Describe())
        each = await pool.call_each([archive], Describe())
        path.rename(other)
        aside.rename(path)
        after = await title(pool, archive)
        described = await pool.call(archive, Describe())

    assert (during, after) == ("Second", "First")
    assert isinstance(each.errors["a"], errors.ArchiveChanged)
    assert described.title == "First"


async def test_cached_call_of_many_archives_is_answered_from_memory(valid_archive: ArchiveFile) -> None:
    archives = [replace(valid_archive, name=f"copy{n}") for n in range(300)]
    call = ScoreTitles(["Ravenport"], [])
    pool = make_pool(cache=True)
    async with pool.running():
        await pool.call_each(archives, call)
        hits_before = pool.results.hits
        again = await pool.call_each(archives, call)

    assert len(again.results) == 300
    assert pool.results.hits - hits_before == 300


@pytest.mark.parametrize(
    "call",
    [
        SearchText("sqlite", 0, 3, snippet_chars=200, scan_seconds=5.0),
        FindPassages(Question("what is sqlite?"), scan_seconds=5.0),
        ScoreTitles(["SQLite"], []),
    ],
    ids=lambda call: type(call).__name__,
)
async def test_call_runs_without_a_quarantined_index(zims: Path, call: SearchText) -> None:
    broken = archive_file(zims / "damaged/index_bytes_segfault_suggest.zim")
    pool = make_pool()
    async with pool.running():
        pool.facts.quarantine(broken, "index", "it crashed", is_timeout=False)

        assert await pool.call(broken, call)
        with pytest.raises(errors.ArchiveQuarantined):
            await pool.call(broken, FindTitles("sqlite", 0, 1))


async def test_no_process_outlives_the_pool(valid_archive: ArchiveFile) -> None:
    pool = make_pool(workers=2)
    async with pool.running():
        await title(pool, valid_archive)
        pids = worker_pids()
        assert pids

    assert not any(is_alive(pid) for pid in pids)
    assert worker_pids() == []


async def test_restarts_are_bounded(valid_archive: ArchiveFile) -> None:
    pool = make_pool()
    pool._restarts = TokenBucket(rate=4, capacity=2, clock=lambda: 0)
    async with pool.running():
        for _ in range(2):
            assert await title(pool, valid_archive) == "Test"
            for pid in worker_pids():
                os.kill(pid, signal.SIGKILL)
        with anyio.move_on_after(1) as scope:
            await title(pool, valid_archive)

        assert scope.cancelled_caught
        assert worker_pids() == []


async def test_worker_that_cannot_start_is_an_error(
    valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.WorkerFailed, match="cannot be started"):
            await title(pool, valid_archive)


async def test_archive_with_a_problem_reaches_no_worker(valid_archive: ArchiveFile) -> None:
    broken = replace(valid_archive, name="b", problem="truncated: 1 of 2 bytes")
    pool = make_pool()
    async with pool.running():
        with pytest.raises(errors.ArchiveUnusable, match="'b' cannot be opened: truncated: 1 of 2 bytes"):
            await title(pool, broken)


async def test_worker_environment_has_no_secrets(valid_archive: ArchiveFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENZIM_MCP_AUTH_TOKEN", "a-secret-that-stays-here")
    pool = make_pool()
    async with pool.running():
        await title(pool, valid_archive)
        (pid,) = worker_pids()

        assert b"a-secret" not in Path(f"/proc/{pid}/environ").read_bytes()

"""One message for many archives: a worker replies for each, and no archive or client is a burden to the others."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from openzim_mcp import errors
from openzim_mcp.calls.archive import ProbeIndexes, ReadMetadata
from openzim_mcp.calls.search import SearchText
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool.fair_queue import queued_as
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from openzim_mcp.zimfile import ArchiveFile
from support.archives import archive_file
from support.stdio_server import child_pids

pytestmark = pytest.mark.anyio
if not Path("/proc/self/task").is_dir():
    pytest.skip("worker processes are found through /proc", allow_module_level=True)


@pytest.fixture
def other_pids() -> set[int]:
    """Servers that other tests share may still run."""
    return set(child_pids(os.getpid()))


@pytest.fixture
def copies(town_zim: Path, tmp_path: Path) -> list[ArchiveFile]:
    paths = [Path(shutil.copy(town_zim, tmp_path / f"copy{number}.zim")) for number in range(8)]
    return [archive_file(path) for path in paths]


def make_pool(workers: int = 1) -> Pool:
    results = ResultCache(CacheSettings(enabled=False))
    return Pool(FactStore(), results, workers=workers, deadline=20, memory_mib=1024)


def open_copies(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        target = os.readlink(descriptor)
        if "copy" in target:
            yield Path(target).stem


async def test_archive_that_crashes_fails_alone(copies: list[ArchiveFile], zims: Path) -> None:
    broken = archive_file(zims / "damaged/index_bytes_segfault_suggest.zim")
    pool = make_pool()
    async with pool.running():
        outcomes = await pool.call_each([*copies[:3], broken, *copies[3:]], ProbeIndexes())

    assert list(outcomes.results) == [archive.name for archive in copies]
    assert [type(error) for error in outcomes.errors.values()] == [errors.ArchiveQuarantined]
    assert "crashed the reader" in outcomes.errors[broken.name].message
    assert pool.facts.incidents(broken).keys() == {"index"}
    assert all(pool.facts.incidents(archive) == {} for archive in copies)


async def test_archive_with_a_damaged_index_is_asked_without_it(copies: list[ArchiveFile], zims: Path) -> None:
    broken = archive_file(zims / "damaged/zeroed_index_aborts_search.zim")
    call = SearchText("sqlite", 0, 3, snippet_chars=200, scan_seconds=5.0)
    pool = make_pool()
    async with pool.running():
        outcomes = await pool.call_each([broken, *copies], call)
        again = await pool.call_each([broken, *copies], call)

    assert set(outcomes.results) == {broken.name, *(archive.name for archive in copies)}
    assert again.results == outcomes.results
    assert pool.facts.incidents(broken).keys() == {"index"}


async def test_archive_is_open_in_one_worker_only(copies: list[ArchiveFile], other_pids: set[int]) -> None:
    pool = make_pool(workers=2)
    async with pool.running():
        for _ in range(3):
            outcomes = await pool.call_each(copies, ReadMetadata())
        opened = [set(open_copies(pid)) for pid in child_pids(os.getpid()) if pid not in other_pids]

    assert len(outcomes.results) == len(copies)
    assert sorted(name for names in opened for name in names) == [archive.name for archive in copies]


async def test_other_requests_have_their_turn(copies: list[ArchiveFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openzim_mcp.pool.pool._TURN_SECONDS", 0.0)
    steps: list[int] = []
    seen: list[int] = []
    pool = make_pool()

    async def progress(done: int, _total: int) -> None:
        steps.append(done)

    async def ask_once() -> None:
        with queued_as(("another client", None, None)):
            await pool.call(copies[0], ReadMetadata())
        seen.append(len(steps))

    async with pool.running(), anyio.create_task_group() as tasks:
        await pool.call(copies[0], ReadMetadata())  # the worker is there
        tasks.start_soon(pool.call_each, copies, ProbeIndexes())
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(ask_once)
        await pool.call_each(copies, ProbeIndexes(), progress=progress)

    assert steps == list(range(1, len(copies) + 1))
    assert seen[0] < len(copies)


async def test_archives_are_asked_again_when_their_worker_is_killed(
    copies: list[ArchiveFile], other_pids: set[int]
) -> None:
    pool = make_pool()
    results: list[set[str]] = []

    async def ask() -> None:
        results.append(set((await pool.call_each(copies, ReadMetadata())).results))

    async with pool.running():
        await pool.call(copies[0], ReadMetadata())
        (pid,) = [pid for pid in child_pids(os.getpid()) if pid not in other_pids]
        os.kill(pid, signal.SIGSTOP)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.sleep(0.2)
            os.kill(pid, signal.SIGKILL)

    assert results == [{archive.name for archive in copies}]
    assert all(pool.facts.incidents(archive) == {} for archive in copies)


async def test_cancelled_calls_keep_their_worker(copies: list[ArchiveFile], other_pids: set[int]) -> None:
    pool = make_pool()
    async with pool.running():
        await pool.call(copies[0], ReadMetadata())
        pids = [pid for pid in child_pids(os.getpid()) if pid not in other_pids]
        os.kill(pids[0], signal.SIGSTOP)
        outcomes = await pool.call_each(copies, ReadMetadata(), timeout=0.2)
        os.kill(pids[0], signal.SIGCONT)

        assert outcomes.results == {}
        assert set(outcomes.errors) == {archive.name for archive in copies}
        assert len((await pool.call_each(copies, ReadMetadata())).results) == len(copies)
        assert [pid for pid in child_pids(os.getpid()) if pid not in other_pids] == pids


async def test_without_a_worker_all_archives_fail(copies: list[ArchiveFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    pool = make_pool()
    async with pool.running():
        outcomes = await pool.call_each(copies, ReadMetadata())

    assert {type(error) for error in outcomes.errors.values()} == {errors.WorkerFailed}
    assert len(outcomes.errors) == len(copies)

"""Faults, on real files and real processes: the engine outlives them all."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from openzim_mcp import errors
from openzim_mcp.pool.pool import Engine
from openzim_mcp.token_bucket import TokenBucket
from openzim_mcp.worker.archive import browse, health, metadata
from openzim_mcp.zimfile import ArchiveFile
from support.archives import archive_file
from support.stdio_server import child_pids, is_alive

pytestmark = pytest.mark.anyio
if not Path("/proc/self/task").is_dir():
    pytest.skip("worker processes are found through /proc", allow_module_level=True)


def engine(workers: int = 1, deadline: float = 20) -> Engine:
    return Engine(workers=workers, deadline=deadline, memory_mib=1024)


async def title(pool: Engine, archive: ArchiveFile) -> str:
    return str((await pool.call(metadata.describe, archive))["metadata"]["Title"])


@pytest.fixture
def sound(town_zim: Path) -> ArchiveFile:
    return archive_file(town_zim, "towns")


@pytest.fixture
def victim(town_zim: Path, tmp_path: Path) -> Path:
    """A copy of the small archive that a test may ruin."""
    return Path(shutil.copy(town_zim, tmp_path / "victim.zim"))


async def meanwhile(call: Callable[[], Awaitable[Any]], act: Callable[[list[int]], None]) -> list[Any]:
    """Start a call on a worker that is stopped, act on the worker while it is in the call, and return what came."""
    results: list[Any] = []
    pids = child_pids(os.getpid())
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


async def test_a_call_runs_in_another_process_and_returns_plain_data(sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        page = await pool.call(browse.page, sound, namespace="C", offset=0, limit=1)

    assert page == {
        "archive": "towns.zim",
        "namespace": "C",
        "entries": [{"path": "Alderwick", "title": "Alderwick", "mime_type": "text/html"}],
        "total": 7,
        "offset": 0,
        "limit": 1,
        "done": False,
    }


async def test_an_error_of_a_service_comes_through_as_itself(sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.NamespaceNotFound) as caught:
            await pool.call(browse.page, sound, namespace="Q", offset=0, limit=1)

    assert caught.value.details["archive"] == "towns.zim"


async def test_a_failure_that_nobody_foresaw_is_logged_and_not_shown(
    sound: ArchiveFile, caplog: pytest.LogCaptureFixture
) -> None:
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.OpenZimMcpArchiveError, match="failed unexpectedly"):
            await pool.call(browse.page, sound, namespace=None, offset=0, limit=1)
        assert await title(pool, sound) == "Test"

    assert "AttributeError" in caplog.text


async def test_a_worker_killed_in_the_middle_of_a_call_is_replaced_and_the_call_answered(sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        await title(pool, sound)
        results = await meanwhile(
            lambda: title(pool, sound), lambda pids: [os.kill(p, signal.SIGKILL) for p in pids] and None
        )

        assert results == ["Test"]
        assert pool.quarantine.of(sound) == {}


async def test_a_worker_killed_while_idle_is_replaced_unnoticed(sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        await title(pool, sound)
        for pid in child_pids(os.getpid()):
            os.kill(pid, signal.SIGKILL)

        assert await title(pool, sound) == "Test"


async def test_a_call_that_never_returns_ends_at_its_deadline_and_closes_only_its_archive(
    sound: ArchiveFile, victim: Path
) -> None:
    stuck = archive_file(victim)
    pool = engine(deadline=1)
    async with pool.running():
        await title(pool, stuck)
        started = time.monotonic()
        (error,) = await meanwhile(lambda: title(pool, stuck), lambda _: None)
        took = time.monotonic() - started

        assert isinstance(error, errors.ArchiveQuarantined)
        assert error.message == (
            "'victim' could not be read: it took longer than 1 s. It stays closed until the file changes."
        )
        assert 0.9 < took < 5
        assert await title(pool, sound) == "Test"
        with pytest.raises(errors.ArchiveQuarantined, match="Archive 'victim' is closed: earlier, it took longer"):
            await title(pool, stuck)
        os.utime(victim)
        assert await title(pool, archive_file(victim)) == "Test"


@pytest.mark.parametrize("crash", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
async def test_a_crash_closes_the_archive_and_nothing_else(
    sound: ArchiveFile, victim: Path, crash: signal.Signals
) -> None:
    broken = archive_file(victim)
    pool = engine()

    def end(pids: list[int]) -> None:
        for pid in pids:
            os.kill(pid, crash)
            os.kill(pid, signal.SIGCONT)

    async with pool.running():
        await title(pool, broken)
        (error,) = await meanwhile(lambda: title(pool, broken), end)

        assert isinstance(error, errors.ArchiveQuarantined)
        assert f"crashed the reader ({crash.name})" in error.message
        assert str(victim.parent) not in str(error.payload("t"))
        assert await title(pool, sound) == "Test"


async def test_a_crash_while_the_file_was_replaced_is_not_held_against_it(victim: Path) -> None:
    before = archive_file(victim)
    pool = engine()

    def replace_and_crash(pids: list[int]) -> None:
        os.utime(victim, (1, 1))
        for pid in pids:
            os.kill(pid, signal.SIGBUS)
            os.kill(pid, signal.SIGCONT)

    async with pool.running():
        await title(pool, before)
        (error,) = await meanwhile(lambda: title(pool, before), replace_and_crash)

        assert isinstance(error, errors.ArchiveChanged)
        assert await title(pool, archive_file(victim)) == "Test"


async def test_a_damaged_index_closes_only_the_index(zims: Path) -> None:
    broken = archive_file(zims / "damaged/index_bytes_segfault_suggest.zim")
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.ArchiveQuarantined, match="Its search index stays closed"):
            await pool.call(health.try_indexes, broken)
        with pytest.raises(errors.ArchiveQuarantined, match="The search index of"):
            await pool.call(health.try_indexes, broken)

        assert await title(pool, broken) == "SQLite Docs"


async def test_a_decompression_bomb_is_an_error_about_memory(zims: Path, sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.OutOfMemory, match="takes more memory than a worker may have"):
            await pool.call(metadata.describe, archive_file(zims / "damaged/decompression_bomb.zim"))

        assert await title(pool, sound) == "Test"


async def test_sixty_four_calls_at_once_are_all_answered(sound: ArchiveFile) -> None:
    pool = engine(workers=2)
    titles: list[str] = []

    async def one() -> None:
        titles.append(await title(pool, sound))

    async with pool.running():
        async with anyio.create_task_group() as tasks:
            for _ in range(64):
                tasks.start_soon(one)

        assert titles == ["Test"] * 64
        assert len(child_pids(os.getpid())) == 2


async def test_the_first_call_waits_for_the_worker_that_is_starting(sound: ArchiveFile) -> None:
    pool = engine(workers=2)
    async with pool.running():
        await title(pool, sound)

        assert len(child_pids(os.getpid())) == 1


async def test_a_cancelled_call_stops_its_worker(sound: ArchiveFile) -> None:
    pool = engine()
    async with pool.running():
        await title(pool, sound)
        (pid,) = child_pids(os.getpid())
        os.kill(pid, signal.SIGSTOP)
        with anyio.move_on_after(0.2) as scope:
            await title(pool, sound)

        assert scope.cancelled_caught
        assert not is_alive(pid)
        assert await title(pool, sound) == "Test"


async def test_no_process_is_left_behind(sound: ArchiveFile) -> None:
    pool = engine(workers=2)
    async with pool.running():
        await title(pool, sound)
        pids = child_pids(os.getpid())
        assert pids

    assert not any(is_alive(pid) for pid in pids)
    assert child_pids(os.getpid()) == []


async def test_restarts_are_bounded(sound: ArchiveFile) -> None:
    pool = engine()
    pool._restarts = TokenBucket(rate=4, capacity=2, clock=lambda: 0)
    async with pool.running():
        for _ in range(2):
            assert await title(pool, sound) == "Test"
            for pid in child_pids(os.getpid()):
                os.kill(pid, signal.SIGKILL)
        with anyio.move_on_after(1) as scope:
            await title(pool, sound)

        assert scope.cancelled_caught
        assert child_pids(os.getpid()) == []


async def test_a_worker_that_cannot_start_is_an_error_and_not_a_loop(
    sound: ArchiveFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.WorkerFailed, match="cannot be started"):
            await title(pool, sound)


async def test_an_archive_with_a_known_problem_never_reaches_a_worker(sound: ArchiveFile) -> None:
    broken = ArchiveFile("b", sound.path, sound.parts, sound.identity, problem="truncated: 1 of 2 bytes")
    pool = engine()
    async with pool.running():
        with pytest.raises(errors.ArchiveUnusable, match="'b' cannot be opened: truncated: 1 of 2 bytes"):
            await title(pool, broken)


async def test_the_worker_gets_no_secret(sound: ArchiveFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENZIM_MCP_AUTH_TOKEN", "a-secret-that-stays-here")
    pool = engine()
    async with pool.running():
        await title(pool, sound)
        (pid,) = child_pids(os.getpid())

        assert b"a-secret" not in Path(f"/proc/{pid}/environ").read_bytes()

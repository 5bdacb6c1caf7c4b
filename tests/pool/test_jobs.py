from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from openzim_mcp.library.verdicts import Verdicts
from openzim_mcp.pool.jobs import Verification, Verifier
from support.archives import archive_file

pytestmark = pytest.mark.anyio


async def test_the_verdict_is_kept_by_the_state_of_the_file(zims: Path, town_zim: Path) -> None:
    verifier = Verifier()
    sound, damaged = archive_file(town_zim), archive_file(zims / "damaged/bad_checksum.zim")
    async with verifier.running():
        assert await verifier.verdict(sound) is None
        first = await verifier.verify(sound, patience=20)
        await verifier.verify(damaged, patience=20)

        assert await verifier.verify(sound, patience=0) is first
        assert await verifier.verdict(sound) is True
        assert await verifier.verdict(damaged) is False


async def test_a_listener_hears_how_far_it_is(town_zim: Path) -> None:
    verifier = Verifier()
    heard: list[tuple[int, int]] = []

    async def listen(done: int, total: int) -> None:
        heard.append((done, total))

    async with verifier.running():
        await verifier.verify(archive_file(town_zim), patience=20, listener=listen)

    assert heard
    assert all(done <= total for done, total in heard)


async def test_without_patience_it_goes_on_by_itself(zims: Path) -> None:
    verifier = Verifier()
    archive = archive_file(zims / "built/dictionary_pub.zim")
    async with verifier.running():
        run = await verifier.verify(archive, patience=0)
        assert not run.done

        assert (await verifier.verify(archive, patience=20)).valid is True


async def test_a_file_that_goes_away_is_not_called_damaged(town_zim: Path, tmp_path: Path) -> None:
    verifier = Verifier()
    gone = tmp_path / "gone.zim"
    gone.write_bytes(town_zim.read_bytes())
    archive = archive_file(gone)
    gone.unlink()
    async with verifier.running():
        run = await verifier.verify(archive, patience=20)

        assert (run.done, run.valid) == (True, None)
        assert run.problem == "cannot be read to its end: No such file or directory"
        assert await verifier.verdict(archive) is None


async def test_it_ends_with_the_server(zims: Path) -> None:
    verifier = Verifier()
    async with verifier.running():
        run = await verifier.verify(archive_file(zims / "built/dictionary_pub.zim"), patience=0)

    assert run.done
    assert run.valid is None


async def test_of_two_who_ask_at_once_the_second_joins_the_run_of_the_first(town_zim: Path, tmp_path: Path) -> None:
    verifier = Verifier(Verdicts(str(tmp_path / "verdicts.json")))
    runs: list[Verification] = []

    async def ask() -> None:
        runs.append(await verifier.verify(archive_file(town_zim), patience=20))

    async with verifier.running(), anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)

    assert runs[0] is runs[1]
    assert runs[0].valid is True

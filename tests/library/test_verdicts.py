from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp.cli.command import Exit
from openzim_mcp.library.verdicts import Verdicts
from openzim_mcp.pool.jobs import Verifier
from support.archives import archive_file
from support.command_line import run, run_on_terminal
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]


def test_a_verdict_is_recalled_by_another_process_until_the_file_changes(tmp_path: Path, town_zim: Path) -> None:
    place = str(tmp_path / "cache" / "verdicts.json")
    file = Path(shutil.copy(town_zim, tmp_path))
    Verdicts(place).keep(archive_file(file), valid=True)

    assert Verdicts(place).recall(archive_file(file)) is True
    os.utime(file, (1, 1))
    assert Verdicts(place).recall(archive_file(file)) is None


def test_another_archive_in_the_place_of_the_first_has_no_verdict(tmp_path: Path, town_zim: Path) -> None:
    verdicts = Verdicts(str(tmp_path / "verdicts.json"))
    file = Path(shutil.copy(town_zim, tmp_path))
    before = file.stat()
    verdicts.keep(archive_file(file), valid=True)
    with file.open("r+b") as raw:
        raw.seek(8)
        raw.write(bytes(16))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert verdicts.recall(archive_file(file)) is None


def test_a_verdict_is_not_believed_for_ever(tmp_path: Path, town_zim: Path) -> None:
    place = tmp_path / "verdicts.json"
    Verdicts(str(place)).keep(archive_file(town_zim), valid=True)
    rows = json.loads(place.read_text())
    place.write_text(json.dumps({key: row | {"at": time.time() - 31 * 86_400} for key, row in rows.items()}))

    assert Verdicts(str(place)).recall(archive_file(town_zim)) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"at": "x"}}', "\x00"])
def test_a_spoiled_file_of_verdicts_is_as_none(tmp_path: Path, town_zim: Path, content: str) -> None:
    place = tmp_path / "verdicts.json"
    place.write_text(content)
    verdicts = Verdicts(str(place))

    assert verdicts.recall(archive_file(town_zim)) is None
    verdicts.keep(archive_file(town_zim), valid=False)
    assert verdicts.recall(archive_file(town_zim)) is False


def test_where_nothing_can_be_written_nothing_fails(town_zim: Path) -> None:
    verdicts = Verdicts("/proc/no/such/place/verdicts.json")
    verdicts.keep(archive_file(town_zim), valid=True)

    assert verdicts.recall(archive_file(town_zim)) is None


@pytest.mark.anyio
async def test_a_verifier_takes_what_another_one_found_unless_asked_anew(tmp_path: Path, town_zim: Path) -> None:
    verdicts = Verdicts(str(tmp_path / "verdicts.json"))
    verdicts.keep(archive_file(town_zim), valid=False)
    verifier = Verifier(verdicts)
    async with verifier.running():
        assert (await verifier.verify(archive_file(town_zim), patience=20)).valid is False
        assert (await verifier.verify(archive_file(town_zim), patience=20, anew=True)).valid is True
        assert await verifier.verdict(archive_file(town_zim)) is True


def test_the_command_tells_sound_from_damaged(zims: Path, town_zim: Path) -> None:
    sound = run("verify", town_zim)
    damaged = run("verify", town_zim, zims / "damaged/bad_checksum.zim")

    assert sound.code == 0
    assert "| towns_en_all_2026-01 |" in sound.out
    assert "| the checksum matches | answer |" in sound.out
    assert damaged.code == Exit.NEGATIVE
    assert "the checksum does not match" in damaged.out


def test_the_command_shows_how_far_it_is(zims: Path) -> None:
    shown = run_on_terminal("verify", zims / "built/dictionary_pub.zim").out

    assert "9.2/9.2 MB" in shown


@pytest.mark.parametrize("name", ["offset_in_cluster", "outofbounds_first_clusterptr", "bad_mimetype_in_dirent"])
def test_a_file_whose_parts_do_not_fit_is_not_sound(zims: Path, name: str) -> None:
    assert run("verify", zims / f"zim-testing-suite/nons/invalid.{name}.zim").code == Exit.NEGATIVE


def test_a_server_that_runs_knows_what_the_command_found(open_server: OpenServer, zims: Path) -> None:
    damaged = zims / "damaged/bad_checksum.zim"
    server = open_server(damaged)
    before = server.call("zim_metadata")["verification"]
    run("verify", damaged)

    assert (before, server.call("zim_metadata")["verification"]) == ("unverified", "damaged")
    assert "the checksum does not match" in run("list", damaged).out


def test_an_archive_that_is_not_there_is_named(town_zim: Path) -> None:
    ended = run("verify", "nowhere", "--dir", town_zim.parent)

    assert ended.code == Exit.NEGATIVE
    assert "No archive 'nowhere'" in ended.err

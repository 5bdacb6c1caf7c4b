from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp.cli.command import Exit
from support.command_line import run, run_on_terminal
from support.stdio_server import StdioServer


def test_verify_tells_valid_from_damaged(zims: Path, town_zim: Path) -> None:
    valid = run("verify", town_zim)
    damaged = run("verify", town_zim, zims / "damaged/bad_checksum.zim")

    assert valid.code == 0
    assert "| towns_en_all_2026-01 |" in valid.out
    assert "| the checksum matches | ok |" in valid.out
    assert damaged.code == Exit.NEGATIVE
    assert "the checksum does not match" in damaged.out


def test_verify_shows_progress(zims: Path) -> None:
    assert "9.2/9.2 MB" in run_on_terminal("verify", zims / "built/dictionary_pub.zim").out


@pytest.mark.parametrize("name", ["offset_in_cluster", "outofbounds_first_clusterptr", "bad_mimetype_in_dirent"])
def test_verify_rejects_inconsistent_files(zims: Path, name: str) -> None:
    assert run("verify", zims / f"zim-testing-suite/nons/invalid.{name}.zim").code == Exit.NEGATIVE


def test_running_server_knows_the_result_of_verify(open_server: Callable[..., StdioServer], zims: Path) -> None:
    damaged = zims / "damaged/bad_checksum.zim"
    server = open_server(damaged)
    before = server.call("zim_metadata")["verification"]
    run("verify", damaged)

    assert (before, server.call("zim_metadata")["verification"]) == ("unverified", "damaged")
    assert "the checksum does not match" in run("list", damaged).out


def test_verify_names_an_archive_that_is_missing(town_zim: Path) -> None:
    result = run("verify", "nowhere", "--dir", town_zim.parent)

    assert result.code == Exit.NEGATIVE
    assert "No archive 'nowhere'" in result.err

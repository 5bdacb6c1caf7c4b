from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from openzim_mcp.zimfile import NotAZim, ZimFile, check_header, checksum_matches, stat_parts


def quiet(_done: int, _total: int) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("damaged/zero_bytes.zim", "the file is empty (0 bytes)"),
        ("damaged/not_a_zim.zim", "not a ZIM file: the first bytes are something else"),
        ("damaged/header_only.zim", "truncated: 80 of 708546 bytes"),
        ("damaged/truncated_half.zim", "truncated: 354273 of 708546 bytes"),
        ("damaged/truncated_tail16.zim", "truncated: 708530 of 708546 bytes"),
        ("zim-testing-suite/nons/invalid.smaller_than_header.zim", "truncated: 40 bytes are less than a ZIM header"),
        ("damaged/bad_checksum.zim", None),
        ("built/se_coffee.zim", None),
        ("real/wikibooks_aa_2014-11.zim", None),
    ],
)
def test_the_first_bytes_and_the_size_tell_what_is_wrong(zims: Path, name: str, problem: str | None) -> None:
    assert check_header([str(zims / name)], modified=0).problem == problem


def test_a_file_that_has_just_changed_and_is_short_is_still_being_written(town_zim: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing.zim"
    growing.write_bytes(town_zim.read_bytes()[:5000])

    size = town_zim.stat().st_size
    assert check_header([str(growing)], time.time()).problem == f"still being written: 5000 of {size} bytes so far"


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(town_zim: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed.zim"
    closed.write_bytes(town_zim.read_bytes())
    closed.chmod(0)

    assert check_header([str(closed)], modified=0).problem == "cannot be read: Permission denied"


def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    assert check_header([str(tmp_path / "gone.zim")], modified=0).problem == "cannot be read: No such file or directory"


def test_a_version_that_nobody_reads_is_named(town_zim: Path, tmp_path: Path) -> None:
    future = tmp_path / "future.zim"
    raw = bytearray(town_zim.read_bytes())
    raw[4:6] = (9).to_bytes(2, "little")
    future.write_bytes(raw)

    with pytest.raises(NotAZim, match="version 9"):
        ZimFile([str(future)]).header()


def test_parts_read_as_one_file(town_zim: Path, tmp_path: Path) -> None:
    whole = town_zim.read_bytes()
    parts = [tmp_path / name for name in ("x.zimaa", "x.zimab", "x.zimac")]
    for part, piece in zip(parts, (whole[:100], whole[100:40_000], whole[40_000:]), strict=True):
        part.write_bytes(piece)

    raw = ZimFile([str(part) for part in parts])

    assert raw.size == len(whole)
    assert raw.read(90, 40_000) == whole[90:40_090]
    assert raw.read(len(whole) - 5, 100) == whole[-5:]
    assert checksum_matches([str(part) for part in parts], quiet) is True


@pytest.mark.parametrize(
    ("name", "sound"),
    [
        ("built/se_coffee.zim", True),
        ("real/wikipedia_en_100_mini_2022-10.zim", True),
        ("damaged/bad_checksum.zim", False),
        ("damaged/bad_checksum_zimtools.zim", False),
        ("damaged/flipped_clusters.zim", False),
        ("damaged/zeroed_index_aborts_search.zim", False),
    ],
)
def test_the_checksum_tells_sound_from_damaged(zims: Path, name: str, *, sound: bool) -> None:
    assert checksum_matches([str(zims / name)], quiet) is sound


def test_progress_reaches_the_end(town_zim: Path) -> None:
    seen: list[tuple[int, int]] = []

    checksum_matches([str(town_zim)], lambda done, total: seen.append((done, total)))

    total = town_zim.stat().st_size - 16
    assert seen[-1] == (total, total)


def test_identity_changes_with_every_kind_of_replacement(town_zim: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.zim"
    file.write_bytes(town_zim.read_bytes())
    before = stat_parts([str(file)]).identity

    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    touched = stat_parts([str(file)]).identity
    copy = tmp_path / "b.zim"
    copy.write_bytes(town_zim.read_bytes())
    os.utime(copy, ns=(0, file.stat().st_mtime_ns))
    copy.replace(file)
    replaced = stat_parts([str(file)]).identity

    assert len({before, touched, replaced}) == 3

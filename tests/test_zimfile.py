from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import NotAZim, ZimFile, check_header, checksum_matches, stat_parts
from support.archives import TOWNS


def ignore_progress(_bytes_read: int, _total: int) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("damaged/zero_bytes.zim", "the file is empty (0 bytes)"),
        ("damaged/not_a_zim.zim", "not a ZIM file: the first bytes are something else"),
        ("damaged/header_only.zim", "incomplete: 80 of 708546 bytes"),
        ("damaged/truncated_half.zim", "incomplete: 354273 of 708546 bytes"),
        ("damaged/truncated_tail16.zim", "incomplete: 708530 of 708546 bytes"),
        ("zim-testing-suite/nons/invalid.smaller_than_header.zim", "incomplete: 40 bytes are less than a ZIM header"),
        ("damaged/bad_checksum.zim", None),
        ("built/se_coffee.zim", None),
        ("real/wikibooks_aa_2014-11.zim", None),
    ],
)
def test_header_check_names_the_problem(zims: Path, name: str, problem: str | None) -> None:
    assert check_header([str(zims / name)], modified=0).problem == problem


def test_short_file_modified_just_now_is_being_written(town_zim: Path, tmp_path: Path) -> None:
    growing = tmp_path / "growing.zim"
    growing.write_bytes(town_zim.read_bytes()[:5000])

    size = town_zim.stat().st_size
    assert check_header([str(growing)], time.time()).problem == f"still being written: 5000 of {size} bytes so far"


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may read everything")
def test_unreadable_file_is_a_problem(town_zim: Path, tmp_path: Path) -> None:
    unreadable = tmp_path / "unreadable.zim"
    unreadable.write_bytes(town_zim.read_bytes())
    unreadable.chmod(0)

    assert check_header([str(unreadable)], modified=0).problem == "cannot be read: Permission denied"


def test_missing_file_is_a_problem(tmp_path: Path) -> None:
    assert (
        check_header([str(tmp_path / "missing.zim")], modified=0).problem == "cannot be read: No such file or directory"
    )


def test_unsupported_version_is_named(town_zim: Path, tmp_path: Path) -> None:
    future = tmp_path / "future.zim"
    content = bytearray(town_zim.read_bytes())
    content[4:6] = (9).to_bytes(2, "little")
    future.write_bytes(content)

    with pytest.raises(NotAZim, match="version 9"):
        ZimFile([str(future)]).header()


def test_parts_are_read_as_one_file(town_zim: Path, tmp_path: Path) -> None:
    whole = town_zim.read_bytes()
    parts = [tmp_path / name for name in ("x.zimaa", "x.zimab", "x.zimac")]
    for part, content in zip(parts, (whole[:100], whole[100:40_000], whole[40_000:]), strict=True):
        part.write_bytes(content)

    file = ZimFile([str(part) for part in parts])

    assert file.size == len(whole)
    assert file.read(90, 40_000) == whole[90:40_090]
    assert file.read(len(whole) - 5, 100) == whole[-5:]
    assert checksum_matches([str(part) for part in parts], ignore_progress) is True


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [
        ("built/se_coffee.zim", True),
        ("real/wikipedia_en_100_mini_2022-10.zim", True),
        ("damaged/bad_checksum.zim", False),
        ("damaged/bad_checksum_zimtools.zim", False),
        ("damaged/flipped_clusters.zim", False),
        ("damaged/zeroed_index_aborts_search.zim", False),
    ],
)
def test_checksum_matches_only_valid_files(zims: Path, name: str, *, is_valid: bool) -> None:
    assert checksum_matches([str(zims / name)], ignore_progress) is is_valid


def test_checksum_progress_ends_at_the_total(town_zim: Path) -> None:
    progress: list[tuple[int, int]] = []

    checksum_matches([str(town_zim)], lambda bytes_read, total: progress.append((bytes_read, total)))

    total = town_zim.stat().st_size - 16
    assert progress[-1] == (total, total)


def test_identity_changes_when_a_file_is_touched_or_replaced(town_zim: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", ["built/se_coffee.zim", "real/wikibooks_aa_2014-11.zim", "built/dictionary_pub.zim"])
def test_namespaces_are_those_of_a_scan(zims: Path, name: str) -> None:
    file = ZimFile([str(zims / name)])
    header = file.header()
    letters = [file.read_namespace(header, entry) for entry in range(header.entry_count)]

    ranges = file.namespaces()

    assert [letter for letter, numbers in ranges.items() for _ in numbers] == letters


def test_prefetching_changes_nothing_and_accepts_any_file(zims: Path, tmp_path: Path) -> None:
    for name in ("built/se_coffee.zim", "damaged/header_only.zim", "damaged/not_a_zim.zim", "damaged/zero_bytes.zim"):
        ZimFile([str(zims / name)]).prefetch_entries()
    parts = [tmp_path / "a", tmp_path / "b"]
    for part in parts:
        part.write_bytes(bytes(10))

    ZimFile(list(map(str, parts))).prefetch(5, 100)

    assert [part.read_bytes() for part in parts] == [bytes(10)] * 2


def test_records_are_those_of_libzim(towns: Archive, town_zim: Path) -> None:
    records = list(ZimFile([str(town_zim)]).records())

    rows = [towns.entry_by_id(record.number) for record in records]
    assert len(records) == towns.entry_count
    assert [
        (record.path.decode(), record.mime_type) for record in records if record.namespace == "C" and record.mime_type
    ] == [(row.path, row.mime_type) for row in rows if row.path in TOWNS]
    redirect = next(record for record in records if record.path == b"Port")
    assert redirect.mime_type is None
    assert records[redirect.place].path == b"Ravenport"


def test_content_that_is_not_compressed_is_found_in_the_file(zims: Path) -> None:
    path = str(zims / "built/se_coffee.zim")
    archive = Archive("coffee", [path])
    number = archive.number_of("X/fulltext/xapian")
    page = archive.number_of(archive.main_path or "")
    assert number is not None
    assert page is not None

    file = ZimFile([path])
    place = file.content_range(number)

    assert place is not None
    assert file.read(place.start, len(place)) == archive.read_fulltext_index(1 << 30)
    assert file.content_range(page) is None

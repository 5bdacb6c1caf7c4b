from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.library.scan import Rejected, Scanner, handbook_path


@pytest.fixture
def directory(tmp_path: Path, town_zim: Path) -> Path:
    """A directory with editions, subdirectories and equal names, as people keep archives."""
    for name in (
        "wiki_en_all_2023-01.zim",
        "wiki_en_all_2024-05.zim",
        "sub/deep/manual.zim",
        "SHOUT.ZIM",
        "books/novel.zim",
        "other/novel.zim",
    ):
        target = tmp_path / "zims" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(town_zim, target)
    return tmp_path / "zims"


def scan_names(scanner: Scanner) -> list[str]:
    return [archive.name for archive in scanner.scan().archives]


def test_archives_of_subdirectories_are_listed_by_name(directory: Path) -> None:
    assert scan_names(Scanner([directory])) == [
        "SHOUT",
        "manual",
        "novel",
        "novel@other",
        "wiki_en_all_2023-01",
        "wiki_en_all_2024-05",
    ]


def test_overlapping_directories_are_scanned_once(directory: Path) -> None:
    assert scan_names(Scanner([directory, directory / "sub", directory])) == scan_names(Scanner([directory]))


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("wiki_en_all_2023-01", "wiki_en_all_2023-01"),
        ("wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("...wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("{directory}/wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("{directory}/sub/../sub/deep/manual.zim", "manual"),
        ("wiki_en_all", "wiki_en_all_2024-05"),
        ("Wiki_EN_all.zim", "wiki_en_all_2024-05"),
        ("shout", "SHOUT"),
        ("novel", "novel"),
        ("novel@other.zim", "novel@other"),
        ("{directory}/other/novel.zim", "novel@other"),
    ],
)
def test_archive_is_found_by_each_of_its_names(directory: Path, reference: str, name: str) -> None:
    assert Scanner([directory]).find_archive(reference.format(directory=directory)).name == name


@pytest.mark.parametrize(
    "reference",
    [
        "nothing",
        "/etc/passwd",
        "../secret.zim",
        "{directory}/../secret.zim",
        "sub/deep/manual.zim",
        "...",
        "..",
        ".zim",
        "wiki\x00_en_all",
        "x" * 1000,
    ],
)
def test_unknown_reference_is_refused_without_showing_paths(directory: Path, reference: str) -> None:
    shutil.copy(directory / "SHOUT.ZIM", directory.parent / "secret.zim")

    with pytest.raises(errors.ArchiveNotFound) as caught:
        Scanner([directory]).find_archive(reference.format(directory=directory))

    assert str(directory) not in str(caught.value.payload("t"))
    assert "SHOUT.zim" in caught.value.details["available_archives"]


def test_misspelled_name_suggests_the_closest_archive(directory: Path) -> None:
    with pytest.raises(errors.ArchiveNotFound) as caught:
        Scanner([directory]).find_archive("manul.zim")

    assert caught.value.hint == "Did you mean 'manual'?"


def test_reference_is_needed_if_there_are_several_archives(directory: Path) -> None:
    assert Scanner([directory / "sub"]).find_archive(None).name == "manual"
    with pytest.raises(errors.ArchiveNotFound, match=r"6 archives are served; say which one \(zim_file_path\)"):
        Scanner([directory]).find_archive(None)


def test_empty_directory_has_no_archive_to_find(tmp_path: Path) -> None:
    with pytest.raises(errors.ArchiveNotFound, match="There are no archives"):
        Scanner([tmp_path]).find_archive(None)


def test_single_file_is_served_without_its_neighbours(directory: Path) -> None:
    scanner = Scanner([directory / "books" / "novel.zim"])

    assert scan_names(scanner) == ["novel"]
    assert scanner.find_archive(None).name == "novel"
    assert scanner.display_directories == ["...novel.zim"]


def test_linked_directory_is_found_by_its_configured_path(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(directory)

    scanner = Scanner([tmp_path / "link"])

    assert scanner.find_archive(f"{tmp_path}/link/other/novel.zim").name == "novel@other"


def test_links_out_of_the_directories_are_rejected(directory: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(directory / "SHOUT.ZIM", outside / "secret.zim")
    (directory / "alias.zim").symlink_to("wiki_en_all_2024-05.zim")
    (directory / "again").symlink_to("sub")
    (directory / "loop").symlink_to(".")
    (directory / "escape.zim").symlink_to(outside / "secret.zim")
    (directory / "exit").symlink_to(outside)
    (directory / "dangling.zim").symlink_to("nowhere.zim")

    result = Scanner([directory]).scan()

    assert [archive.name for archive in result.archives] == [
        "SHOUT",
        "alias",
        "manual",
        "novel",
        "novel@other",
        "wiki_en_all_2023-01",
        "wiki_en_all_2024-05",
    ]
    leaves_directories = "symbolic link that leaves the allowed directories"
    assert set(result.rejected) == {
        Rejected("escape.zim", f"{leaves_directories}; --follow-links (OPENZIM_MCP_FOLLOW_LINKS=true) follows it"),
        Rejected("exit", f"{leaves_directories}; name its target to serve it"),
        Rejected("dangling.zim", "not a regular file, or a broken link"),
    }


def test_links_in_a_named_directory_are_followed_on_request(tmp_path: Path, town_zim: Path, zims: Path) -> None:
    disk, named = tmp_path / "disk", tmp_path / "named"
    (named / "sub").mkdir(parents=True)
    disk.mkdir()
    shutil.copy(town_zim, disk / "big.zim")
    os.mkfifo(disk / "pipe.zim")
    (disk / "alias.zim").symlink_to("big.zim")
    for link, target in {
        "big.zim": "big.zim",
        "chain.zim": "alias.zim",
        "pipe.zim": "pipe.zim",
        "folder": "",
        "sub/big.zim": "big.zim",
    }.items():
        (named / link).symlink_to(disk / target)
    for part in (zims / "real").glob("*split.zima?"):
        (named / part.name).symlink_to(part)

    result = Scanner([named], follow_links=True).scan()

    assert [(archive.name, archive.problem) for archive in result.archives] == [
        ("big", None),
        ("chain", None),
        ("wikipedia_en_ray_charles_2015-06_split", None),
    ]
    assert len(result.archives[2].parts) == 15
    leaves_directories = "symbolic link that leaves the allowed directories"
    assert [(row.name, row.reason) for row in result.rejected] == [
        ("folder", f"{leaves_directories}; name its target to serve it"),
        ("pipe.zim", leaves_directories),
        ("big.zim", leaves_directories),
    ]


def test_parts_beside_the_target_of_a_link_are_not_served(tmp_path: Path, zims: Path) -> None:
    first = "wikipedia_en_ray_charles_2015-06_split.zimaa"
    (tmp_path / first).symlink_to(zims / "real" / first)

    archive = Scanner([tmp_path], follow_links=True).find_archive(None)

    assert archive.parts == (str((zims / "real" / first).resolve()),)
    assert str(archive.problem).startswith("incomplete")


def test_archive_is_found_by_the_path_of_its_link(tmp_path: Path, town_zim: Path) -> None:
    (tmp_path / "big.zim").symlink_to(town_zim)

    assert Scanner([tmp_path], follow_links=True).find_archive(f"{tmp_path}/big.zim").parts == (str(town_zim),)


def test_fallback_is_served_while_there_is_no_archive(tmp_path: Path, town_zim: Path) -> None:
    library = tmp_path / "library"
    scanner = Scanner([library], fallback=handbook_path())

    before = (scanner.scan(), scanner.display_directories)
    library.mkdir()
    shutil.copy(town_zim, library)
    after = (scanner.scan(), scanner.display_directories)

    assert [archive.name for archive in before[0].archives] == ["handbook"]
    assert (before[0].is_handbook, before[0].rejected, before[1]) == (True, (), ["...handbook.zim"])
    assert [archive.name for archive in after[0].archives] == [town_zim.stem]
    assert (after[0].is_handbook, after[1]) == (False, ["...library"])


def test_missing_directory_is_served_when_it_appears(tmp_path: Path, directory: Path) -> None:
    mount = tmp_path / "disk"
    scanner = Scanner([directory / "sub", mount])
    before = scanner.scan()

    mount.symlink_to(directory / "books")

    assert [archive.name for archive in before.archives] == ["manual"]
    assert before.rejected == (
        Rejected("disk", "does not exist; it is served as soon as it appears", is_directory=True),
    )
    assert scan_names(scanner) == ["manual", "novel"]


def test_split_archive_is_one_archive(zims: Path) -> None:
    scanner = Scanner([zims / "real"])

    archive = scanner.find_archive("wikipedia_en_ray_charles_2015-06_split")

    assert len(archive.parts) == 15
    assert archive.size == 1_476_042
    assert scanner.find_archive("wikipedia_en_ray_charles_2015-06_split.zimaa") == archive
    assert sum("split" in name for name in scan_names(scanner)) == 1


def test_split_archive_is_served_by_itself(zims: Path) -> None:
    scanner = Scanner([zims / "real" / "wikipedia_en_ray_charles_2015-06_split.zimaa"])

    assert len(scanner.find_archive(None).parts) == 15


def test_split_archive_without_a_part_is_truncated(zims: Path, tmp_path: Path) -> None:
    for file in (zims / "real").glob("*split.zima?"):
        shutil.copy(file, tmp_path)
    (tmp_path / "wikipedia_en_ray_charles_2015-06_split.zimac").unlink()
    for file in tmp_path.iterdir():
        os.utime(file, (0, 0))

    assert Scanner([tmp_path]).find_archive(None).problem == "incomplete: 200000 of 1476042 bytes"


def test_damaged_files_are_listed_with_the_reason(zims: Path) -> None:
    problems = {archive.name: archive.problem for archive in Scanner([zims / "damaged"]).scan().archives}

    assert problems["not_a_zim"] == "not a ZIM file: the first bytes are something else"
    assert problems["zero_bytes"] == "the file is empty (0 bytes)"
    assert problems["bad_checksum"] is None


def test_unfinished_downloads_are_not_opened(directory: Path, town_zim: Path) -> None:
    (directory / "new.zim.part").write_bytes(town_zim.read_bytes()[:9000])
    (directory / "copying.zim").write_bytes(town_zim.read_bytes()[:9000])
    shutil.copy(town_zim, directory / "aria.zim")
    (directory / "aria.zim.aria2").write_bytes(b"")
    scanner = Scanner([directory])

    problems = {archive.name: archive.problem for archive in scanner.scan().archives}

    assert "new" not in problems
    assert problems["copying"] == f"still being written: 9000 of {town_zim.stat().st_size} bytes so far"
    assert problems["aria"] == "still being downloaded"

    shutil.copy(town_zim, directory / "copying.zim")
    (directory / "aria.zim.aria2").unlink()

    assert scanner.find_archive("copying").problem is None
    assert {archive.problem for archive in scanner.scan().archives} == {None}


def test_added_and_removed_files_are_noticed_at_once(directory: Path, town_zim: Path) -> None:
    scanner = Scanner([directory])
    scanner.scan()

    shutil.copy(town_zim, directory / "late.zim")
    assert scanner.find_archive("late").name == "late"
    (directory / "late.zim").unlink()
    with pytest.raises(errors.ArchiveNotFound):
        scanner.find_archive("late")


def test_replaced_file_has_another_identity(directory: Path, town_zim: Path) -> None:
    scanner = Scanner([directory])
    before = scanner.find_archive("manual")

    shutil.copy(town_zim, directory / "new")
    (directory / "new").replace(directory / "sub/deep/manual.zim")

    assert scanner.find_archive("manual").identity != before.identity


def test_missing_directory_is_reported_until_it_returns(directory: Path) -> None:
    scanner = Scanner([directory, directory / "books"])
    renamed = directory.with_name("away")

    directory.rename(renamed)
    missing = scanner.scan()
    renamed.rename(directory)
    returned = scanner.scan()

    assert missing.archives == ()
    assert missing.directories_accessible == 0
    assert missing.rejected[0] == Rejected(
        "zims", "does not exist; it is served as soon as it appears", is_directory=True
    )
    assert returned.directories_accessible == 2
    assert len(returned.archives) == 6


def test_hidden_files_and_directories_are_not_archives(directory: Path, town_zim: Path) -> None:
    (directory / ".trash").mkdir()
    shutil.copy(town_zim, directory / ".trash" / "deleted.zim")
    (directory / "folder.zim").mkdir()

    result = Scanner([directory]).scan()

    assert not {"deleted", "folder"} & {archive.name for archive in result.archives}
    assert result.rejected == ()


def test_names_have_no_control_characters(tmp_path: Path, town_zim: Path) -> None:
    shutil.copy(town_zim, tmp_path / "evil\u202e\n\x1b[31m.zim")
    scanner = Scanner([tmp_path])

    assert scan_names(scanner) == ["evil [31m"]
    assert scanner.find_archive("evil [31m").name == "evil [31m"


def test_scan_of_1000_archives_takes_under_50_ms(tmp_path: Path, zims: Path) -> None:
    for number in range(1000):
        shutil.copy(zims / "built/empty.zim", tmp_path / f"archive_en_{number}.zim")
    scanner = Scanner([tmp_path])
    scanner.scan()

    cpu_seconds = []
    for _ in range(5):
        before = time.process_time()
        assert len(scanner.scan().archives) == 1000
        cpu_seconds.append(time.process_time() - before)

    assert min(cpu_seconds) < 0.05


def test_archives_are_found_at_any_depth(tmp_path: Path, town_zim: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefghijkl")
    deep.mkdir(parents=True)
    shutil.copy(town_zim, deep / "deep.zim")

    assert scan_names(Scanner([tmp_path])) == ["deep"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_name_that_is_not_utf8_is_rejected_in_a_sentence(tmp_path: Path, town_zim: Path) -> None:
    shutil.copy(town_zim, os.fsencode(tmp_path) + b"/caf\xe9.zim")
    os.mkdir(os.fsencode(tmp_path) + b"/\xe9")
    shutil.copy(town_zim, os.fsencode(tmp_path) + b"/\xe9/towns.zim")

    scan = Scanner([tmp_path]).scan()

    assert scan.archives == ()
    reason = "its name is not UTF-8, so it cannot be opened; rename it"
    assert {(row.name, row.reason) for row in scan.rejected} == {("caf\\xe9.zim", reason), ("\\xe9", reason)}

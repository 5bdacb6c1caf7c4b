from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.library.scan import Rejected, Scanner


@pytest.fixture
def shelf(tmp_path: Path, town_zim: Path) -> Path:
    """A directory with archives in the ways that people keep them."""
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


def names(library: Scanner) -> list[str]:
    return [archive.name for archive in library.scan().archives]


def test_archives_are_found_at_any_depth_and_sorted(shelf: Path) -> None:
    assert names(Scanner([shelf])) == [
        "SHOUT",
        "manual",
        "novel",
        "novel@other",
        "wiki_en_all_2023-01",
        "wiki_en_all_2024-05",
    ]


def test_a_directory_given_twice_or_inside_another_is_listed_once(shelf: Path) -> None:
    assert names(Scanner([shelf, shelf / "sub", shelf])) == names(Scanner([shelf]))


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("wiki_en_all_2023-01", "wiki_en_all_2023-01"),
        ("wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("...wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("{shelf}/wiki_en_all_2023-01.zim", "wiki_en_all_2023-01"),
        ("{shelf}/sub/../sub/deep/manual.zim", "manual"),
        ("wiki_en_all", "wiki_en_all_2024-05"),
        ("Wiki_EN_all.zim", "wiki_en_all_2024-05"),
        ("shout", "SHOUT"),
        ("novel", "novel"),
        ("novel@other.zim", "novel@other"),
        ("{shelf}/other/novel.zim", "novel@other"),
    ],
)
def test_an_archive_answers_to_all_its_names(shelf: Path, reference: str, name: str) -> None:
    assert Scanner([shelf]).find(reference.format(shelf=shelf)).name == name


@pytest.mark.parametrize(
    "reference",
    [
        "nothing",
        "/etc/passwd",
        "../secret.zim",
        "{shelf}/../secret.zim",
        "sub/deep/manual.zim",
        "...",
        "..",
        ".zim",
        "wiki\x00_en_all",
        "x" * 1000,
    ],
)
def test_what_is_no_name_of_an_archive_is_refused_without_a_path_in_the_message(shelf: Path, reference: str) -> None:
    shutil.copy(shelf / "SHOUT.ZIM", shelf.parent / "secret.zim")

    with pytest.raises(errors.ArchiveNotFound) as caught:
        Scanner([shelf]).find(reference.format(shelf=shelf))

    assert str(shelf) not in str(caught.value.payload("t"))
    assert "SHOUT.zim" in caught.value.details["available_archives"]


def test_a_near_miss_names_the_nearest_archive(shelf: Path) -> None:
    with pytest.raises(errors.ArchiveNotFound) as caught:
        Scanner([shelf]).find("manul.zim")

    assert caught.value.hint == "Did you mean 'manual'?"


def test_without_a_name_it_is_the_only_archive_or_an_error_that_lists_them(shelf: Path) -> None:
    assert Scanner([shelf / "sub"]).find(None).name == "manual"
    with pytest.raises(errors.ArchiveNotFound, match=r"Several archives are served \(6\)"):
        Scanner([shelf]).find(None)


def test_an_empty_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.ArchiveNotFound, match="no archive to read"):
        Scanner([tmp_path]).find(None)


def test_a_single_file_can_be_served_and_nothing_beside_it(shelf: Path) -> None:
    library = Scanner([shelf / "books" / "novel.zim"])

    assert names(library) == ["novel"]
    assert library.find(None).name == "novel"
    assert library.display_directories == ["...novel.zim"]


def test_a_directory_behind_a_link_is_addressed_as_it_was_given(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shelf)

    library = Scanner([tmp_path / "link"])

    assert library.find(f"{tmp_path}/link/other/novel.zim").name == "novel@other"


def test_links_are_followed_inside_and_refused_outside(shelf: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.copy(shelf / "SHOUT.ZIM", outside / "secret.zim")
    (shelf / "alias.zim").symlink_to("wiki_en_all_2024-05.zim")
    (shelf / "again").symlink_to("sub")
    (shelf / "loop").symlink_to(".")
    (shelf / "escape.zim").symlink_to(outside / "secret.zim")
    (shelf / "exit").symlink_to(outside)
    (shelf / "dangling.zim").symlink_to("nowhere.zim")

    listing = Scanner([shelf]).scan()

    assert [a.name for a in listing.archives] == [
        "SHOUT",
        "alias",
        "manual",
        "novel",
        "novel@other",
        "wiki_en_all_2023-01",
        "wiki_en_all_2024-05",
    ]
    leaves = "symbolic link that leaves the allowed directories"
    assert set(listing.rejected) == {
        Rejected("escape.zim", leaves),
        Rejected("exit", leaves),
        Rejected("dangling.zim", "not a regular file, or a link to nothing"),
    }


def test_a_split_archive_is_one_archive(zims: Path) -> None:
    library = Scanner([zims / "real"])

    archive = library.find("wikipedia_en_ray_charles_2015-06_split")

    assert len(archive.parts) == 15
    assert archive.size == 1_476_042
    assert library.find("wikipedia_en_ray_charles_2015-06_split.zimaa") == archive
    assert sum("split" in name for name in names(library)) == 1


def test_a_split_archive_can_be_served_by_itself(zims: Path) -> None:
    library = Scanner([zims / "real" / "wikipedia_en_ray_charles_2015-06_split.zimaa"])

    assert len(library.find(None).parts) == 15


def test_a_split_archive_with_a_part_missing_is_truncated(zims: Path, tmp_path: Path) -> None:
    for file in (zims / "real").glob("*split.zima?"):
        shutil.copy(file, tmp_path)
    (tmp_path / "wikipedia_en_ray_charles_2015-06_split.zimac").unlink()
    for file in tmp_path.iterdir():
        os.utime(file, (0, 0))

    assert Scanner([tmp_path]).find(None).problem == "truncated: 200000 of 1476042 bytes"


def test_broken_files_are_listed_with_the_reason(zims: Path) -> None:
    problems = {archive.name: archive.problem for archive in Scanner([zims / "damaged"]).scan().archives}

    assert problems["not_a_zim"] == "not a ZIM file: the first bytes are something else"
    assert problems["zero_bytes"] == "the file is empty (0 bytes)"
    assert problems["bad_checksum"] is None


def test_files_that_are_still_being_downloaded_are_left_alone(shelf: Path, town_zim: Path) -> None:
    (shelf / "new.zim.part").write_bytes(town_zim.read_bytes()[:9000])
    (shelf / "copying.zim").write_bytes(town_zim.read_bytes()[:9000])
    shutil.copy(town_zim, shelf / "aria.zim")
    (shelf / "aria.zim.aria2").write_bytes(b"")
    library = Scanner([shelf])

    problems = {archive.name: archive.problem for archive in library.scan().archives}

    assert "new" not in problems
    assert problems["copying"] == f"still being written: 9000 of {town_zim.stat().st_size} bytes so far"
    assert problems["aria"] == "still being downloaded"

    shutil.copy(town_zim, shelf / "copying.zim")
    (shelf / "aria.zim.aria2").unlink()

    assert library.find("copying").problem is None
    assert {a.problem for a in library.scan().archives} == {None}


def test_a_new_file_is_found_at_once_and_a_removed_one_is_gone(shelf: Path, town_zim: Path) -> None:
    library = Scanner([shelf])
    library.scan()

    shutil.copy(town_zim, shelf / "late.zim")
    assert library.find("late").name == "late"
    (shelf / "late.zim").unlink()
    with pytest.raises(errors.ArchiveNotFound):
        library.find("late")


def test_a_replaced_file_has_another_identity_at_once(shelf: Path, town_zim: Path) -> None:
    library = Scanner([shelf])
    before = library.find("manual")

    shutil.copy(town_zim, shelf / "new")
    (shelf / "new").replace(shelf / "sub/deep/manual.zim")

    assert library.find("manual").identity != before.identity


def test_an_unplugged_directory_is_reported_and_comes_back(shelf: Path) -> None:
    library = Scanner([shelf, shelf / "books"])
    away = shelf.with_name("away")

    shelf.rename(away)
    unplugged = library.scan()
    away.rename(shelf)
    back = library.scan()

    assert unplugged.archives == ()
    assert unplugged.directories_accessible == 0
    assert unplugged.rejected[0] == Rejected(
        "zims", "directory cannot be read: No such file or directory", is_directory=True
    )
    assert back.directories_accessible == 2
    assert len(back.archives) == 6


def test_hidden_directories_and_folders_named_like_archives_are_no_archives(shelf: Path, town_zim: Path) -> None:
    (shelf / ".trash").mkdir()
    shutil.copy(town_zim, shelf / ".trash" / "deleted.zim")
    (shelf / "folder.zim").mkdir()

    listing = Scanner([shelf]).scan()

    assert not {"deleted", "folder"} & {archive.name for archive in listing.archives}
    assert listing.rejected == ()


def test_names_are_shown_without_what_cannot_be_seen(tmp_path: Path, town_zim: Path) -> None:
    shutil.copy(town_zim, tmp_path / "evil\u202e\n\x1b[31m.zim")
    library = Scanner([tmp_path])

    assert names(library) == ["evil [31m"]
    assert library.find("evil [31m").name == "evil [31m"


def test_a_scan_of_a_thousand_archives_takes_less_than_fifty_milliseconds(tmp_path: Path, zims: Path) -> None:
    for number in range(1000):
        shutil.copy(zims / "built/empty.zim", tmp_path / f"archive_en_{number}.zim")
    library = Scanner([tmp_path])
    library.scan()

    used = []
    for _ in range(5):
        before = time.process_time()
        assert len(library.scan().archives) == 1000
        used.append(time.process_time() - before)

    assert min(used) < 0.05

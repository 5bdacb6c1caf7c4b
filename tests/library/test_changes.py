from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from openzim_mcp.library.changes import Changes, Watch
from openzim_mcp.library.scan import Library

NOTHING = Changes()


class Shelf:
    """A directory under watch."""

    def __init__(self, folder: Path, zim: Path) -> None:
        self.folder, self.zim = folder, zim
        folder.mkdir()
        self.library = Library([folder])
        self.put("old.zim")
        self.watch = Watch(self.library.scan())

    def put(self, name: str, size: int | None = None) -> Path:
        (self.folder / name).write_bytes(self.zim.read_bytes()[:size])
        return self.folder / name

    def look(self) -> Changes:
        return self.watch.look(self.library.scan())

    def settle(self) -> Changes:
        """Look twice; the first look is too early to tell."""
        assert self.look() == NOTHING
        return self.look()


@pytest.fixture
def shelf(tmp_path: Path, town_zim: Path) -> Shelf:
    return Shelf(tmp_path / "zims", town_zim)


def test_without_a_change_there_is_nothing_to_tell(shelf: Shelf) -> None:
    assert shelf.look() == NOTHING
    assert not shelf.watch.unsettled


def test_a_new_archive_is_told_when_two_looks_agree_and_only_once(shelf: Shelf) -> None:
    shelf.put("new.zim")

    first, unsettled = shelf.look(), shelf.watch.unsettled
    second, settled = shelf.look(), not shelf.watch.unsettled

    assert (first, unsettled) == (NOTHING, True)
    assert (second, settled) == (Changes(("zim://files", "zim://new"), list_changed=True), True)
    assert shelf.look() == NOTHING


def test_an_archive_that_went_is_told(shelf: Shelf) -> None:
    (shelf.folder / "old.zim").unlink()

    assert shelf.settle() == Changes(("zim://files", "zim://old"), list_changed=True)


@pytest.mark.parametrize("how", ["rename", "in place", "touch"])
def test_a_replacement_of_the_same_size_is_told_and_the_list_stays(shelf: Shelf, how: str) -> None:
    old = shelf.folder / "old.zim"
    if how == "rename":
        shutil.copy2(old, shelf.folder / "new")  # even the time of modification is the same
        (shelf.folder / "new").replace(old)
    elif how == "in place":
        old.write_bytes(shelf.zim.read_bytes())
    else:
        os.utime(old, (1, 1))

    assert shelf.settle() == Changes(("zim://files", "zim://old"), list_changed=False)


def test_a_growing_file_is_told_once_when_it_is_complete(shelf: Shelf) -> None:
    told = []
    for size in (0, 40, 9000, 20_000):
        shelf.put("big.zim", size)
        told += [shelf.look(), shelf.look()]
        assert not shelf.watch.unsettled
    shelf.put("big.zim")

    assert set(told) == {NOTHING}
    assert shelf.settle() == Changes(("zim://files", "zim://big"), list_changed=True)


def test_a_file_that_grows_over_an_archive_is_told_once_when_it_is_complete(shelf: Shelf) -> None:
    shelf.put("old.zim", 9000)
    assert [shelf.look(), shelf.look()] == [NOTHING, NOTHING]
    shelf.put("old.zim")

    assert shelf.settle() == Changes(("zim://files", "zim://old"), list_changed=False)


def test_a_download_counts_when_its_note_is_gone(shelf: Shelf) -> None:
    note = shelf.folder / "new.zim.aria2"
    note.touch()
    shelf.put("new.zim")
    assert [shelf.look(), shelf.look()] == [NOTHING, NOTHING]
    note.unlink()

    assert shelf.settle().list_changed


def test_a_file_that_never_rests_is_not_told(shelf: Shelf) -> None:
    told = []
    for moment in range(5):
        os.utime(shelf.put("new.zim"), (moment, moment))
        told.append(shelf.look())

    assert told == [NOTHING] * 5


def test_a_broken_file_that_rests_changes_the_rows_but_not_the_list(shelf: Shelf) -> None:
    os.utime(shelf.put("broken.zim", 9000), (1, 1))

    assert shelf.settle() == Changes(("zim://files", "zim://broken"), list_changed=False)


def test_the_name_without_a_date_follows_the_newest_edition(shelf: Shelf) -> None:
    shelf.put("wiki_2024-01.zim")
    assert shelf.settle().keys == ("zim://files", "zim://wiki", "zim://wiki_2024-01")
    shelf.put("wiki_2025-01.zim")
    assert shelf.settle().keys == ("zim://files", "zim://wiki", "zim://wiki_2025-01")
    os.utime(shelf.folder / "wiki_2024-01.zim", (1, 1))

    assert shelf.settle().keys == ("zim://files", "zim://wiki_2024-01")


def test_an_unplugged_directory_is_reported_and_recovers(shelf: Shelf) -> None:
    away = shelf.folder.with_name("away")
    shelf.folder.rename(away)
    unplugged, gone = shelf.look(), shelf.look()
    away.rename(shelf.folder)
    plugged, back = shelf.look(), shelf.look()

    assert unplugged.lost == ("zims: directory cannot be read: No such file or directory",)
    assert gone == Changes(("zim://files", "zim://old"), list_changed=True)
    assert plugged.found == unplugged.lost
    assert back == Changes(("zim://files", "zim://old"), list_changed=True)


def test_comparing_a_thousand_archives_is_cheap(tmp_path: Path, zims: Path) -> None:
    for number in range(1000):
        shutil.copy(zims / "built/empty.zim", tmp_path / f"archive_en_all_{number}_2026-01.zim")
    listing = Library([tmp_path]).scan()
    watch = Watch(listing)

    used = []
    for _ in range(5):
        before = time.process_time()
        watch.look(listing)
        used.append(time.process_time() - before)

    assert min(used) < 0.01

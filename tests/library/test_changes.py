from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from openzim_mcp.library.changes import ChangeDetector, Changes
from openzim_mcp.library.scan import Scanner

NO_CHANGES = Changes()


class WatchedDirectory:
    """A directory of archives with a change detector."""

    def __init__(self, path: Path, zim: Path) -> None:
        self.path, self.zim = path, zim
        path.mkdir()
        self.library = Scanner([path])
        self.write("old.zim")
        self.detector = ChangeDetector(self.library.scan())

    def write(self, name: str, size: int | None = None) -> Path:
        (self.path / name).write_bytes(self.zim.read_bytes()[:size])
        return self.path / name

    def update(self) -> Changes:
        return self.detector.update(self.library.scan())

    def update_twice(self) -> Changes:
        """Return the changes of the second scan; after the first, they are still pending."""
        assert self.update() == NO_CHANGES
        return self.update()


@pytest.fixture
def directory(tmp_path: Path, town_zim: Path) -> WatchedDirectory:
    return WatchedDirectory(tmp_path / "zims", town_zim)


def test_unchanged_directory_has_no_changes(directory: WatchedDirectory) -> None:
    assert directory.update() == NO_CHANGES
    assert not directory.detector.pending


def test_new_archive_is_announced_once_after_two_scans(directory: WatchedDirectory) -> None:
    directory.write("new.zim")

    first, is_pending_after_first = directory.update(), directory.detector.pending
    second, is_pending_after_second = directory.update(), directory.detector.pending

    assert (first, is_pending_after_first) == (NO_CHANGES, True)
    assert second == Changes(("zim://files", "zim://new"), list_changed=True)
    assert not is_pending_after_second
    assert directory.update() == NO_CHANGES


def test_removed_archive_is_announced(directory: WatchedDirectory) -> None:
    (directory.path / "old.zim").unlink()

    assert directory.update_twice() == Changes(("zim://files", "zim://old"), list_changed=True)


@pytest.mark.parametrize("how", ["rename", "in place", "touch"])
def test_replacement_of_same_size_is_announced_without_list_change(directory: WatchedDirectory, how: str) -> None:
    archive = directory.path / "old.zim"
    if how == "rename":
        shutil.copy2(archive, directory.path / "new")  # even the modification time is the same
        (directory.path / "new").replace(archive)
    elif how == "in place":
        archive.write_bytes(directory.zim.read_bytes())
    else:
        os.utime(archive, (1, 1))

    assert directory.update_twice() == Changes(("zim://files", "zim://old"), list_changed=False)


def test_growing_file_is_announced_once_when_complete(directory: WatchedDirectory) -> None:
    changes = []
    for size in (0, 40, 9000, 20_000):
        directory.write("big.zim", size)
        changes += [directory.update(), directory.update()]
        assert not directory.detector.pending
    directory.write("big.zim")

    assert set(changes) == {NO_CHANGES}
    assert directory.update_twice() == Changes(("zim://files", "zim://big"), list_changed=True)


def test_archive_being_overwritten_is_announced_once_when_complete(directory: WatchedDirectory) -> None:
    directory.write("old.zim", 9000)
    assert [directory.update(), directory.update()] == [NO_CHANGES, NO_CHANGES]
    directory.write("old.zim")

    assert directory.update_twice() == Changes(("zim://files", "zim://old"), list_changed=False)


def test_download_is_announced_when_its_control_file_is_removed(directory: WatchedDirectory) -> None:
    control_file = directory.path / "new.zim.aria2"
    control_file.touch()
    directory.write("new.zim")
    assert [directory.update(), directory.update()] == [NO_CHANGES, NO_CHANGES]
    control_file.unlink()

    assert directory.update_twice().list_changed


def test_file_that_keeps_changing_is_not_announced(directory: WatchedDirectory) -> None:
    changes = []
    for modified in range(5):
        os.utime(directory.write("new.zim"), (modified, modified))
        changes.append(directory.update())

    assert changes == [NO_CHANGES] * 5


def test_broken_file_is_announced_without_list_change(directory: WatchedDirectory) -> None:
    os.utime(directory.write("broken.zim", 9000), (1, 1))

    assert directory.update_twice() == Changes(("zim://files", "zim://broken"), list_changed=False)


def test_name_without_date_follows_the_newest_edition(directory: WatchedDirectory) -> None:
    directory.write("wiki_2024-01.zim")
    assert directory.update_twice().uris == ("zim://files", "zim://wiki", "zim://wiki_2024-01")
    directory.write("wiki_2025-01.zim")
    assert directory.update_twice().uris == ("zim://files", "zim://wiki", "zim://wiki_2025-01")
    os.utime(directory.path / "wiki_2024-01.zim", (1, 1))

    assert directory.update_twice().uris == ("zim://files", "zim://wiki_2024-01")


def test_unplugged_directory_is_reported_and_recovers(directory: WatchedDirectory) -> None:
    elsewhere = directory.path.with_name("elsewhere")
    directory.path.rename(elsewhere)
    unplugged, archive_removed = directory.update(), directory.update()
    elsewhere.rename(directory.path)
    plugged, archive_added = directory.update(), directory.update()

    assert unplugged.unreadable_directories == ("zims: does not exist; it is served as soon as it appears",)
    assert archive_removed == Changes(("zim://files", "zim://old"), list_changed=True)
    assert plugged.recovered_directories == ("zims",)
    assert archive_added == Changes(("zim://files", "zim://old"), list_changed=True)


def test_update_with_a_thousand_archives_is_fast(tmp_path: Path, zims: Path) -> None:
    for number in range(1000):
        shutil.copy(zims / "built/empty.zim", tmp_path / f"archive_en_all_{number}_2026-01.zim")
    listing = Scanner([tmp_path]).scan()
    detector = ChangeDetector(listing)

    cpu_seconds = []
    for _ in range(5):
        before = time.process_time()
        detector.update(listing)
        cpu_seconds.append(time.process_time() - before)

    assert min(cpu_seconds) < 0.01

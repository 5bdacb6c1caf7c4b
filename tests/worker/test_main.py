from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls import pack
from openzim_mcp.worker import main
from openzim_mcp.worker.main import Shelf
from support.archives import write_zim

PLENTY = 1 << 40


def test_an_archive_stays_open(town_zim: Path) -> None:
    shelf = Shelf(descriptors=100, memory=PLENTY)

    first = shelf.open("towns", [str(town_zim)])

    assert shelf.open("towns", [str(town_zim)]) is first


def test_a_changed_file_is_opened_anew(town_zim: Path, tmp_path: Path) -> None:
    shelf = Shelf(descriptors=100, memory=PLENTY)
    path = tmp_path / "a.zim"
    shutil.copy(town_zim, path)
    before = shelf.open("a", [str(path)])

    write_zim(tmp_path / "b.zim", {"Only": "x"}).replace(path)
    after = shelf.open("a", [str(path)])

    assert before.counts["entries"] == 7
    assert after.counts["entries"] == 1


def test_a_file_that_is_gone_is_an_error_that_says_so(town_zim: Path, tmp_path: Path) -> None:
    shelf = Shelf(descriptors=100, memory=PLENTY)
    path = tmp_path / "a.zim"
    shutil.copy(town_zim, path)
    shelf.open("a", [str(path)])

    path.unlink()

    with pytest.raises(errors.ArchiveUnusable, match="'a' cannot be read: No such file"):
        shelf.open("a", [str(path)])


def open_copies(shelf: Shelf, town_zim: Path, folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / f"{number}.zim"
        if not path.exists():
            shutil.copy(town_zim, path)
        shelf.open(str(number), [str(path)])


def descriptors_in(folder: Path) -> set[str]:
    links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    targets = [os.readlink(link) for link in links if os.path.lexists(link)]
    return {Path(target).stem for target in targets if target.startswith(str(folder))}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_the_least_recently_used_archives_are_closed_when_descriptors_run_out(town_zim: Path, tmp_path: Path) -> None:
    shelf = Shelf(descriptors=9, memory=PLENTY)

    open_copies(shelf, town_zim, tmp_path, 3)
    shelf.open("0", [str(tmp_path / "0.zim")])
    shutil.copy(town_zim, tmp_path / "3.zim")
    shelf.open("3", [str(tmp_path / "3.zim")])

    assert descriptors_in(tmp_path) == {"2", "0", "3"}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_archives_are_closed_when_memory_runs_out(town_zim: Path, tmp_path: Path) -> None:
    shelf = Shelf(descriptors=1000, memory=0)

    open_copies(shelf, town_zim, tmp_path, 3)

    assert descriptors_in(tmp_path) == {"2"}


def test_only_services_can_be_called() -> None:
    reply = main._serve(Shelf(100, PLENTY), {"function": "os:getcwd", "archive": {}, "arguments": {}})

    assert "ValueError: os" in reply["failure"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe in the file system")
def test_a_worker_without_a_server_ends_a_call_that_hangs_in_libzim(tmp_path: Path) -> None:
    """A pipe that nobody writes to makes libzim wait for ever, with Python's lock held."""
    os.mkfifo(tmp_path / "hang.zim")
    request = {
        "function": "openzim_mcp.worker.archive.metadata:describe",
        "archive": {"name": "hang", "parts": [str(tmp_path / "hang.zim")]},
        "arguments": {},
    }

    ended = subprocess.run(
        [sys.executable, "-m", "openzim_mcp.worker.main", "1024", "0.1", str(os.getpid())],
        input=pack(request),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert ended.stdout == pack({"ready": True})

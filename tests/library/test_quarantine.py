from __future__ import annotations

import os
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.library.quarantine import Quarantine
from support.archives import archive_file


def test_an_index_is_closed_without_closing_the_archive(town_zim: Path) -> None:
    archive, quarantine = archive_file(town_zim), Quarantine()

    quarantine.add(archive, "index", "it crashed the reader (SIGSEGV)")

    quarantine.check(archive, "archive")
    with pytest.raises(errors.ArchiveQuarantined):
        quarantine.check(archive, "index")


def test_an_archive_is_closed_with_its_index(town_zim: Path) -> None:
    archive, quarantine = archive_file(town_zim), Quarantine()

    quarantine.add(archive, "archive", "it crashed the reader (SIGABRT)")

    for scope in ("archive", "index"):
        with pytest.raises(errors.ArchiveQuarantined, match="SIGABRT"):
            quarantine.check(archive, scope)


def test_a_new_file_starts_anew(town_zim: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zim"
    path.write_bytes(town_zim.read_bytes())
    quarantine = Quarantine()
    quarantine.add(archive_file(path), "archive", "it crashed")

    os.utime(path, (1, 1))

    quarantine.check(archive_file(path), "archive")
    assert quarantine.of(archive_file(path)) == {}


def test_slowness_can_be_forgiven_and_a_crash_cannot(town_zim: Path) -> None:
    archive, quarantine = archive_file(town_zim), Quarantine()
    quarantine.add(archive, "archive", "it took longer than 30 s", too_slow=True)
    quarantine.add(archive, "index", "it crashed the reader")

    quarantine.forgive_slowness(archive)

    quarantine.check(archive, "archive")
    assert set(quarantine.of(archive)) == {"index"}

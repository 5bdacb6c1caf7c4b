from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.archive import ChecksumResult, Description
from openzim_mcp.library.facts import Crash, FactStore, Incident, SavedDescription
from openzim_mcp.library.scan import Scanner
from openzim_mcp.zimfile import ArchiveFile
from support.archives import archive_file, write_zim


def load(directory: Path, archive: ArchiveFile) -> ChecksumResult | None:
    """What a new process finds on disk."""
    return FactStore(str(directory)).load(archive, "checksum", ChecksumResult)


def save(directory: Path, archive: ArchiveFile, *, valid: bool) -> Path:
    FactStore(str(directory)).save(archive, "checksum", ChecksumResult(valid))
    return directory / archive.identity / "checksum.json"


def test_saved_fact_is_found_until_the_file_changes(tmp_path: Path, town_zim: Path) -> None:
    file = Path(shutil.copy(town_zim, tmp_path))
    save(tmp_path / "cache", archive_file(file), valid=True)

    assert load(tmp_path / "cache", archive_file(file)) == ChecksumResult(valid=True)
    os.utime(file, (1, 1))
    assert load(tmp_path / "cache", archive_file(file)) is None


def test_saved_fact_does_not_hold_for_another_archive(tmp_path: Path, town_zim: Path) -> None:
    file = Path(shutil.copy(town_zim, tmp_path / "a.zim"))
    before = file.stat()
    save(tmp_path / "cache", Scanner([file]).find_archive(None), valid=True)
    with file.open("r+b") as raw:
        raw.seek(8)
        raw.write(bytes(16))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert load(tmp_path / "cache", Scanner([file]).find_archive(None)) is None


def test_saved_fact_expires_after_a_month(tmp_path: Path, town_zim: Path) -> None:
    file = save(tmp_path, archive_file(town_zim), valid=True)
    saved = json.loads(file.read_text())
    file.write_text(json.dumps(saved | {"saved_at": time.time() - 31 * 86_400}))

    assert load(tmp_path, archive_file(town_zim)) is None


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"uuid": "", "saved_at": "x", "fact": {}}', "\x00"])
def test_damaged_fact_file_is_ignored_and_replaced(tmp_path: Path, town_zim: Path, content: str) -> None:
    archive = archive_file(town_zim)
    file = tmp_path / archive.identity / "checksum.json"
    file.parent.mkdir()
    file.write_text(content)

    assert load(tmp_path, archive) is None
    save(tmp_path, archive, valid=False)
    assert load(tmp_path, archive) == ChecksumResult(valid=False)


def test_unwritable_cache_keeps_facts_in_memory(town_zim: Path) -> None:
    store = FactStore("/proc/no/such/directory")
    store.save(archive_file(town_zim), "checksum", ChecksumResult(valid=True))

    assert store.load(archive_file(town_zim), "checksum", ChecksumResult) == ChecksumResult(valid=True)


def test_old_facts_are_removed_from_disk(tmp_path: Path, town_zim: Path) -> None:
    old = tmp_path / "cache" / "0123"
    old.mkdir(parents=True)
    os.utime(old, (1, 1))

    save(tmp_path / "cache", archive_file(town_zim), valid=True)

    assert not old.exists()


def test_index_is_quarantined_without_its_archive(town_zim: Path) -> None:
    archive, store = archive_file(town_zim), FactStore()

    store.quarantine(archive, "index", "it crashed the reader (SIGSEGV)", is_timeout=False)

    store.require_open(archive, asks_index=False)
    with pytest.raises(errors.ArchiveQuarantined, match="The search index of 'towns_en_all_2026-01' is quarantined"):
        store.require_open(archive, asks_index=True)


@pytest.mark.parametrize("asks_index", [False, True])
def test_archive_is_quarantined_with_its_index(town_zim: Path, *, asks_index: bool) -> None:
    archive, store = archive_file(town_zim), FactStore()

    store.quarantine(archive, "archive", "it crashed the reader (SIGABRT)", is_timeout=False)

    with pytest.raises(errors.ArchiveQuarantined, match="SIGABRT"):
        store.require_open(archive, asks_index=asks_index)


def test_changed_file_is_not_quarantined(town_zim: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(town_zim, tmp_path / "a.zim"))
    store = FactStore()
    store.quarantine(archive_file(path), "archive", "it crashed", is_timeout=False)

    os.utime(path, (1, 1))
    changed = archive_file(path)

    store.require_open(changed, asks_index=True)
    assert store.incidents(changed) == {}


def test_timeouts_are_cleared_and_crashes_are_not(town_zim: Path) -> None:
    archive, store = archive_file(town_zim), FactStore()
    store.quarantine(archive, "archive", "it took longer than 30 s", is_timeout=True)
    store.quarantine(archive, "index", "it crashed the reader", is_timeout=False)

    store.clear_timeouts(archive)

    assert set(store.incidents(archive)) == {"index"}


def test_index_crash_is_known_to_other_processes(tmp_path: Path, town_zim: Path) -> None:
    archive = archive_file(town_zim)
    store = FactStore(str(tmp_path))
    store.quarantine(archive, "index", "it crashed the reader (SIGSEGV)", is_timeout=False)
    store.quarantine(archive, "archive", "it crashed the reader (SIGABRT)", is_timeout=False)

    another = FactStore(str(tmp_path))

    assert another.incidents(archive) == {
        "index": Incident("index", "it crashed the reader (SIGSEGV)", is_timeout=False)
    }
    another.clear_incidents(archive)
    assert FactStore(str(tmp_path)).incidents(archive) == {}


def test_index_timeout_is_not_remembered(tmp_path: Path, town_zim: Path) -> None:
    archive = archive_file(town_zim)
    FactStore(str(tmp_path)).quarantine(archive, "index", "it took longer than 30 s", is_timeout=True)

    assert FactStore(str(tmp_path)).incidents(archive) == {}


def test_index_crash_of_other_software_is_forgotten(tmp_path: Path, town_zim: Path) -> None:
    archive = archive_file(town_zim)
    FactStore(str(tmp_path)).save(archive, "index_crash", Crash("it crashed the reader", "libzim 1.0"))

    assert FactStore(str(tmp_path)).incidents(archive) == {}


def test_facts_of_removed_files_are_forgotten_except_crashes(tmp_path: Path) -> None:
    for name in ("removed", "crashed", "kept"):
        write_zim(tmp_path / f"{name}.zim", {name: name})
    store = FactStore()
    scanner = Scanner([tmp_path], store)
    archives = {archive.name: archive for archive in scanner.scan().archives}
    store.quarantine(archives["crashed"], "archive", "it crashed", is_timeout=False)
    for name in ("removed", "crashed"):
        (tmp_path / f"{name}.zim").unlink()

    scanner.scan()

    assert {name for name, archive in archives.items() if store.of(archive.identity).header} == {"crashed", "kept"}


def test_descriptions_are_known_to_other_processes_if_wanted(tmp_path: Path, town_zim: Path) -> None:
    archive = archive_file(town_zim)
    description = Description("Towns", "", "eng", "", "", "", 3, None, False, None, True, True, False, "other")
    FactStore(str(tmp_path / "kept")).save_descriptions([(archive, description)])
    FactStore(str(tmp_path / "not"), keeps_descriptions=False).save_descriptions([(archive, description)])

    another = FactStore(str(tmp_path / "kept"))
    another.load_descriptions([archive])

    assert another.of(archive.identity).description == description
    assert not (tmp_path / "not").exists()


def test_description_of_another_version_is_not_used(tmp_path: Path, town_zim: Path) -> None:
    archive, store = archive_file(town_zim), FactStore(str(tmp_path))
    description = Description("Towns", "", "eng", "", "", "", 3, None, False, None, True, True, False, "other")
    store.save(archive, "description", SavedDescription("0.1", description))

    store.load_descriptions([archive])

    assert store.of(archive.identity).is_new

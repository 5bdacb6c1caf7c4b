from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openzim_mcp import errors, files
from openzim_mcp.calls.archive import BuildPassageIndex, PassageIndexResult
from openzim_mcp.worker.jobs import passage_index as job
from openzim_mcp.worker.jobs.passage_index import build_passage_index
from openzim_mcp.worker.search.passage_index import index_path, open_trigrams
from openzim_mcp.worker.zim import Archive, Item
from support.archives import build_index, write_zim

PAGES = {
    "One": "<h1>One</h1><p>A lantern in the fog.</p>",
    "Two": "<h1>Two</h1><p>Fog and rain.</p>",
    "notes.txt": "A plain note on rain.",
    "style.css": "body { color: rain }",
    "data.json": '{"rain": 1}',
}


@pytest.fixture
def zim(tmp_path: Path) -> Path:
    return write_zim(tmp_path / "x.zim", PAGES, index=False, redirects={"Uno": "One"})


def test_all_texts_are_indexed_and_progress_is_reported(zim: Path) -> None:
    steps: list[tuple[int, int]] = []

    result = build_passage_index([str(zim)], BuildPassageIndex(), lambda done, total: steps.append((done, total)))

    index = open_trigrams(Archive("x", [str(zim)]))
    assert index is not None
    assert (result.state, result.passages, result.skipped) == ("complete", 3, 0)
    assert (index.frequency("rain"), index.frequency("lantern")) == (2, 1)
    assert steps[0] == (0, 3)
    assert all(done <= total for done, total in steps)


def test_damaged_pages_are_skipped(zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_document = job.read_document

    def read(archive: Archive, item: Item) -> object:
        if item.path == "One":
            raise errors.ArchiveUnusable("damaged")
        return read_document(archive, item)

    monkeypatch.setattr(job, "read_document", read)

    result = build_index(zim)

    assert (result.state, result.passages, result.skipped) == ("complete", 2, 1)


def test_archive_with_very_many_entries_is_not_read(zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_MAX_ENTRIES", 3)
    monkeypatch.setattr(job, "read_document", lambda *_: pytest.fail("a page was read"))

    assert build_index(zim).state == "too_large"


def test_only_one_process_builds_an_index(zim: Path) -> None:
    path = index_path(Archive("x", [str(zim)]).identity)
    os.makedirs(os.path.dirname(path))
    with open(f"{path}.lock", "wb") as lock:
        assert files.try_lock(lock.fileno())

        assert build_index(zim) == PassageIndexResult(None)
    assert build_index(zim).state == "complete"


def test_interrupted_build_leaves_the_old_index(zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(zim)
    path = Path(index_path(Archive("x", [str(zim)]).identity))
    before = path.read_bytes()
    monkeypatch.setattr(job, "read_document", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        build_index(zim)

    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir() if file.suffix == ".part"] == []


ENDING_BUILD = """
import os, sys
from openzim_mcp.calls.archive import BuildPassageIndex
from openzim_mcp.worker.jobs import passage_index as job

def ending_at(read):
    return lambda archive, item: os._exit(3) if item.path in sys.argv[2:] else read(archive, item)

job.read_document, job.read_whole = ending_at(job.read_document), ending_at(job.read_whole)
print(job.build_passage_index(sys.argv[1:2], BuildPassageIndex(), lambda *_: None).skipped)
"""


def build_until_ended(zim: Path, *paths: str) -> subprocess.CompletedProcess[bytes]:
    """Build the index in a process that ends when it reads one of some entries."""
    command = [sys.executable, "-c", ENDING_BUILD, str(zim), *paths]
    return subprocess.run(command, check=False, capture_output=True)


def test_document_is_indexed_after_one_process_ended_while_reading_it(zim: Path) -> None:
    ended = build_until_ended(zim, "notes.txt")

    result = build_index(zim)

    assert ended.returncode == 3
    assert (result.state, result.passages, result.skipped) == ("complete", 3, 0)


def test_entries_that_end_two_processes_each_are_left_out(zim: Path) -> None:
    runs = [build_until_ended(zim, "Two", "notes.txt") for _ in range(5)]

    assert [run.returncode for run in runs] == [3, 3, 3, 3, 0]
    assert runs[-1].stdout.split() == [b"2"]
    assert not Path(f"{index_path(Archive('x', [str(zim)]).identity)}.reading").exists()


def test_unwritable_cache_is_an_error(zim: Path) -> None:
    directory = Path(files.archives_directory())
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.write_text("a file where a directory should be")

    with pytest.raises(errors.FileNotWritable, match="The index of 'x' cannot be written"):
        build_index(zim)

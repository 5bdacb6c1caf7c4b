from __future__ import annotations

import os
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


def test_unwritable_cache_is_an_error(zim: Path) -> None:
    directory = Path(files.archives_directory())
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.write_text("a file where a directory should be")

    with pytest.raises(errors.FileNotWritable, match="The index of 'x' cannot be written"):
        build_index(zim)

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp.calls.archive import PassageIndexResult
from openzim_mcp.worker.search import index_file
from openzim_mcp.worker.search.passage_index import index_path, open_trigrams, read_state, tokens_of, using_words
from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.search.word_index import WordIndex
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim

PAGES = {"Frogs": "<h1>Frogs</h1><p>Frogs sing in the rain.</p>", "Rain": "<h1>Rain</h1><p>Rain falls in autumn.</p>"}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive("x", [str(write_zim(tmp_path / "x.zim", PAGES))])


def build(archive: Archive) -> PassageIndexResult:
    return build_index(Path(archive._parts[0]))


def open_index(archive: Archive) -> WordIndex | None:
    with using_words(archive) as index:
        return index


def find(archive: Archive, word: str) -> list[str]:
    index = open_index(archive)
    assert index is not None
    return [page.path for page in index.find_pages([Term(word, word, 1, 1.0)], 10)]


def test_index_stays_open_with_its_archive(archive: Archive) -> None:
    assert open_index(archive) is None
    build(archive)

    assert isinstance(open_index(archive), WordIndex)
    assert open_index(archive) is open_index(archive)


def damage(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def set_property(path: Path, name: str, value: str) -> None:
    database = sqlite3.connect(path)
    database.execute("UPDATE properties SET value = ? WHERE name = ?", (value, name))
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "change",
    [
        damage,
        truncate,
        lambda path: path.write_bytes(b""),
        lambda path: set_property(path, "version", "0"),
        lambda path: set_property(path, "uuid", "of another archive"),
    ],
)
def test_unusable_index_is_ignored_and_built_again(archive: Archive, change: Callable[[Path], None]) -> None:
    build(archive)
    change(Path(index_path(archive.identity)))

    assert (open_index(archive), read_state(archive)) == (None, None)
    build(archive)
    assert find(archive, "frog") == ["Frogs"]


def test_changed_file_has_another_index(archive: Archive, tmp_path: Path) -> None:
    build(archive)
    changed = Archive("x", [str(write_zim(tmp_path / "y.zim", PAGES))])

    assert open_index(changed) is None
    assert index_path(changed.identity) != index_path(archive.identity)


def test_large_archive_is_recorded_as_such(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_file, "MAX_TEXT_BYTES", 40)

    result = build(archive)

    assert (result.state, result.passages) == ("too_large", 0)
    assert (open_index(archive), read_state(archive)) == (None, "too_large")


def test_index_that_fails_while_it_is_used_is_removed(archive: Archive) -> None:
    build(archive)

    with using_words(archive) as index:
        assert index is not None
        raise sqlite3.DatabaseError("database disk image is malformed")

    assert (open_index(archive), read_state(archive)) == (None, None)


@pytest.mark.parametrize(
    ("language", "index", "tokens"),
    [("eng", True, "english"), ("eng,fra", True, "stems"), ("eng", False, "trigrams"), ("eng,lao", True, "trigrams")],
)
def test_tokens_are_trigrams_where_libzim_finds_no_words(
    tmp_path: Path, language: str, tokens: str, *, index: bool
) -> None:
    path = write_zim(tmp_path / "x.zim", PAGES, index=index, metadata={"Language": language})
    archive = Archive("x", [str(path)])
    build(archive)

    assert tokens_of(archive) == tokens
    assert (open_index(archive) is not None, open_trigrams(archive) is not None) == (
        tokens != "trigrams",
        tokens == "trigrams",
    )

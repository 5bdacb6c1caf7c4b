from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from openzim_mcp.calls.archive import PassageIndexResult
from openzim_mcp.worker.search import passage_index
from openzim_mcp.worker.search.passage_index import PassageIndex, index_path, needs_index, open_index, read_state
from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim

PAGES = {
    "Frogs": "<h1>Frogs</h1><p>Frogs sing in the rain.</p><h2>Food</h2><p>They eat flies, and AC current hurts.</p>",
    "Rain": "<h1>Rain</h1><p>Rain falls in autumn.</p>",
    "กบนา": "<h1>กบนา</h1><p>กบกินแมลงในทุ่งนา</p>",
    "蛙": "<h1>蛙</h1><p>雨の日に蛙が鳴く。</p>",
}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive("x", [str(write_zim(tmp_path / "x.zim", PAGES, index=False))])


def build(archive: Archive) -> PassageIndexResult:
    return build_index(Path(archive._parts[0]))


def build_and_open(archive: Archive) -> PassageIndex:
    build(archive)
    index = open_index(archive)
    assert index is not None
    return index


def find(index: PassageIndex, *words: str) -> list[str]:
    terms = [Term(word, word, index.frequency(word), 1.0) for word in words]
    return list(index.score_pages(terms, 10))


@pytest.mark.parametrize(
    ("word", "frequency"),
    [
        ("frog", 1),
        ("rain", 2),
        ("ac", 1),
        ("a", 0),
        ("แมล", 1),
        ("กบ", 1),
        ("雨", 1),
        ("蛙か", 1),
        ("lemur", 0),
        ('"', 0),
        ('a" OR "b', 0),
        ("", 0),
    ],
)
def test_word_frequency_counts_passages(archive: Archive, word: str, frequency: int) -> None:
    assert build_and_open(archive).frequency(word) == frequency


@pytest.mark.parametrize(
    ("words", "paths"),
    [
        (["frog"], ["Frogs"]),
        (["rain"], ["Rain", "Frogs"]),
        (["flies", "lemur"], ["Frogs"]),
        (["กบก", "กิน"], ["กบนา"]),
        (["lemur"], []),
    ],
)
def test_pages_are_found_by_their_passages_and_titles(archive: Archive, words: list[str], paths: list[str]) -> None:
    assert find(build_and_open(archive), *words) == paths


def test_index_stays_open_with_its_archive(archive: Archive) -> None:
    assert open_index(archive) is None
    assert build_and_open(archive) is open_index(archive)


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
def test_unusable_index_is_ignored_and_built_again(archive: Archive, change: object) -> None:
    build(archive)
    change(Path(index_path(archive.identity)))  # type: ignore[operator]

    assert (open_index(archive), read_state(archive)) == (None, None)
    assert find(build_and_open(archive), "frog") == ["Frogs"]


def test_changed_file_has_another_index(archive: Archive, tmp_path: Path) -> None:
    build(archive)
    changed = Archive("x", [str(write_zim(tmp_path / "y.zim", PAGES, index=False))])

    assert open_index(changed) is None
    assert index_path(changed.identity) != index_path(archive.identity)


def test_large_archive_is_recorded_as_such(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_index, "MAX_TEXT_BYTES", 50)

    result = build(archive)

    assert (result.state, result.passages) == ("too_large", 0)
    assert (open_index(archive), read_state(archive)) == (None, "too_large")


@pytest.mark.parametrize(("language", "index"), [("eng", False), ("tha", True), ("eng,lao", True)])
def test_index_is_needed_where_libzim_finds_no_words(tmp_path: Path, language: str, *, index: bool) -> None:
    path = write_zim(tmp_path / "x.zim", PAGES, index=index, metadata={"Language": language})

    assert needs_index(Archive("x", [str(path)]))


def test_index_is_not_needed_beside_a_working_one(isles: Archive) -> None:
    assert not needs_index(isles)

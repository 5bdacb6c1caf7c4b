from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search.passage_index import open_trigrams
from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.search.trigram_index import TrigramIndex
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


def build_and_open(archive: Archive) -> TrigramIndex:
    build_index(Path(archive._parts[0]))
    index = open_trigrams(archive)
    assert index is not None
    return index


def find(index: TrigramIndex, *words: str) -> list[str]:
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

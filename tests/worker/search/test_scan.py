from __future__ import annotations

from pathlib import Path

from openzim_mcp.worker.search import scan
from openzim_mcp.worker.search.language import language_of
from openzim_mcp.worker.zim import Archive


def test_every_text_is_scanned(isles: Archive) -> None:
    words = language_of("eng", "").content_words("herring amber")

    scanned = scan.texts(isles, words, 5.0)

    assert [(term.word, term.frequency) for term in scanned.terms] == [("herring", 3), ("amber", 1)]
    assert max(scanned.scored, key=lambda path: scanned.scored[path]) == "Ravenport"
    assert scanned.note == "It has no full-text index: all 17 articles were read."


def test_scan_ends_at_the_time_limit(isles: Archive) -> None:
    scanned = scan.texts(isles, language_of("eng", "").content_words("herring"), 0.0)

    assert scanned.scored == {}
    assert scanned.note.endswith("0 articles were read in the time there was.")


def test_large_archive_is_not_scanned(zims: Path) -> None:
    archive = Archive("ay", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    scanned = scan.texts(archive, language_of("aym", "").content_words("uta"), 5.0)

    assert scanned.scored == {}
    assert "too many to read" in scanned.note

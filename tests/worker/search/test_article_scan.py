from __future__ import annotations

from pathlib import Path

from openzim_mcp.worker.search.article_scan import scan_articles
from openzim_mcp.worker.search.language import detect_language
from openzim_mcp.worker.zim import Archive


def test_every_text_is_scanned(isles: Archive) -> None:
    words = detect_language("eng", "").content_words("herring amber")

    scan = scan_articles(isles, words, 5.0)

    assert [(term.word, term.frequency) for term in scan.terms] == [("herring", 3), ("amber", 1)]
    assert max(scan.scores, key=lambda path: scan.scores[path]) == "Ravenport"
    assert scan.note == "It has no full-text index: all 17 articles were read."


def test_scan_ends_at_the_time_limit(isles: Archive) -> None:
    scan = scan_articles(isles, detect_language("eng", "").content_words("herring"), 0.0)

    assert scan.scores == {}
    assert scan.note.endswith("0 articles were read within the time limit.")


def test_large_archive_is_not_scanned(zims: Path) -> None:
    archive = Archive("ay", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    scan = scan_articles(archive, detect_language("aym", "").content_words("uta"), 5.0)

    assert scan.scores == {}
    assert "too many to read" in scan.note

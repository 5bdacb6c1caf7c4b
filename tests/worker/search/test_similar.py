from __future__ import annotations

from pathlib import Path

from openzim_mcp.calls.reading import FindSimilar
from openzim_mcp.worker.search.similar import find_similar
from openzim_mcp.worker.zim import Archive


def similar_paths(zims: Path, archive: str, path: str) -> list[str]:
    opened = Archive("a", [str(zims / f"{archive}.zim")])
    return [row.path for row in find_similar(opened, FindSimilar(path, 0, 10, scan_seconds=5.0)).related]


def test_articles_with_the_same_words_are_similar(zims: Path) -> None:
    assert similar_paths(zims, "built/wiki_real_pub", "Hermitian_matrix")[0] == "LU_decomposition"
    assert "walformat" in similar_paths(zims, "real/devdocs_en_sqlite_2025-04", "wal")
    assert similar_paths(zims, "built/se_coffee", "questions/1")[0] == "questions/12/how-should-i-store-ground-coffee"


def test_article_is_not_similar_to_itself(zims: Path) -> None:
    assert "wal" not in similar_paths(zims, "real/devdocs_en_sqlite_2025-04", "wal")


def test_articles_that_share_a_word_by_chance_are_left_out(zims: Path) -> None:
    assert similar_paths(zims, "built/wiki_real_pub", "Python_(programming_language)") == []

from __future__ import annotations

import itertools

import pytest

from openzim_mcp.library.names import candidate_names, newest_editions, split_date


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("wiki_en_all_maxi_2026-01", ("wiki_en_all_maxi", "2026-01")),
        ("wiki_en_2026-01-15", ("wiki_en", "2026-01-15")),
        ("wiki_en_2026-01a", ("wiki_en", "2026-01a")),
        ("wiki_en_all", ("wiki_en_all", "")),
        ("2026-01", ("2026-01", "")),
    ],
)
def test_name_is_split_into_base_and_date(name: str, parts: tuple[str, str]) -> None:
    assert split_date(name) == parts


def test_newest_edition_is_found_by_the_base_name() -> None:
    names = ["Wiki_en_2026-01", "Wiki_en_2026-02a", "Wiki_en_2026-02", "manual"]

    assert newest_editions(names) == {"wiki_en": "Wiki_en_2026-02a"}


def test_equal_file_names_get_different_names() -> None:
    names = itertools.islice(candidate_names("/zims/books/novel.ZIM"), 4)

    assert list(names) == ["novel", "novel@books", "novel@books~2", "novel@books~3"]

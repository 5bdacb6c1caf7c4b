"""Titles of a large archive; what makes it large is lowered, so that a small one is found in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.reading import FindClosestTitle
from openzim_mcp.calls.search import FindTitles, SearchText, SuggestTitles
from openzim_mcp.worker.search import archive_size, title_ranges
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.search.spelling import correct_word
from openzim_mcp.worker.search.title_ranges import has_title_ranges
from openzim_mcp.worker.search.titles import exact_titles, find_closest_title, find_titles, suggest_titles
from openzim_mcp.worker.zim import Archive, TitleMatch
from openzim_mcp.worker.zim import archive as open_archive
from support.archives import write_zim

NAMES = ("Sand", "Sandal", "Sandstone", "San_Marino", "San_Marino_(band)", "Zebra", "Zürich", "apple")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    monkeypatch.setattr(open_archive, "_MIN_LANDMARKED_ENTRIES", 1)
    monkeypatch.setattr(title_ranges, "_MIN_ENTRIES", 1)
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)
    filler = {f"Town_{number:03}": f"<p>A town with the number {number} in the sand.</p>" for number in range(300)}
    pages = filler | {name: f"<p>{name} is a thing of stone.</p>" for name in NAMES}
    redirects = {f"Republic {number}": "San_Marino" for number in range(5)} | {"Saint Marinus": "San_Marino"}
    return Archive("x", [str(write_zim(tmp_path / "x.zim", pages, redirects=redirects))])


class WithoutSuggestions(Archive):
    """An archive whose title index must not be asked, as that reads hundreds of places of a large one."""

    def suggest_paths(self, text: str, limit: int) -> list[str]:
        raise AssertionError((text, limit))


class WithoutLookUps(Archive):
    """An archive in which no path is looked up, as that reads more places than a range of paths."""

    def look_up(self, *, path: str | None = None, title: str | None = None) -> TitleMatch | None:
        raise AssertionError((path, title))


def suggest(archive: Archive, text: str) -> list[str]:
    return [row.title for row in suggest_titles(archive, SuggestTitles(text, 0, 10)).suggestions]


def test_archive_is_large(large: Archive) -> None:
    assert has_title_ranges(large)


def test_suggestions_start_with_the_text_and_the_important_come_first(large: Archive) -> None:
    titles = suggest(large, "san")

    assert set(titles) == {"Sand", "Sandal", "Sandstone", "San Marino", "San Marino (band)"}
    assert titles[0] == "San Marino"


@pytest.mark.parametrize(("text", "first"), [("San marino", "San Marino"), ("SAND", "Sand"), ("apple", "apple")])
def test_exact_title_is_suggested_first(large: Archive, text: str, first: str) -> None:
    assert suggest(large, text)[0] == first


def test_word_inside_a_title_is_suggested_if_none_starts_with_it(large: Archive) -> None:
    assert suggest(large, "marino")[0].startswith("San Marino")


@pytest.mark.parametrize(
    ("text", "title", "match"),
    [
        ("Sandstone", "Sandstone", "exact"),
        ("saint marinus", "San Marino", "redirect"),
        ("Sandstne", "Sandstone", "fuzzy"),
        ("Zebar", "Zebra", "fuzzy"),
    ],
)
def test_title_is_found(large: Archive, text: str, title: str, match: str) -> None:
    best = find_titles(large, FindTitles(text, 0, 5)).results[0]

    assert (best.title, best.match) == (title, match)


def test_title_that_is_not_there_is_looked_for_in_ranges_only(large: Archive) -> None:
    archive = WithoutLookUps("x", large._parts)

    assert exact_titles(archive, "Quxbury wendlebar", frozenset()) == {}
    assert exact_titles(large, "san marino", frozenset()) == {"San_Marino": "exact"}


def test_articles_with_the_words_of_a_title_are_named_without_look_ups(large: Archive) -> None:
    closest = find_closest_title(WithoutLookUps("x", large._parts), FindClosestTitle("thing of sandstone"))

    assert (closest.path, [row.title for row in closest.did_you_mean]) == (None, ["Sandstone"])


def test_title_that_is_not_there_is_not_found(large: Archive) -> None:
    assert find_titles(large, FindTitles("Quxbury Wendlebar", 0, 5)).results == []


def test_pages_of_a_long_list_are_parts_of_one_list(large: Archive) -> None:
    first = search_text(large, SearchText("town", 0, 10, 100, 5))
    paths = [
        row.path
        for offset in range(0, first.listed, 100)
        for row in search_text(large, SearchText("town", offset, 100, 100, 5)).results
    ]

    assert first.total == first.listed == 300
    assert len(paths) == len(set(paths)) == 300
    assert paths[:10] == [row.path for row in first.results]


def test_closest_title_is_found_by_the_range_of_its_start(large: Archive) -> None:
    assert find_closest_title(large, FindClosestTitle("San_Marinos")).path == "San_Marino"
    assert find_closest_title(large, FindClosestTitle("Quxbury Wendlebar")).path is None


def test_word_is_corrected_to_one_of_a_title_without_the_title_index(large: Archive) -> None:
    archive = WithoutSuggestions(large.name, large._parts)

    assert correct_word(archive, "sandsdune") == "sandstone"


def test_unknown_word_is_looked_up_in_few_places_of_a_large_archive(large: Archive) -> None:
    words, titles = [], []

    class Recorded(Archive):
        def frequency(self, words_: str) -> int:
            words.append(words_)
            return super().frequency(words_)

        def look_up(self, *, title: str | None = None, path: str | None = None) -> TitleMatch | None:
            titles.append(title)
            return super().look_up(title=title, path=path)

    assert correct_word(Recorded(large.name, large._parts), "qwxzkv") is None
    assert {word for word in words if word[1:] == "qwxzkv"} == {"qqwxzkv"}  # a doubled letter
    assert set(titles) == {None}

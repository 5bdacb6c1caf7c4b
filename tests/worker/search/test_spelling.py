from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.worker.search.language import language_by_code
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.search.spelling import correct_word, is_other_form
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

NAMES = {
    "John_Lennon": "<p>John Lennon was a singer of the Beatles. He liked coffee.</p>",
    "John_of_Gaunt": "<p>John was a duke who handled horses and bred a lynx.</p>",
    "Mediterranean_Sea": "<p>The Mediterranean lies between three continents.</p>",
    "Fyodor_Dostoyevsky": "<p>Dostoyevsky wrote novels about bridges.</p>",
    "Lin_Dan": "<p>Lin Dan plays badminton; Lin is a name, and cafés are bridges.</p>",
    "Divers": "<p>Divers work below water with bridges, and a bride waits.</p>",
}


@pytest.fixture
def names(tmp_path: Path) -> Archive:
    return Archive("names", [str(write_zim(tmp_path / "names.zim", NAMES))])


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("harbor", "harbour"),
        ("hrabour", "harbour"),
        ("harbouur", "harbour"),
        ("habrour", "harbour"),
        ("zuerich", "zurich"),
        ("strasse", "straße"),
        ("alderwycc", "alderwick"),
        ("norrebros", "nørrebros"),
        ("lanternfish", "lantern fish"),
        ("herringrope", None),
        ("xylophone", None),
        ("isl", None),
        ("1743x", None),
    ],
)
def test_word_is_corrected_by_archive_words(isles: Archive, wrong: str, right: str | None) -> None:
    assert correct_word(isles, wrong) == right


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("jhon", "john"),
        ("lenon", "lennon"),
        ("beetles", "beatles"),
        ("mediteranian", "mediterranean"),
        ("dostoevski", "dostoyevsky"),
        ("nediterranean", "mediterranean"),
        ("editerranean", "mediterranean"),
    ],
)
def test_names_and_long_words_are_corrected(names: Archive, wrong: str, right: str) -> None:
    assert correct_word(names, wrong) == right


@pytest.mark.parametrize("word", ["handlers", "bridged", "divert", "johns", "johner"])
def test_string_with_the_stem_of_a_word_is_not_a_correction(names: Archive, word: str) -> None:
    assert parse_query(names, word).corrected == {}


@pytest.mark.parametrize("word", ["lion", "brine", "divas", "novella"])
def test_another_word_is_not_taken_for_a_typo(names: Archive, word: str) -> None:
    assert correct_word(names, word) is None


@pytest.mark.parametrize(
    ("language", "word", "other", "expected"),
    [
        ("en", "divers", "diver", True),
        ("en", "plutoniun", "plutonium", False),
        ("ru", "принтер", "принтера", True),
        ("ru", "чернои", "черное", True),
        ("ru", "лондн", "лондон", False),
    ],
)
def test_words_that_differ_by_a_suffix_are_forms_of_one(language: str, word: str, other: str, expected: bool) -> None:  # noqa: FBT001
    assert is_other_form(word, other, language_by_code(language).stem) == expected


@pytest.mark.parametrize(
    ("word", "right"),
    [("harbor", "harbour"), ("honkong", "hong kong"), ("anchorage", None), ("quayside", None)],
)
def test_misspelled_title_is_corrected_to_the_one_that_it_redirects_to(
    tmp_path: Path, word: str, right: str | None
) -> None:
    pages = {"Harbour": "<p>A harbour.</p>", "Hong_Kong": "<p>Hong Kong has one.</p>", "Quayside": "<p>A street.</p>"}
    redirects = {"Harbor": "Harbour", "Honkong": "Hong_Kong", "Anchorage": "Harbour"}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, redirects=redirects))])

    assert correct_word(archive, word) == right


def test_cyrillic_word_is_corrected(zims: Path) -> None:
    archive = Archive("nonlatin", [str(zims / "built/nonlatin_pub.zim")])

    assert correct_word(archive, "устанвка") == "установка"


@pytest.mark.parametrize(("word", "max_lookups"), [("hrabour", 30), ("photosinthesis", 200), ("xylophone", 450)])
def test_number_of_lookups_is_bounded(
    isles: Archive, word: str, max_lookups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups: Counter[str] = Counter()

    def count(name: str) -> None:
        method = getattr(isles, name)

        def counted(*arguments: Any, **keywords: Any) -> Any:
            lookups[name] += 1
            return method(*arguments, **keywords)

        monkeypatch.setattr(isles, name, counted)

    for name in ("frequency", "look_up", "suggest_paths", "search_paths"):
        count(name)
    correct_word(isles, word)
    asked_once = lookups.total()
    correct_word(isles, word)

    assert 0 < asked_once <= max_lookups
    assert lookups.total() == asked_once

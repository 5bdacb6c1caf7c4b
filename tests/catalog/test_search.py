from __future__ import annotations

import pytest

from openzim_mcp import errors
from openzim_mcp.catalog import search
from openzim_mcp.catalog.catalog import Catalogue, Entry
from openzim_mcp.catalog.search import Wish
from support.catalog_entries import entry

MINI = entry("wikipedia_en_all", "mini", size=10**9)
MAXI = entry("wikipedia_en_all", "maxi", size=10**11)
OLD = entry("wikipedia_en_all", "maxi", "2025-01")
COFFEE = entry("coffee.stackexchange.com_en_all", title="Café", summary="All about coffee", category="stack_exchange")
GERMAN = entry("wikipedia_de_all", "nopic", languages=("deu",), size=None, summary="Freie Enzyklopädie")
SHOWN = entry("shown_en_all", url=None, category="other")
LIBRARY = Catalogue("https://lb.example", (OLD, MINI, MAXI, COFFEE, GERMAN, SHOWN), 0)

SEARCHES = [
    (Wish(), [COFFEE, SHOWN, GERMAN, MINI, MAXI]),
    (Wish(["WIKIPEDIA", "all"]), [GERMAN, MINI, MAXI]),
    (Wish(["wikipedia all"]), [GERMAN, MINI, MAXI]),
    (Wish(["cafe"]), [COFFEE]),
    (Wish(["enzyklopadie"]), [GERMAN]),
    (Wish(language="de"), [GERMAN]),
    (Wish(language="deu"), [GERMAN]),
    (Wish(category="Stack_Exchange"), [COFFEE]),
    (Wish(flavour="maxi"), [MAXI]),
    (Wish(max_size=10**9), [COFFEE, SHOWN, MINI]),
    (Wish(["nothing"]), []),
]


@pytest.mark.parametrize(("wish", "found"), SEARCHES)
def test_archives_are_found_by_words_and_limits(wish: Wish, found: list[Entry]) -> None:
    assert search.search(LIBRARY, wish) == found


NAMES = [
    ("wikipedia_en_all_maxi", None, MAXI),
    ("Wikipedia_en_all_maxi.zim", None, MAXI),
    ("wikipedia_en_all", "maxi", MAXI),
    ("wikipedia_en_all_maxi_2025-01", None, OLD),
    ("wikipedia_en_all_maxi_2019-01", None, MAXI),
    ("wikipedia_de_all", None, GERMAN),
]


@pytest.mark.parametrize(("name", "flavour", "chosen"), NAMES)
def test_a_name_means_its_newest_file(name: str, flavour: str | None, chosen: Entry) -> None:
    assert search.choose(LIBRARY, name, flavour) == chosen


REFUSALS = [
    ("wikipedia_en_all", "several flavours: wikipedia_en_all_mini, wikipedia_en_all_maxi", "wikipedia_en_all_mini"),
    ("wikipedia_en_al_maxi", "has no archive 'wikipedia_en_al_maxi'", "wikipedia_en_all_maxi"),
    ("stackexchange", "has no archive", "coffee.stackexchange.com_en_all"),
    ("\x1b[31mzzz", "no archive '[31mzzz'", "openzim-mcp catalog"),
    ("shown_en_all", "does not say where its file is", "library they came from"),
]


@pytest.mark.parametrize(("name", "message", "hint"), REFUSALS)
def test_a_name_that_means_nothing_or_several_is_explained(name: str, message: str, hint: str) -> None:
    with pytest.raises(errors.NotInCatalog) as caught:
        search.choose(LIBRARY, name)

    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(("flavour", "words"), [("mini", "introductions"), ("nopic", "no pictures"), ("odd", "odd")])
def test_a_flavour_is_said_in_words(flavour: str, words: str) -> None:
    assert words in search.explain(flavour)

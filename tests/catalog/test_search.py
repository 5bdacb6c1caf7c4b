from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.catalog import search
from openzim_mcp.catalog.catalog import Catalog, CatalogEntry
from openzim_mcp.catalog.search import Filter
from openzim_mcp.library.scan import Scanner
from openzim_mcp.zimfile import ZimFile
from support.catalog_entries import make_entry

MINI = make_entry("wikipedia_en_all", "mini", size=10**9)
MAXI = make_entry("wikipedia_en_all", "maxi", size=10**11)
OLD = make_entry("wikipedia_en_all", "maxi", "2025-01")
COFFEE = make_entry(
    "coffee.stackexchange.com_en_all", title="Café", summary="All about coffee", category="stack_exchange"
)
GERMAN = make_entry("wikipedia_de_all", "nopic", languages=("deu",), size=None, summary="Freie Enzyklopädie")
LISTED = make_entry("listed_en_all", url=None, category="other")
CATALOG = Catalog("https://lb.example", (OLD, MINI, MAXI, COFFEE, GERMAN, LISTED), 0)

SEARCHES = [
    (Filter(), [COFFEE, LISTED, GERMAN, MINI, MAXI]),
    (Filter(["WIKIPEDIA", "all"]), [GERMAN, MINI, MAXI]),
    (Filter(["wikipedia all"]), [GERMAN, MINI, MAXI]),
    (Filter(["cafe"]), [COFFEE]),
    (Filter(["enzyklopadie"]), [GERMAN]),
    (Filter(language="de"), [GERMAN]),
    (Filter(language="deu"), [GERMAN]),
    (Filter(category="Stack_Exchange"), [COFFEE]),
    (Filter(flavour="maxi"), [MAXI]),
    (Filter(max_size=10**9), [COFFEE, LISTED, MINI]),
    (Filter(["nothing"]), []),
]


@pytest.mark.parametrize(("filters", "entries"), SEARCHES)
def test_search_applies_words_and_filters(filters: Filter, entries: list[CatalogEntry]) -> None:
    assert search.search_catalog(CATALOG, filters) == entries


NAMES = [
    ("wikipedia_en_all_maxi", None, MAXI),
    ("Wikipedia_en_all_maxi.zim", None, MAXI),
    ("wikipedia_en_all", "maxi", MAXI),
    ("wikipedia_en_all_maxi_2025-01", None, OLD),
    ("wikipedia_en_all_maxi_2019-01", None, MAXI),
    ("wikipedia_de_all", None, GERMAN),
]


@pytest.mark.parametrize(("name", "flavour", "entry"), NAMES)
def test_name_selects_the_newest_edition(name: str, flavour: str | None, entry: CatalogEntry) -> None:
    assert search.find_entry(CATALOG, name, flavour) == entry


NAME_ERRORS = [
    ("wikipedia_en_all", "several flavours: wikipedia_en_all_mini, wikipedia_en_all_maxi", "wikipedia_en_all_mini"),
    ("wikipedia_en_al_maxi", "has no archive 'wikipedia_en_al_maxi'", "wikipedia_en_all_maxi"),
    ("stackexchange", "has no archive", "coffee.stackexchange.com_en_all"),
    ("\x1b[31mzzz", "no archive '[31mzzz'", "openzim-mcp catalog"),
    ("listed_en_all", "lists 'listed_en_all' without a usable URL for its file", "library that they came from"),
]


@pytest.mark.parametrize(("name", "message", "hint"), NAME_ERRORS)
def test_unknown_or_ambiguous_name_is_explained(name: str, message: str, hint: str) -> None:
    with pytest.raises(errors.NotInCatalog) as caught:
        search.find_entry(CATALOG, name)

    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(("flavour", "words"), [("mini", "introductions"), ("nopic", "no pictures"), ("odd", "odd")])
def test_flavour_is_described_in_words(flavour: str, words: str) -> None:
    assert words in search.describe_flavour(flavour)


NEW = make_entry("wiki_en_all", "maxi", "2026-01")


def install(folder: Path, *names: str, copy_of: Path | None = None) -> list[search.InstalledArchive]:
    for name in names:
        if copy_of:
            shutil.copy(copy_of, folder / name)
        else:
            (folder / name).write_bytes(b"not an archive")
    return search.describe_installed(Scanner([folder]).scan().archives)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("wiki_en_all_maxi_2026-01.zim", "installed"),
        ("wiki_en_all_maxi_2026-02.zim", "installed"),
        ("Wiki_en_all_maxi_2026-01-20.zim", "installed"),
        ("wiki_en_all_maxi_2025-12.zim", "outdated"),
        ("wiki_en_all_maxi_2025-12.zimaa", "outdated"),
        ("wiki_en_all_maxi.zim", "outdated"),
        ("wiki_en_all_mini_2026-01.zim", "absent"),
        ("other.zim", "absent"),
    ],
)
def test_install_state_follows_name_and_date(tmp_path: Path, name: str, state: str) -> None:
    assert search.install_state(NEW, install(tmp_path, name)) == state


def test_renamed_archive_is_recognized_by_uuid(tmp_path: Path, town_zim: Path) -> None:
    uuid = ZimFile([str(town_zim)]).header().uuid
    entry = make_entry("wiki_en_all", "maxi", "2026-01", id=uuid)

    assert search.install_state(entry, install(tmp_path, "mine.zim", copy_of=town_zim)) == "installed"


def test_update_replaces_the_newest_installed_edition(tmp_path: Path) -> None:
    installed = install(tmp_path, "wiki_en_all_maxi_2024-01.zim", "wiki_en_all_maxi_2025-01.zim")

    (update,) = search.find_updates(Catalog("", (NEW,), 0), installed)

    assert update.old.date == "2025-01"
    assert (update.new, update.file_name) == (NEW, "wiki_en_all_maxi_2026-01.zim")


def test_installed_update_is_not_offered(tmp_path: Path) -> None:
    installed = install(tmp_path, "wiki_en_all_maxi_2024-01.zim", "wiki_en_all_maxi_2026-01.zim")

    assert search.find_updates(Catalog("", (NEW,), 0), installed) == []


def test_update_keeps_an_undated_file_name(tmp_path: Path) -> None:
    (update,) = search.find_updates(Catalog("", (NEW,), 0), install(tmp_path, "wiki_en_all_maxi.zim"))

    assert update.file_name == "wiki_en_all_maxi.zim"

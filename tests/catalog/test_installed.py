from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from openzim_mcp.catalog import search
from openzim_mcp.catalog.catalog import Catalogue
from openzim_mcp.library.scan import Library
from openzim_mcp.zimfile import RawFile
from support.catalog_entries import entry

NEW = entry("wiki_en_all", "maxi", "2026-01")


def here(folder: Path, *names: str, like: Path | None = None) -> list[search.Held]:
    for name in names:
        if like:
            shutil.copy(like, folder / name)
        else:
            (folder / name).write_bytes(b"no archive")
    return search.held(Library([folder]).scan().archives)


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
def test_what_is_here_is_known_by_its_name(tmp_path: Path, name: str, state: str) -> None:
    assert search.state(NEW, here(tmp_path, name)) == state


def test_what_is_here_under_another_name_is_known_by_what_it_is(tmp_path: Path, town_zim: Path) -> None:
    uuid = RawFile([str(town_zim)]).header().uuid
    same = entry("wiki_en_all", "maxi", "2026-01", id=uuid)

    assert search.state(same, here(tmp_path, "mine.zim", like=town_zim)) == "installed"


def test_of_several_editions_the_newest_counts(tmp_path: Path) -> None:
    archives = here(tmp_path, "wiki_en_all_maxi_2024-01.zim", "wiki_en_all_maxi_2025-01.zim")

    (update,) = search.updates(Catalogue("", (NEW,), 0), archives)

    assert update.old.date == "2025-01"
    assert (update.new, update.name) == (NEW, "wiki_en_all_maxi_2026-01.zim")


def test_an_update_that_is_here_already_is_none(tmp_path: Path) -> None:
    archives = here(tmp_path, "wiki_en_all_maxi_2024-01.zim", "wiki_en_all_maxi_2026-01.zim")

    assert search.updates(Catalogue("", (NEW,), 0), archives) == []


def test_a_name_without_a_date_stays(tmp_path: Path) -> None:
    (update,) = search.updates(Catalogue("", (NEW,), 0), here(tmp_path, "wiki_en_all_maxi.zim"))

    assert update.name == "wiki_en_all_maxi.zim"

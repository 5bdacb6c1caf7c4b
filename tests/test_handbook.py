from __future__ import annotations

from pathlib import Path

import handbook
from libzim.reader import Archive
from libzim.search import Query, Searcher

from openzim_mcp.library import scan

DOCS = Path(__file__).parent.parent / "docs"


def test_the_same_pages_give_the_same_bytes(tmp_path: Path) -> None:
    handbook.build(DOCS, tmp_path / "a.zim")
    handbook.build(DOCS, tmp_path / "b.zim")

    assert (tmp_path / "a.zim").read_bytes() == (tmp_path / "b.zim").read_bytes()


def test_it_is_a_sound_archive_with_every_page_and_an_index(tmp_path: Path) -> None:
    handbook.build(DOCS, tmp_path / "a.zim")

    archive = Archive(tmp_path / "a.zim")

    assert archive.check()
    assert archive.main_entry.get_item().path == "index"
    assert {page.stem for page in DOCS.glob("*.md")} == {
        archive._get_entry_by_id(number).path for number in range(archive.entry_count)
    }
    assert list(Searcher(archive).search(Query().set_query("quarantined")).getResults(0, 5))
    assert b'href="settings"' in bytes(archive.get_entry_by_path("index").get_item().content)


def test_it_ships_with_the_package_and_is_small() -> None:
    shipped = Path(scan.handbook())

    assert Archive(shipped).has_entry_by_path("index")
    assert shipped.stat().st_size < 300_000

from __future__ import annotations

from pathlib import Path

import handbook
from libzim.reader import Archive
from libzim.search import Query, Searcher

from openzim_mcp.library import scan

DOCS = Path(__file__).parent.parent / "docs"


def test_build_is_reproducible(tmp_path: Path) -> None:
    handbook.build_handbook(DOCS, tmp_path / "a.zim")
    handbook.build_handbook(DOCS, tmp_path / "b.zim")

    assert (tmp_path / "a.zim").read_bytes() == (tmp_path / "b.zim").read_bytes()


def test_handbook_is_valid_with_every_page_and_an_index(tmp_path: Path) -> None:
    handbook.build_handbook(DOCS, tmp_path / "a.zim")

    archive = Archive(tmp_path / "a.zim")

    assert archive.check()
    assert archive.main_entry.get_item().path == "index"
    assert {page.stem for page in DOCS.glob("*.md")} == {
        archive._get_entry_by_id(number).path for number in range(archive.entry_count)
    }
    assert list(Searcher(archive).search(Query().set_query("quarantined")).getResults(0, 5))
    assert b'href="settings"' in bytes(archive.get_entry_by_path("index").get_item().content)


def test_package_contains_a_small_handbook() -> None:
    shipped = Path(scan.handbook_path())

    assert Archive(shipped).has_entry_by_path("index")
    assert shipped.stat().st_size < 300_000

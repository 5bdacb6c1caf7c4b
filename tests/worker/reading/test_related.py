from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.calls.reading import FindRelated, RelatedArticle
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.reading.links import find_related
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def links(*targets: str) -> str:
    return "<p>" + " ".join(f'<a href="{target}">{target}</a>' for target in targets) + "</p>"


PAGES = {
    "Tea": links("World", "Cup"),
    "Coffee": links("World"),
    "Cup": links("Tea", "World"),
    "World": links("Town_0"),
    "picture.png": "x",
    **{f"Drinks_{number}": links("Tea", "Coffee", "World", "picture.png") for number in range(5)},
    **{f"Town_{number}": links("World") for number in range(40)},
    "Lonely": "<p>A page about nothing much.</p>",
    "Listed": "<p>A page that only the list of all pages links to.</p>",
    "Site_map": links("Listed", *(f"Village_{number}" for number in range(500))),
    **{f"Village_{number}": "<p>A village.</p>" for number in range(500)},
    "Oolong": "<p>A tea.</p>",
    "Assam": "<p>Another tea.</p>",
    "Teas": links("Oolong", "Assam"),
}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    path = write_zim(tmp_path / "drinks.zim", PAGES)
    scan_pages([str(path)], ScanPages(), lambda *_: None)
    return Archive("drinks", [str(path)])


def test_articles_that_the_same_pages_link_to_are_related(archive: Archive) -> None:
    related = find_related(archive, FindRelated("Tea", 0, 2)).related

    assert related == [RelatedArticle("Cup", "Cup", mentions=1), RelatedArticle("Coffee", "Coffee", mentions=0)]


def test_article_that_everything_links_to_is_less_related(archive: Archive) -> None:
    paths = [row.path for row in find_related(archive, FindRelated("Tea", 0, 20)).related]

    assert paths.index("Coffee") < paths.index("World")
    assert paths.index("Cup") < paths.index("World")
    assert "picture.png" not in paths


def test_related_articles_by_the_index_are_the_same_in_steps(archive: Archive) -> None:
    whole = find_related(archive, FindRelated("Tea", 0, 100))
    steps = [find_related(archive, FindRelated("Tea", offset, 2)) for offset in range(0, whole.total, 2)]

    assert [row for step in steps for row in step.related] == whole.related
    assert len(whole.related) == whole.total


def test_page_without_links_has_none_by_links(archive: Archive) -> None:
    assert find_related(archive, FindRelated("Lonely", 0, 10)).total == 0


def test_pages_of_a_list_of_everything_are_not_related(archive: Archive) -> None:
    assert find_related(archive, FindRelated("Listed", 0, 10)).total == 0


def test_pages_of_a_short_list_are_related(archive: Archive) -> None:
    related = find_related(archive, FindRelated("Oolong", 0, 10)).related

    assert [row.path for row in related] == ["Assam", "Teas"]

from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.reading import links
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

PAGES = {
    "Hub": (
        "<p>See <a href='Near'>near</a>, <a href='Far'>far</a> and <a href='Old_name'>the old name</a>.</p>"
        "<h2>More</h2><p><a href='Far'>far again</a>, <a href='Far#x'>and again</a>, <a href='Gone'>gone</a>, "
        "<a href='https://e.org/'>outside</a>, <a href='Hub'>itself</a>, <a href='#More'>here</a>,"
        "<img src='pic.png'> <a href='Side'>side</a></p><div class='navbox'><a href='Boxed'>boxed</a></div>"
    ),
    "Near": "<p>Back to the <a href='Hub'>hub</a> and <a href='Far'>far</a>.</p>",
    "Far": "<p>Nothing here.</p>",
    "Side": "<p>Nothing.</p>",
    "Boxed": "<p>Nothing.</p>",
    "pic.png": "x",
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    path = tmp_path_factory.mktemp("web") / "web.zim"
    return Archive("web", [str(write_zim(path, PAGES, redirects={"Old_name": "Near"}))])


def test_links_are_resolved_and_say_where_they_stand(web: Archive) -> None:
    found = links.outbound(web, "Hub", limit=100, offset=0, cursor=None)

    assert found["outbound_links"] == [
        {"kind": "internal", "path": "Near", "title": "Near", "text": "near", "section": ""},
        {"kind": "internal", "path": "Far", "title": "Far", "text": "far", "section": ""},
        {"kind": "internal", "path": "Near", "title": "Near", "text": "the old name", "section": ""},
        {"kind": "internal", "path": "Far", "title": "Far", "text": "far again", "section": "More"},
        {"kind": "internal", "path": "Gone", "text": "gone", "section": "More", "missing": True},
        {"kind": "external", "url": "https://e.org/", "text": "outside", "section": "More"},
        {"kind": "internal", "path": "Hub", "title": "Hub", "text": "itself", "section": "More"},
        {"kind": "media", "path": "pic.png", "title": "pic.png", "text": "", "section": "More"},
        {"kind": "internal", "path": "Side", "title": "Side", "text": "side", "section": "More"},
    ]
    assert (found["internal_count"], found["external_count"], found["media_count"]) == (7, 1, 1)
    assert (found["next_cursor"], found["done"]) == (None, True)


@pytest.mark.parametrize("direction", [links.outbound, links.related])
def test_pages_by_cursor_and_by_offset_are_the_same_list(zims: Path, direction: object) -> None:
    archive = Archive("sqlite", [str(zims / "real/devdocs_en_sqlite_2025-04.zim")])
    key = "related" if direction is links.related else "outbound_links"
    whole = direction(archive, "pragma", limit=500, offset=0, cursor=None)[key]  # type: ignore[operator]

    found, cursor = [], None
    while True:
        step = direction(archive, "pragma", limit=7, offset=0, cursor=cursor)  # type: ignore[operator]
        found += step[key]
        cursor = step["next_cursor"]
        if step["done"]:
            break

    assert found == whole
    assert direction(archive, "pragma", limit=5, offset=7, cursor=None)[key] == whole[7:12]  # type: ignore[operator]


def test_a_cursor_of_another_article_is_refused(web: Archive) -> None:
    cursor = links.outbound(web, "Hub", limit=1, offset=0, cursor=None)["next_cursor"]

    with pytest.raises(errors.CursorRefused):
        links.outbound(web, "Near", limit=1, offset=0, cursor=cursor)
    with pytest.raises(errors.CursorRefused):
        links.related(web, "Hub", limit=1, offset=0, cursor=cursor)


def test_related_articles_are_ranked_by_more_than_their_order(web: Archive) -> None:
    found = links.related(web, "Hub", limit=10, offset=0, cursor=None)["related"]

    assert found == [
        {"path": "Near", "title": "Near", "mentions": 2},
        {"path": "Far", "title": "Far", "mentions": 3},
        {"path": "Side", "title": "Side", "mentions": 1},
    ]


@pytest.mark.parametrize(
    ("name", "floor"),
    [
        ("real/devdocs_en_sqlite_2025-04", 0.99),
        ("built/devdocs_python", 0.99),
        ("built/se_coffee", 0.99),
        ("built/zimit_debian", 0.9),
        ("zim-testing-suite/nons/wikibooks_be_all_nopic_2017-02", 0.99),
    ],
)
def test_internal_links_lead_to_entries_that_exist(zims: Path, name: str, floor: float) -> None:
    archive = Archive("a", [str(zims / f"{name}.zim")])
    letter = "C" if archive.has_new_scheme else "A"
    numbers = archive.namespaces[letter]
    there = missing = 0
    for number in numbers[:: max(1, len(numbers) // 60)]:
        entry = archive.entry_at(number)
        if entry.mime_type != "text/html" or entry.redirect_to:
            continue
        rows = links.outbound(archive, entry.path, limit=500, offset=0, cursor=None)["outbound_links"]
        internal = [row for row in rows if row["kind"] == "internal"]
        missing += sum("missing" in row for row in internal)
        there += sum("missing" not in row for row in internal)

    assert there >= floor * (there + missing)

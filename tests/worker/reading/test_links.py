from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.reading import FindLeadImage, FindRelated, LinkRow, ReadLinks, RelatedArticle
from openzim_mcp.worker.reading.links import find_lead_image, find_related, read_links
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


@pytest.fixture
def sqlite(zims: Path) -> Archive:
    return Archive("sqlite", [str(zims / "real/devdocs_en_sqlite_2025-04.zim")])


def test_links_are_resolved_and_name_their_section(web: Archive) -> None:
    outbound = read_links(web, ReadLinks("Hub", offset=0, limit=100))

    assert outbound.links == [
        LinkRow(kind="internal", path="Near", title="Near", text="near", section=""),
        LinkRow(kind="internal", path="Far", title="Far", text="far", section=""),
        LinkRow(kind="internal", path="Near", title="Near", text="the old name", section=""),
        LinkRow(kind="internal", path="Far", title="Far", text="far again", section="More"),
        LinkRow(kind="internal", path="Gone", text="gone", section="More", missing=True),
        LinkRow(kind="external", url="https://e.org/", text="outside", section="More"),
        LinkRow(kind="internal", path="Hub", title="Hub", text="itself", section="More"),
        LinkRow(kind="media", path="pic.png", title="pic.png", text="", section="More"),
        LinkRow(kind="internal", path="Side", title="Side", text="side", section="More"),
    ]
    assert (outbound.internal_count, outbound.external_count, outbound.media_count) == (7, 1, 1)
    assert outbound.total == 9


def test_links_are_the_same_in_steps(sqlite: Archive) -> None:
    whole = read_links(sqlite, ReadLinks("pragma", offset=0, limit=500))

    steps = [read_links(sqlite, ReadLinks("pragma", offset, limit=7)) for offset in range(0, whole.total, 7)]

    assert [link for step in steps for link in step.links] == whole.links
    assert {step.total for step in steps} == {whole.total} == {len(whole.links)}
    assert read_links(sqlite, ReadLinks("pragma", offset=7, limit=5)).links == whole.links[7:12]


def test_related_articles_are_the_same_in_steps(sqlite: Archive) -> None:
    whole = find_related(sqlite, FindRelated("pragma", offset=0, limit=500))

    steps = [find_related(sqlite, FindRelated("pragma", offset, limit=7)) for offset in range(0, whole.total, 7)]

    assert [row for step in steps for row in step.related] == whole.related
    assert {step.total for step in steps} == {whole.total} == {len(whole.related)}
    assert find_related(sqlite, FindRelated("pragma", offset=7, limit=5)).related == whole.related[7:12]


def test_article_that_links_back_is_more_related(web: Archive) -> None:
    related = find_related(web, FindRelated("Hub", offset=0, limit=10)).related

    assert related == [
        RelatedArticle("Near", "Near", mentions=2),
        RelatedArticle("Far", "Far", mentions=3),
        RelatedArticle("Side", "Side", mentions=1),
    ]


def test_xhtml_articles_have_images_and_related_articles(tmp_path: Path) -> None:
    pages = {
        "Hub.xhtml": "<p><img src='map.png'/> <a href='Near.xhtml'>near</a></p>",
        "Near.xhtml": "<p>Nothing.</p>",
        "map.png": "x" * 5000,
    }
    archive = Archive("xhtml", [str(write_zim(tmp_path / "xhtml.zim", pages))])

    image = find_lead_image(archive, FindLeadImage("Hub.xhtml"))
    related = find_related(archive, FindRelated("Hub.xhtml", offset=0, limit=10)).related

    assert image.image_path == "map.png"
    assert related == [RelatedArticle("Near.xhtml", "Near.xhtml", mentions=1)]


@pytest.mark.parametrize(
    ("name", "min_share"),
    [
        ("real/devdocs_en_sqlite_2025-04", 0.99),
        ("built/devdocs_python", 0.99),
        ("built/se_coffee", 0.99),
        ("built/zimit_debian", 0.9),
        ("zim-testing-suite/nons/wikibooks_be_all_nopic_2017-02", 0.99),
    ],
)
def test_internal_links_lead_to_existing_entries(zims: Path, name: str, min_share: float) -> None:
    archive = Archive("a", [str(zims / f"{name}.zim")])
    letter = "C" if archive.has_new_scheme else "A"
    numbers = archive.namespaces[letter]
    existing = missing = 0
    for number in numbers[:: max(1, len(numbers) // 60)]:
        entry = archive.entry_by_id(number)
        if entry.mime_type != "text/html" or entry.redirect_to:
            continue
        links = read_links(archive, ReadLinks(entry.path, offset=0, limit=500)).links
        internal = [link for link in links if link.kind == "internal"]
        missing += sum(link.missing for link in internal)
        existing += sum(not link.missing for link in internal)

    assert existing >= min_share * (existing + missing)


def test_links_for_reading_are_distinct_and_those_of_the_text_first(tmp_path: Path) -> None:
    page = """<h1>Hub</h1><p><a href="https://example.org/">Site</a> <a href="A">A</a> <img src="x.png"></p>
        <p><a href="B">B</a> <a href="Gone">gone</a></p><h2>More</h2><p><a href="A">again</a></p>
        <h2>See also</h2><ul><li><a href="C">C</a></li><li><a href="B">B</a></li></ul>"""
    pages = {"Hub": page, "x.png": "picture"} | {name: f"<h1>{name}</h1>" for name in "ABC"}
    archive = Archive("hub", [str(write_zim(tmp_path / "hub.zim", pages))])

    links = read_links(archive, ReadLinks("Hub", 0, 10, for_reading=True))

    assert [link.path or link.url for link in links.links] == ["A", "B", "https://example.org/", "C"]
    assert (links.total, links.left_out, links.media_count) == (4, 4, 1)

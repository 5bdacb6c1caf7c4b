from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.page import InlineObject, PageSection, ReadPage
from openzim_mcp.worker.inline_marks import strip_marks
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.page import read_page
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

LONG_PARAGRAPH = f"<p>{'word ' * 20_000}</p>"
PAGES = {
    "Hub": (
        "<html lang='fr'><h1>The hub</h1><p id='top'>See <a href='Old_name#x'>near</a> and <a href='Gone'>gone</a>."
        "<img src='pic.png'><img src='lost.png'></p><h2>More</h2><p><a href='#top'>here</a></p>"
    ),
    "Near": "<p>Near.</p>",
    "Long": "<h2>One</h2>" + LONG_PARAGRAPH * 3 + "<h2>Two</h2>" + LONG_PARAGRAPH + "<h2>Three</h2><p>End.</p>",
    "pic.png": "x",
    "notes.txt": "Plain text",
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    path = tmp_path_factory.mktemp("page") / "web.zim"
    return Archive("web", [str(write_zim(path, PAGES, redirects={"Old_name": "Near"}))])


def test_page_resolves_links_and_pictures(web: Archive) -> None:
    page = read_page(web, ReadPage("Hub"))

    assert page.objects == [
        InlineObject("internal", "Near", "x"),
        InlineObject("internal", "Gone", missing=True),
        InlineObject("image", "pic.png"),
        InlineObject("image", "lost.png", missing=True),
        InlineObject("anchor", fragment="top"),
    ]
    assert (page.title, page.language, page.mime_type) == ("The hub", "fr", "text/html")
    assert page.sections == [PageSection("", "", 0), PageSection("More", "More", 2)]
    assert page.blocks[0].anchors == ["top"]


def test_long_article_comes_in_parts(web: Archive) -> None:
    first, second = (read_page(web, ReadPage("Long", part)) for part in (0, 1))

    assert (first.part_count, second.part) == (2, 1)
    assert [(section.title, section.part) for section in first.sections] == [
        ("", 0),
        ("One", 0),
        ("Two", 1),
        ("Three", 1),
    ]
    blocks = article.document(web, web.find_entry("Long")).blocks  # type: ignore[arg-type]
    assert [strip_marks(row.text) for row in [*first.blocks, *second.blocks]] == [block.text for block in blocks]
    with pytest.raises(errors.OutOfRange, match="2 parts"):
        read_page(web, ReadPage("Long", 2))


def test_other_types_are_read_as_for_models(web: Archive) -> None:
    page = read_page(web, ReadPage("notes.txt"))

    assert [(block.kind, block.text) for block in page.blocks] == [("lines", "Plain text")]


def test_fragment_of_a_reference_is_kept(web: Archive) -> None:
    assert read_page(web, ReadPage("Hub#More")).fragment == "More"


def test_real_article_has_links_and_pictures(zims: Path) -> None:
    wiki = Archive("wiki", [str(zims / "real/wikipedia_en_ray_charles_2015-06_split.zimaa")])

    page = read_page(wiki, ReadPage("The Nanny"))

    kinds = [row.kind for row in page.objects if not row.missing]
    assert (kinds.count("image"), kinds.count("internal")) == (36, 2)

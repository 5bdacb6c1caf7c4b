from __future__ import annotations

import time
from pathlib import Path

import pytest

from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.readers.subject import extract_coordinates, extract_item, extract_translations
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

PAGES = [
    '<head><meta name="geo.position" content="46.2;6.15"></head><p>Geneva is a city.</p>',
    "<head><meta content='46.2;6.15' name='geo.position'></head><p>Geneva is a city.</p>",
    '<head><meta name="ICBM" content="46.2, 6.15"></head><p>Geneva is a city.</p>',
    '<p>Geneva is a city.</p><span class="geo">46.2; 6.15</span>',
    "<p>Geneva is a city.</p><span class='x geo'>46.2; 6.15</span>",
    "<p>Geneva is a city.</p><span class=geo>46.2; 6.15</span>",
    '<p>Geneva.</p><span class="geo"><span class="latitude">46.2</span> <span class="longitude">6.15</span></span>',
    '<p>Geneva is <a href="geo:46.2,6.15">here</a>.</p>',
    '<div id="coordinates"><a data-lat="46.2" data-lon="6.15">map</a></div><p>Geneva.</p>',
    '<!-- <meta name="geo.position" content="1;1"> --><p>A geo page about geography, lat=1.</p>',
    '<meta name="geo.position" content="146.2;6.15"><p>No such place.</p>',
    "<p>Cities: " + "".join(f'<a href="geo:{n},1">x</a>' for n in range(5)) + "</p>",
    "<b>" * 5000 + '<span class="geo">46.2; 6.15</span>',
    "<p>No place.</p>",
]


@pytest.mark.parametrize("html", PAGES)
def test_coordinates_from_bytes_are_those_of_the_document(html: str) -> None:
    assert extract_coordinates(html.encode()) == read_html(html.encode(), "Geneva").coordinates


def test_places_of_a_map_are_found_by_their_route(tmp_path: Path) -> None:
    pages = {
        "index.html": "<div id=app></div>",
        "search/Paris": '<meta http-equiv="refresh" content="0;url=../index.html#lat=48.85&amp;lon=2.35&amp;zoom=10">',
    }
    archive = Archive("map", [str(write_zim(tmp_path / "map.zim", pages))])
    item = archive.find_entry("search/Paris")
    assert item is not None

    assert extract_coordinates(archive.read_content(item.path)) == (48.85, 2.35)
    assert read_document(archive, item).coordinates == (48.85, 2.35)


@pytest.mark.parametrize("name", ["built/wiki_real_pub", "real/wikipedia_en_100_mini_2022-10"])
def test_coordinates_of_real_pages_are_those_of_their_documents(zims: Path, name: str) -> None:
    archive = Archive("real", [str(zims / f"{name}.zim")])
    places = 0
    for number in archive.content[::7]:
        entry = archive.entry_by_id(number)
        if entry.redirect_to is None and is_page(entry.mime_type):
            raw = archive.read_content(entry.path)
            coordinates = extract_coordinates(raw)
            places += coordinates is not None
            assert coordinates == read_html(raw, entry.path).coordinates, entry.path

    assert places


@pytest.mark.parametrize(
    ("html", "item"),
    [
        ('<a href="https://www.wikidata.org/wiki/Special:EntityPage/Q243">Wikidata item</a>', 243),
        (
            '<script type="application/ld+json">{"mainEntity":"http:\\/\\/www.wikidata.org\\/entity\\/Q243",'
            '"author":{"sameAs":"http://www.wikidata.org/entity/Q5"}}</script>',
            243,
        ),
        ('{"sameAs": ["https://x.org/1", "https://www.wikidata.org/wiki/Q243"]}', 243),
        ('<main data-wikidata="Q243"><p>A tower.</p></main>', 243),
        ('<bdi class="vcard" data-wikidata="Q243">A hotel</bdi>', None),
        ('<a href="https://www.wikidata.org/wiki/Q243?uselang=en#P571"></a> <a href="/wiki/Q1">x</a>', 243),
        ('<a href="https://www.wikidata.org/wiki/Q243#identifiers"></a>', 243),
        ('<p><a href="https://www.wikidata.org/wiki/Q243">Wikidata</a></p>', 243),
        ('<p><a class="extiw" href="https://www.wikidata.org/wiki/Q243" title="d:Q243">somebody</a></p>', None),
        ('<a href="//www.wikidata.org/wiki/Q1">x</a><a href="//www.wikidata.org/wiki/Q2">x</a>', None),
        ('<a href="https://www.wikidata.org/wiki/Wikidata:Main_Page">Wikidata</a>', None),
        ("<p>Q243</p>", None),
    ],
)
def test_item_is_told_by_exactly_one_mark(html: str, item: int | None) -> None:
    assert extract_item(html.encode()) == item


@pytest.mark.parametrize("text", ["<" * 300_000, "<a " * 100_000, '"sameAs":[' * 30_000, "<a href=x " * 30_000])
def test_item_is_searched_in_linear_time(text: str) -> None:
    start = time.process_time()

    assert extract_item(f"wikidata {text}".encode()) is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("html", "translations"),
    [
        ('<link rel="alternate" hreflang="de" href="https://de.x.org/a">', [("de", "https://de.x.org/a")]),
        ('<li class="interlanguage-link"><a hreflang="fr" href="//fr.x.org/a">F</a></li>', [("fr", "//fr.x.org/a")]),
        (
            '<a hreflang="de" lang="de" href="../de/a">Deutsch</a><link rel=alternate hreflang=x-default href=a>',
            [("de", "../de/a")],
        ),
        ('<p>See <a hreflang="de" href="https://zeitung.de/1">a report</a>.</p>', []),
    ],
)
def test_translations_are_links_that_say_so(html: str, translations: list[tuple[str, str]]) -> None:
    assert extract_translations(html.encode()) == translations

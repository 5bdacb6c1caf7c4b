from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.html.reader import read_html


@pytest.mark.parametrize(
    "html",
    [
        '<head><meta name="geo.position" content="46.2;6.15"></head><p>Geneva is a city.</p>',
        '<head><meta name="ICBM" content="46.2, 6.15"></head><p>Geneva is a city.</p>',
        '<p>Geneva is a city.</p><span class="geo">46.2; 6.15</span>',
        '<p>Geneva.</p><span class="geo"><span class="latitude">46.2</span> <span class="longitude">6.15</span></span>',
        '<p>Geneva is <a href="geo:46.2,6.15">here</a>.</p>',
        '<div id="coordinates"><a data-lat="46.2" data-lon="6.15">map</a></div><p>Geneva.</p>',
    ],
)
def test_coordinates_are_found_and_a_key_fact(html: str) -> None:
    document = read_html(html.encode(), "Geneva")

    assert document.coordinates == (46.2, 6.15)
    assert ("Coordinates", "46.2, 6.15") in document.facts
    assert "- Coordinates: 46.2, 6.15" in document.body


@pytest.mark.parametrize(
    "html",
    [
        "<p>No place.</p>",
        '<meta name="geo.position" content="146.2;6.15"><p>No such place.</p>',
        '<meta name="geo.position" content="here"><p>Broken.</p>',
        "<p>Cities: " + "".join(f'<a href="geo:{n},1">x</a>' for n in range(5)) + "</p>",
    ],
)
def test_other_pages_have_no_coordinates(html: str) -> None:
    assert read_html(html.encode(), "x").coordinates is None


def test_coordinates_join_the_infobox() -> None:
    box = '<table class="infobox"><tr><th>Country</th><td>Switzerland</td></tr></table>'

    document = read_html(f'<meta name="geo.position" content="46.2;6.15">{box}<p>Geneva.</p>'.encode(), "Geneva")

    assert [name for name, _ in document.facts] == ["Country", "Coordinates"]
    assert sum(block.kind == "facts" for block in document.blocks) == 1

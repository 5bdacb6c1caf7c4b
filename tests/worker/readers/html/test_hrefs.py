from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.html.hrefs import Unsure, find_hrefs, find_links, href_of, parse_hrefs

DOCTYPE = '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0//EN" "http://www.w3.org/TR/xhtml1.dtd">'


@pytest.mark.parametrize(
    ("page", "hrefs"),
    [
        (f'{DOCTYPE}<a href="One">x</a> a > b <a title="Men\'s" href="Two">x</a>', ["One", "Two"]),
        ('<a rel="mw:WikiLink" href="./One" id="mwAb">x</a><a\n  class="x" href="Two?a=b">x</a>', ["./One", "Two?a=b"]),
        ("<A CLASS=x HREF='One'>x</A><a name=here>x</a><a href=Two>x</a>", ["One", "Two"]),
        ('<a href="#note">x</a><a href="https://example.org/">x</a><a href="One">x</a>', ["One"]),
        ('<NAV><a href="Menu">x</a></NAV><a href="One">x</a>', ["One"]),
        (
            '<div class="a navbox"><table><tr><td><a href="Box">x</a></td></tr></table></div><a href="One">x</a>',
            ["One"],
        ),
        (
            '<ol class="references"><li><a href="Note">x</a></ol><p>The navy, references.</p><a href="One">x</a>',
            ["One"],
        ),
        ('<a href="A&amp;B">x</a>', ["A&B"]),
    ],
)
def test_links_of_a_regular_page_need_no_parser(page: str, hrefs: list[str]) -> None:
    raw = page.encode()

    assert [href for link in find_links(raw) if (href := href_of(link)) is not None] == hrefs
    assert set(hrefs) <= set(parse_hrefs(raw).hrefs)


@pytest.mark.parametrize(
    ("page", "hrefs"),
    [
        ('<i title="<a href=Two>"></i><a href="One">x</a>', ["One"]),
        ('<a b" c=">" href="One">x</a>', ["One"]),
        ('<NAV><?php</Nav><a href="Menu">x</a> > ', []),
        ('<div class="navbox"><p><div></p><a href="Box">x</a>', []),
        ('<a href="A&eacute;">x</a>', ["Aé"]),
        ('<base href="x/"><a href="One">x</a>', ["One"]),
    ],
)
def test_other_pages_are_parsed(page: str, hrefs: list[str]) -> None:
    with pytest.raises(Unsure):
        [href_of(link) for link in find_links(page.encode())]

    assert find_hrefs(page.encode()).hrefs == hrefs

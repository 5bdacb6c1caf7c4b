from __future__ import annotations

import pytest

from openzim_mcp.catalog import xml

FORGIVABLE = {
    "unescaped & in a URL": ('<a href="/x?a=1&b=2"/>', "/x?a=1&b=2"),
    "escaped & in a URL": ('<a href="/x?a=1&amp;b=2"/>', "/x?a=1&b=2"),
    "HTML entity": ('<a href="x&nbsp;y"/>', "x&nbsp;y"),
    "control character": ('<a href="x\x1b[31m\x00y"/>', "x[31my"),
    "> in a value": ('<a href="x>y"/>', "x>y"),
}


@pytest.mark.parametrize(("source", "href"), FORGIVABLE.values(), ids=FORGIVABLE)
def test_small_xml_errors_are_corrected(source: str, href: str) -> None:
    assert xml.parse_element(source).attributes == {"href": href}


MALFORMED = ["<a>", "<a></b>", "<a href=x/>", "", "text", "<a>&#0;</a>", "<!DOCTYPE a><a/>", "<a><!DOCTYPE b></a>"]


@pytest.mark.parametrize("source", [*MALFORMED, "<a>" * 1000])
def test_malformed_xml_is_refused(source: str) -> None:
    with pytest.raises(xml.MalformedXml):
        xml.parse_element(source)


def test_entity_declarations_are_not_expanded() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><feed><entry><title>&c;</title></entry></feed>'

    (source,) = xml.split_elements(bomb, "entry")

    assert xml.parse_element(source).child_text("title") == "&c;"


def test_broken_element_does_not_affect_the_next() -> None:
    sources = list(xml.split_elements("<feed><entry><a></entry><entry>b</entry><entry>c", "entry"))

    assert sources[1] == "<entry>b</entry>"
    assert len(sources) == 3


def test_child_text_ignores_deeper_elements() -> None:
    element = xml.parse_element(
        "<entry><author><name>Nobody</name></author><name> wiki </name><name>other</name></entry>"
    )

    assert element.child_text("nothing", "name") == "wiki"
    assert element.child_text("nothing") == ""

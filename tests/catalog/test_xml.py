from __future__ import annotations

import pytest

from openzim_mcp.catalog import xml

KIND = {
    "an & of an address": ('<a href="/x?a=1&b=2"/>', "/x?a=1&b=2"),
    "an escaped one": ('<a href="/x?a=1&amp;b=2"/>', "/x?a=1&b=2"),
    "an entity of HTML": ('<a href="x&nbsp;y"/>', "x&nbsp;y"),
    "a control character": ('<a href="x\x1b[31m\x00y"/>', "x[31my"),
    "a > in a value": ('<a href="x>y"/>', "x>y"),
}


@pytest.mark.parametrize(("piece", "href"), KIND.values(), ids=KIND)
def test_small_faults_are_forgiven(piece: str, href: str) -> None:
    assert xml.read(piece).attributes == {"href": href}


BROKEN = ["<a>", "<a></b>", "<a href=x/>", "", "text", "<a>&#0;</a>", "<!DOCTYPE a><a/>", "<a><!DOCTYPE b></a>"]


@pytest.mark.parametrize("piece", [*BROKEN, "<a>" * 1000])
def test_what_is_no_xml_is_refused(piece: str) -> None:
    with pytest.raises(xml.Malformed):
        xml.read(piece)


def test_entities_cannot_be_declared() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><feed><entry><title>&c;</title></entry></feed>'

    (piece,) = xml.pieces(bomb, "entry")

    assert xml.read(piece).value("title") == "&c;"


def test_a_broken_piece_does_not_take_the_next_with_it() -> None:
    found = list(xml.pieces("<feed><entry><a></entry><entry>b</entry><entry>c", "entry"))

    assert found[1] == "<entry>b</entry>"
    assert len(found) == 3


def test_values_are_those_of_direct_children() -> None:
    element = xml.read("<entry><author><name>Nobody</name></author><name> wiki </name><name>other</name></entry>")

    assert element.value("nothing", "name") == "wiki"
    assert element.value("nothing") == ""

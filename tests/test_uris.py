from __future__ import annotations

import pytest

from openzim_mcp import uris
from openzim_mcp.uris import Address


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("zim://files", Address()),
        ("zim://files/", Address()),
        ("ZIM://Files", Address()),
        ("zim://files.zim", Address("files.zim")),
        ("zim://wiki", Address("wiki")),
        ("zim://wiki/", Address("wiki")),
        ("zim://wiki/entry/A/B?c#d", Address("wiki", "A/B?c#d")),
        ("zim://wiki/entry/A%2FB", Address("wiki", "A%2FB")),
        ("zim://files/entry/entry/x", Address("files", "entry/x")),
        ("zim://wiki/entry/", None),
        ("zim://wiki/other", None),
        ("zim://", None),
        ("zim:///wiki", None),
        ("zim://a%2Fb", None),
        ("file:///wiki", None),
        ("wiki", None),
    ],
)
def test_what_a_uri_names(uri: str, address: Address | None) -> None:
    assert uris.parse(uri) == address


def test_names_and_paths_are_tried_unescaped_first_then_as_written() -> None:
    address = uris.parse("zim://a%20b/entry/100%25")

    assert address is not None
    assert address.names == ["a b", "a%20b"]
    assert address.paths == ["100%", "100%25"]


@pytest.mark.parametrize("name", ["wiki_en_2026-01", "a b", "x@y~2", "50%", "Zürich", "a:b", "what?#", "files", "it's"])
def test_the_address_of_an_archive_leads_back_to_it(name: str) -> None:
    uri = uris.of_archive(name)
    address = uris.parse(uri)

    assert uri.isascii()
    assert " " not in uri
    assert address is not None
    assert address.names[0].removesuffix(".zim") == name


@pytest.mark.parametrize(
    ("uri", "other"),
    [
        ("zim://files", "ZIM://files/"),
        ("zim://wiki", "zim://Wiki.zim"),
        ("zim://wiki", "zim://wiki/entry/A/B"),
        ("zim://a%20b", "zim://a b"),
        ("zim://Z%C3%BCrich", "zim://zürich"),
    ],
)
def test_spellings_of_one_address_have_one_key(uri: str, other: str) -> None:
    assert uris.key(uri) == uris.key(other)


def test_the_list_and_an_archive_of_its_name_have_different_keys() -> None:
    assert uris.key("zim://files") != uris.key("zim://files.zim")

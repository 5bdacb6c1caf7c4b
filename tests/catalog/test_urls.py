from __future__ import annotations

import pytest

from openzim_mcp.catalog.client import checked, file_name, is_file_name

FILES = [
    ("https://x.example/zim/wiki_en_all_2026-01.zim.meta4", "wiki_en_all_2026-01.zim"),
    ("https://x.example/zim/wiki_en_all_2026-01.zim?a=b#c", "wiki_en_all_2026-01.zim"),
    ("https://x.example/a.b.c%2B%2B_en_all.zim", "a.b.c++_en_all.zim"),
]


@pytest.mark.parametrize(("url", "name"), FILES)
def test_the_name_of_a_file_is_the_end_of_its_address(url: str, name: str) -> None:
    assert file_name(url) == name


HOSTILE = [
    "..%2f..%2fetc%2fpasswd.zim",
    "%2Fetc%2Fx.zim",
    "..zim",
    "...zim",
    "a..zim",
    ".hidden.zim",
    "x.zim.sh",
    "x.exe",
    "C:%5Cx.zim",
    "x%00.zim",
    "x%0a.zim",
    "CON.zim",
    "lpt1.2026.zim",
    "-rf.zim",
    "x y.zim",
    "",
    "a" * 300 + ".zim",
    "x\u202ezim.zim",
]


@pytest.mark.parametrize("end", HOSTILE)
def test_an_address_never_names_anything_but_a_file_beside_the_others(end: str) -> None:
    assert file_name(f"https://x.example/zim/{end}") is None


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x.example/a", "javascript:1", "//x", "http://", "http://[", "http://x y/", "x"]
)
def test_only_addresses_of_the_web_are_asked(url: str) -> None:
    assert checked(url) is None


def test_an_address_may_be_relative_to_the_catalogue() -> None:
    assert checked("/zim/a.zim", "http://ship.example/catalog/v2/entries") == "http://ship.example/zim/a.zim"
    assert checked("file:///a.zim", "http://ship.example/") is None


def test_a_name_is_bare() -> None:
    assert is_file_name("a.zim")
    assert not is_file_name("b/a.zim")

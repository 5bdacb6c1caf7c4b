from __future__ import annotations

import hashlib

import pytest

from openzim_mcp.catalog.metalink import Metalink, Pieces, parse
from support.mirror import meta4

CONTENT = b"z" * 10_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def text(**changes: str) -> str:
    made = meta4("a.zim", CONTENT, "https://one.example/a.zim", "http://two.example/a.zim", piece=4096).decode()
    for old, new in changes.items():
        made = made.replace(old, new)
    return made


def test_all_is_read_and_mirrors_are_ordered() -> None:
    hashes = tuple(hashlib.sha1(CONTENT[at : at + 4096]).hexdigest() for at in (0, 4096, 8192))

    assert parse(text(), "a.zim") == Metalink(
        "a.zim",
        10_000,
        SHA256,
        ("https://one.example/a.zim", "http://two.example/a.zim"),
        Pieces(4096, "sha1", hashes),
    )


@pytest.mark.parametrize("changes", [{SHA256: "none"}, {SHA256: SHA256[:-1]}, {"sha-256": "sha-3"}])
def test_a_checksum_that_is_none_is_left_out(changes: dict[str, str]) -> None:
    found = parse(text(**changes), "a.zim")

    assert found
    assert found.sha256 is None


@pytest.mark.parametrize("changes", [{"<size>10000": "<size>99999"}, {"4096": "7"}, {'"sha-1"': '"crc"'}])
def test_pieces_that_do_not_fit_the_file_are_left_out(changes: dict[str, str]) -> None:
    found = parse(text(**changes), "a.zim")

    assert found
    assert found.pieces is None


def test_of_several_files_the_one_of_the_name_is_taken() -> None:
    both = meta4("b.zim", b"b").decode() + text()

    found = parse(both, "a.zim")
    assert found
    assert found.name == "a.zim"
    assert parse(both, "c.zim") is None


@pytest.mark.parametrize("other", ["", "<html>", "<file name='a.zim'><size>", "<metalink/>"])
def test_something_else_is_none(other: str) -> None:
    assert parse(other, "a.zim") is None

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from openzim_mcp.catalog.catalog import CatalogEntry
from openzim_mcp.catalog.client import Client
from openzim_mcp.catalog.metalink import Pieces, Source, find_source, parse_metalink
from support.catalog_entries import make_entry
from support.mirror import Mirror, metalink_xml, serve_mirror

FILE_NAME = "wiki_en_all_nopic_2026-01.zim"
CONTENT = b"z" * 10_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def metalink_text(**replacements: str) -> str:
    urls = ("https://one.example/a.zim", "http://two.example/a.zim")
    text = metalink_xml("a.zim", CONTENT, *urls, piece=4096).decode()
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text


def test_metalink_is_parsed_and_mirrors_are_ordered() -> None:
    hashes = tuple(hashlib.sha1(CONTENT[at : at + 4096]).hexdigest() for at in (0, 4096, 8192))

    assert parse_metalink(metalink_text(), "a.zim") == Source(
        name="a.zim",
        urls=("https://one.example/a.zim", "http://two.example/a.zim"),
        size=10_000,
        sha256=SHA256,
        pieces=Pieces(4096, "sha1", hashes),
    )


@pytest.mark.parametrize("replacements", [{SHA256: "none"}, {SHA256: SHA256[:-1]}, {"sha-256": "sha-3"}])
def test_invalid_checksum_is_ignored(replacements: dict[str, str]) -> None:
    source = parse_metalink(metalink_text(**replacements), "a.zim")

    assert source
    assert source.sha256 is None


@pytest.mark.parametrize("replacements", [{"<size>10000": "<size>99999"}, {"4096": "7"}, {'"sha-1"': '"crc"'}])
def test_pieces_that_do_not_cover_the_file_are_ignored(replacements: dict[str, str]) -> None:
    source = parse_metalink(metalink_text(**replacements), "a.zim")

    assert source
    assert source.pieces is None


def test_file_is_selected_by_name() -> None:
    text = metalink_xml("b.zim", b"b").decode() + metalink_text()

    source = parse_metalink(text, "a.zim")

    assert source
    assert source.name == "a.zim"
    assert parse_metalink(text, "c.zim") is None


@pytest.mark.parametrize("text", ["", "<html>", "<file name='a.zim'><size>", "<metalink/>"])
def test_other_xml_is_not_a_metalink(text: str) -> None:
    assert parse_metalink(text, "a.zim") is None


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve_mirror(Mirror()) as mirror:
        yield mirror


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as client:
        yield client


def entry_at(url: str) -> CatalogEntry:
    return make_entry("wiki_en_all", "nopic", url=url)


@pytest.mark.parametrize("suffix", ["", ".meta4"])
def test_source_comes_from_the_metalink(mirror: Mirror, client: Client, suffix: str) -> None:
    metalink = metalink_xml(FILE_NAME, CONTENT, "http://one.example/x", "https://two.example/x")
    mirror.add(f"/zim/{FILE_NAME}.meta4", metalink)

    source = find_source(client, entry_at(f"{mirror.url}/zim/{FILE_NAME}{suffix}"))

    urls = ("http://one.example/x", "https://two.example/x", f"{mirror.url}/zim/{FILE_NAME}")
    assert source == Source(FILE_NAME, urls, len(CONTENT), SHA256)


def test_source_without_metalink_is_the_url(mirror: Mirror, client: Client) -> None:
    url = f"{mirror.url}/a/{FILE_NAME}"

    assert find_source(client, entry_at(f"{url}.meta4")) == Source(FILE_NAME, (url,))


@pytest.mark.parametrize("content", [b"", b"<html>Not here</html>", b"<metalink><file name='a.zim'>"])
def test_invalid_metalink_is_ignored(mirror: Mirror, client: Client, content: bytes) -> None:
    url = f"{mirror.url}/a/{FILE_NAME}"
    mirror.add(f"/a/{FILE_NAME}.meta4", content)

    assert find_source(client, entry_at(url)) == Source(FILE_NAME, (url,))

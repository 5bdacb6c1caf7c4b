"""Metalinks (`.meta4`, RFC 5854): the size of a file, its SHA-256, the hashes of its pieces, and its mirrors."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openzim_mcp.catalog import xml
from openzim_mcp.catalog.client import METALINK_SUFFIX, safe_url

if TYPE_CHECKING:
    from openzim_mcp.catalog.catalog import CatalogEntry
    from openzim_mcp.catalog.client import Client

# The name of a hash in a Metalink: its name in hashlib, and the length of its hex digest.
_HASHES = {"sha-1": ("sha1", 40), "sha-256": ("sha256", 64), "sha-512": ("sha512", 128), "md5": ("md5", 32)}
_HEX = re.compile(r"[0-9a-f]+")
_MIN_PIECE_BYTES = 1 << 12
_LOWEST_PRIORITY = 999_999
_MAX_METALINK_BYTES = 32 << 20


@dataclass(frozen=True)
class Pieces:
    """The hashes of a file's pieces, which have the same length except for the last."""

    length: int
    algorithm: str
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A file to download: its name, its URLs (best mirror first), and what is known about its content."""

    name: str
    urls: tuple[str, ...]
    size: int | None = None
    sha256: str | None = None
    pieces: Pieces | None = None


def find_source(client: Client, entry: CatalogEntry) -> Source:
    """Return the source of an archive from its Metalink; without a Metalink, only its own URL is known."""
    assert entry.url
    assert entry.file_name
    url = entry.url.removesuffix(METALINK_SUFFIX)
    content = client.get_document(url + METALINK_SUFFIX, _MAX_METALINK_BYTES)
    source = parse_metalink(xml.decode_document(content), entry.file_name) if content else None
    if source is None:
        return Source(entry.file_name, (url,))
    return replace(source, name=entry.file_name, urls=tuple(dict.fromkeys((*source.urls, url))))


def parse_metalink(text: str, file_name: str) -> Source | None:
    """Return the file of that name from a Metalink, or its only file; None if there is neither."""
    files = []
    for file_source in xml.split_elements(text, "file"):
        try:
            files.append(xml.parse_element(file_source))
        except xml.MalformedXml:
            continue
    candidates = [file for file in files if file.attributes.get("name") == file_name][:1] or files
    return _parse_file(candidates[0]) if len(candidates) == 1 else None


def _parse_file(file: xml.Element) -> Source:
    size = xml.parse_integer(file.child_text("size")) or None
    hashes = {_hash_type(element): element.text.strip().lower() for element in file.children_by_name("hash")}
    pieces = (_parse_pieces(element, size) for element in file.children_by_name("pieces"))
    return Source(
        name=file.attributes.get("name", ""),
        urls=_mirror_urls(file),
        size=size,
        sha256=_valid_hash("sha-256", hashes.get("sha-256", "")),
        pieces=next(filter(None, pieces), None),
    )


def _mirror_urls(file: xml.Element) -> tuple[str, ...]:
    elements = sorted(file.children_by_name("url"), key=_priority)
    return tuple(dict.fromkeys(url for element in elements if (url := safe_url(element.text))))


def _priority(element: xml.Element) -> int:
    return xml.parse_integer(element.attributes.get("priority", "")) or _LOWEST_PRIORITY


def _parse_pieces(element: xml.Element, size: int | None) -> Pieces | None:
    hash_type = _hash_type(element)
    length = xml.parse_integer(element.attributes.get("length", "")) or 0
    hashes = [_valid_hash(hash_type, child.text.strip().lower()) or "" for child in element.children_by_name("hash")]
    cover_file = size is not None and length >= _MIN_PIECE_BYTES and len(hashes) == -(-size // length)
    return Pieces(length, _HASHES[hash_type][0], tuple(hashes)) if cover_file and all(hashes) else None


def _hash_type(element: xml.Element) -> str:
    return element.attributes.get("type", "").strip().lower()


def _valid_hash(hash_type: str, digest: str) -> str | None:
    length = _HASHES.get(hash_type, ("", 0))[1]
    return digest if length == len(digest) and _HEX.fullmatch(digest) else None

"""A Metalink (`.meta4`): the exact size of a file, its SHA-256, the hashes of its pieces, and its mirrors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp.catalog import xml
from openzim_mcp.catalog.client import METALINK, checked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.catalog.catalog import Entry
    from openzim_mcp.catalog.client import Network

_HASHES = {"sha-1": ("sha1", 40), "sha-256": ("sha256", 64), "sha-512": ("sha512", 128), "md5": ("md5", 32)}
_HEX = re.compile(r"[0-9a-f]+")
_LEAST_PIECE = 1 << 12
_LAST_PRIORITY = 999_999
_METALINK_BYTES = 32 << 20


@dataclass(frozen=True)
class Pieces:
    """The hashes of a file's pieces, all of one length but the last."""

    length: int
    algorithm: str
    hashes: tuple[str, ...]


@dataclass(frozen=True)
class Metalink:
    """What a Metalink tells of one file; mirrors are ordered by priority."""

    name: str
    size: int | None
    sha256: str | None
    mirrors: tuple[str, ...]
    pieces: Pieces | None = None


@dataclass(frozen=True)
class Source:
    """A file to get: its name, where it is, and what is known of it."""

    name: str
    urls: tuple[str, ...]
    size: int | None = None
    sha256: str | None = None
    pieces: Pieces | None = None


def resolve(network: Network, entry: Entry) -> Source:
    """Ask the library for size, SHA-256 and mirrors of an archive; do without where it does not say."""
    assert entry.url
    assert entry.file
    direct = entry.url.removesuffix(METALINK)
    raw = network.read(direct + METALINK, _METALINK_BYTES)
    found = parse(xml.decode(raw), entry.file) if raw else None
    if found is None:
        return Source(entry.file, (direct,))
    urls = tuple(dict.fromkeys((*found.mirrors, direct)))
    return Source(entry.file, urls, found.size or None, found.sha256, found.pieces)


def parse(text: str, name: str) -> Metalink | None:
    """Return what is said of the file `name`, or of the only file; None when there is neither."""
    files = []
    for piece in xml.pieces(text, "file"):
        try:
            files.append(xml.read(piece))
        except xml.Malformed:
            continue
    named = [file for file in files if file.attributes.get("name") == name] or files
    return _metalink(named[0]) if named and (len(named) == 1 or named != files) else None


def _metalink(file: xml.Element) -> Metalink:
    size = _number(file.value("size"))
    hashes = {_kind(found): found.text.strip().lower() for found in file.all("hash")}
    return Metalink(
        name=file.attributes.get("name", ""),
        size=size,
        sha256=_hash("sha-256", hashes.get("sha-256", "")),
        mirrors=tuple(_mirrors(file.all("url"))),
        pieces=next((found for part in file.all("pieces") if (found := _pieces(part, size))), None),
    )


def _mirrors(urls: Iterable[xml.Element]) -> list[str]:
    ordered = sorted(urls, key=lambda url: _number(url.attributes.get("priority", "")) or _LAST_PRIORITY)
    return list(dict.fromkeys(address for url in ordered if (address := checked(url.text))))


def _pieces(part: xml.Element, size: int | None) -> Pieces | None:
    kind = _kind(part)
    length = _number(part.attributes.get("length", "")) or 0
    hashes = tuple(_hash(kind, found.text.strip().lower()) or "" for found in part.all("hash"))
    fits = size is not None and length >= _LEAST_PIECE and len(hashes) == -(-size // length)
    return Pieces(length, _HASHES[kind][0], hashes) if fits and all(hashes) else None


def _kind(element: xml.Element) -> str:
    return element.attributes.get("type", "").strip().lower()


def _hash(kind: str, value: str) -> str | None:
    length = _HASHES.get(kind, ("", 0))[1]
    return value if length == len(value) and _HEX.fullmatch(value) else None


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None  # noqa: PLR2004

"""Where a file of a catalogue can be got, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp.catalog import metalink, xml
from openzim_mcp.catalog import urls as addresses

if TYPE_CHECKING:
    from openzim_mcp.catalog.catalog import Entry
    from openzim_mcp.catalog.client import Network
    from openzim_mcp.catalog.metalink import Pieces

_METALINK_BYTES = 32 << 20


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
    direct = entry.url.removesuffix(addresses.METALINK)
    raw = network.read(direct + addresses.METALINK, _METALINK_BYTES)
    found = metalink.parse(xml.decode(raw), entry.file) if raw else None
    if found is None:
        return Source(entry.file, (direct,))
    urls = tuple(dict.fromkeys((*found.mirrors, direct)))
    return Source(entry.file, urls, found.size or None, found.sha256, found.pieces)

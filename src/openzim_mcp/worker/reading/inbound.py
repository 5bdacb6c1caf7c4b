"""The pages that link to an entry, from the index of pages."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.links import InboundLink, InboundLinks
from openzim_mcp.worker import link_index
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.resolve import find_link_target, require_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.calls.links import DescribeLinks, FindInbound
    from openzim_mcp.worker.document import Document, Link
    from openzim_mcp.worker.zim import Archive, Item

_MAX_READ_BYTES = 4 << 20
"""Of the pages that are shown, so much is read for the texts of links."""


def find_inbound(archive: Archive, call: FindInbound) -> InboundLinks:
    """Return the pages that link to an entry: those that most pages link to first, then by path."""
    item = require_entry(archive, call.path)
    number = archive.number_of(item.path)
    known = None if number is None else link_index.read_inbound(archive.identity, archive.entry_count, number)
    entry = (item.path, item.title, archive.file_name)
    if known is None:
        return InboundLinks(*entry, None, 0, is_complete=False, done=0, of=0)
    links = None
    if known.sources is not None:
        shown = _most_linked(archive, known.sources, call.offset + call.limit)[call.offset :]
        links = _describe(archive, item, archive.find_entries(map(archive.path_by_id, shown)))
    return InboundLinks(
        *entry, links, known.total, is_complete=known.is_complete and links is not None, done=known.done, of=known.of
    )


def _most_linked(archive: Archive, numbers: list[int], count: int) -> list[int]:
    """Return the numbers of the pages that most pages link to; numbers are in the order of paths."""
    degrees = link_index.load_in_degrees(archive.identity, archive.entry_count)
    if degrees is None:
        return sorted(numbers)[:count]
    return heapq.nsmallest(count, numbers, key=lambda number: (-degrees[number], number))


def describe_links(archive: Archive, call: DescribeLinks) -> list[InboundLink]:
    """Return some pages with their first link to an entry; the entry itself is left out."""
    item = require_entry(archive, call.path)
    return _describe(archive, item, [page for page in archive.find_entries(call.pages) if page.path != item.path])


def _describe(archive: Archive, target: Item, pages: Iterable[Item]) -> list[InboundLink]:
    rows = []
    read_bytes = 0
    targets: dict[str, str | None] = {}
    for page in pages:
        read_bytes += page.size
        link = None
        if is_page(page.mime_type) and read_bytes <= _MAX_READ_BYTES:
            try:
                document = article.document(archive, page)
                link = _first_link(archive, document, target.path, targets)
            except errors.OpenZimMcpArchiveError:
                pass
        section = document.sections[link.section].title if link else None
        rows.append(InboundLink(page.path, page.title, link.text or None if link else None, section or None))
    return rows


def _first_link(archive: Archive, document: Document, path: str, targets: dict[str, str | None]) -> Link | None:
    """Return the first link of a page to a path; `targets` are the paths that links lead to, as far as known."""
    for link in document.links:
        if link.kind not in {"internal", "media"}:
            continue
        if link.target not in targets:
            match = archive.look_up(path=link.target)
            found = None if match else find_link_target(archive, link.target)
            targets[link.target] = match.target if match else found.path if found else None
        if targets[link.target] == path:
            return link
    return None

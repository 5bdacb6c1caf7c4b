"""Where an article leads: its links, and the articles that belong with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from openzim_mcp import cursors, errors
from openzim_mcp.worker.readers.html.links import spellings
from openzim_mcp.worker.reading import article

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Document, Link
    from openzim_mcp.worker.zim import Archive, Item

TOOL = "zim_links"
# What makes an article related, in mentions: each link counts one, and these count on top.
_IN_LEAD = 2.0
_LINKS_BACK = 3.0
_SHARED_LINK = 0.2
_MOST_SHARED = 10
_LOOKED_INTO = 15
_LARGEST_LOOKED_INTO = 300_000
_RESOLVED_FOR_RELATED = 1000
_SMALLEST_PICTURE = 2000


def outbound(archive: Archive, path: str, limit: int, offset: int, cursor: str | None) -> dict[str, Any]:
    """Return the links of an article, once for each section, with where they lead in this archive."""
    item, document = article.page_of(archive, path)
    unique = {
        (link.kind, link.target, link.section): link for link in reversed(document.links) if link.kind != "anchor"
    }
    found = list(reversed(unique.values()))
    counts = Counter(link.kind for link in found)
    start, next_cursor = _window(archive, item, "outbound", len(found), limit, offset, cursor)
    return article.about(archive, item) | {
        "outbound_links": [_row(archive, document, link) for link in found[start : start + limit]],
        "internal_count": counts["internal"],
        "external_count": counts["external"],
        "media_count": counts["media"],
        "next_cursor": next_cursor,
        "done": next_cursor is None,
    }


def _row(archive: Archive, document: Document, link: Link) -> dict[str, Any]:
    section = document.sections[link.section].title
    if link.kind == "external":
        return {"kind": "external", "url": link.target, "text": link.text, "section": section}
    target = resolve(archive, link.target)
    row = {"kind": link.kind, "path": target.path if target else link.target}
    if target:
        return row | {"title": target.title, "text": link.text, "section": section}
    return row | {"text": link.text, "section": section, "missing": True}


def resolve(archive: Archive, target: str) -> Item | None:
    """Return the entry that a link means, or None where the archive does not have it."""
    for path in spellings(target):
        try:
            item = archive.find(path)
        except errors.OpenZimMcpArchiveError:
            return None
        if item is not None:
            return item
    return None


def picture(archive: Archive, path: str) -> dict[str, Any]:
    """Return where the picture of an article is, the first that is no mere icon; a file is its own picture."""
    item, document = article.page_of(archive, path)
    if item.mime_type != "text/html":
        return article.about(archive, item) | {"picture": item.path}
    shown = (resolve(archive, link.target) for link in document.links if link.kind == "media")
    pictures = (e.path for e in shown if e and e.mime_type.startswith("image/") and e.size >= _SMALLEST_PICTURE)
    return article.about(archive, item) | {"picture": next(pictures, None)}


def related(archive: Archive, path: str, limit: int, offset: int, cursor: str | None) -> dict[str, Any]:
    """Return the articles that belong with one: linked often, early, both ways, or linking to the same things."""
    item, document = article.page_of(archive, path)
    found, scores, mentions = _neighbours(archive, item, document)
    own = set(found)
    for target in sorted(found, key=lambda p: -scores[p])[:_LOOKED_INTO]:
        scores[target] += _kinship(archive, found[target], item.path, own)
    ranked = sorted(found, key=lambda p: (-scores[p], p))
    start, next_cursor = _window(archive, item, "related", len(ranked), limit, offset, cursor)
    return article.about(archive, item) | {
        "related": [
            {"path": target, "title": found[target].title, "mentions": mentions[target]}
            for target in ranked[start : start + limit]
        ],
        "next_cursor": next_cursor,
        "done": next_cursor is None,
    }


def _neighbours(
    archive: Archive, item: Item, document: Document
) -> tuple[dict[str, Item], dict[str, float], Counter[str]]:
    """Return the articles that are linked, how much speaks for each, and how often each is mentioned."""
    found: dict[str, Item] = {}
    scores: dict[str, float] = {}
    mentions: Counter[str] = Counter()
    resolved: dict[str, Item | None] = {}
    for link in document.links:
        if link.kind != "internal" or len(resolved) > _RESOLVED_FOR_RELATED:
            continue
        if link.target not in resolved:
            resolved[link.target] = resolve(archive, link.target)
        target = resolved[link.target]
        if target is None or target.path == item.path or target.mime_type != "text/html":
            continue
        first = target.path not in found
        found[target.path] = target
        mentions[target.path] += 1
        scores[target.path] = scores.get(target.path, 0.0) + 1 + (_IN_LEAD if first and not link.section else 0)
    return found, scores, mentions


def _kinship(archive: Archive, target: Item, path: str, own: set[str]) -> float:
    """Return what speaks for an article on its own page: a link back, and links to the same articles."""
    if target.size > _LARGEST_LOOKED_INTO:
        return 0.0
    theirs = {link.target for link in article.document_of(archive, target).links if link.kind == "internal"}
    shared = min(len(theirs & own), _MOST_SHARED)
    return (_LINKS_BACK if path in theirs else 0.0) + _SHARED_LINK * shared


def _window(
    archive: Archive, item: Item, direction: str, total: int, limit: int, offset: int, cursor: str | None
) -> tuple[int, str | None]:
    """Return where a page of results starts, and the cursor of the next one."""
    request = {"entry_path": item.path, "direction": direction, "limit": limit}
    start = cursors.position(TOOL, cursor, offset, archive.uuid, request)
    stop = start + limit
    request |= {"zim_file_path": archive.name}
    return start, None if stop >= total else cursors.encode(TOOL, archive.uuid, stop, request)

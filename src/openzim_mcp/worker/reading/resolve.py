"""Smart retrieval: from what a caller writes to the path of an entry."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from openzim_mcp import errors
from openzim_mcp.calls.reading import ClosestTitle
from openzim_mcp.text import safe_line, title_words
from openzim_mcp.uris import is_zim_uri, parse_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.calls.reading import FindClosestTitle
    from openzim_mcp.worker.zim import Archive, Item

_CANDIDATES = 5
_CLOSE = 0.85
_LOOK_AT = 20
_NAMESPACES = ("A/", "C/", "I/", "-/")


def resolve_entry(archive: Archive, requested: str) -> Item | None:
    """Return the entry that a path, a title, a URL of the original site or a `zim://` URI means, by look-ups alone."""
    for spelling in _spellings(requested):
        item = archive.find_entry(spelling) or archive.find_by_title(spelling)
        if item is not None:
            return item
    return None


def require_entry(archive: Archive, requested: str) -> Item:
    """Do the same, or raise `EntryNotFound`."""
    item = resolve_entry(archive, requested)
    if item is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no entry {safe_line(requested, 200)!r}.",
            hint="Check the path or the title; zim_browse lists what there is.",
        )
    return item


def find_closest_title(archive: Archive, call: FindClosestTitle) -> ClosestTitle:
    """Return the entry whose title comes closest to what was asked for."""
    return closest_title(archive, call.requested)


def closest_title(archive: Archive, requested: str) -> ClosestTitle:
    """Return the entry whose title comes closest to what was asked for."""
    text = _plain(_bare(requested).replace("_", " "))
    items = {item.path: item for item in _similar(archive, text)}
    ranked = sorted(items.values(), key=lambda item: -_likeness(text, _plain(item.title)))[:_CANDIDATES]
    best = ranked[0] if ranked and _likeness(text, _plain(ranked[0].title)) >= _CLOSE else None
    return ClosestTitle(best.path if best else None, [item.title for item in ranked])


def _spellings(requested: str) -> Iterator[str]:
    """Yield the ways in which an archive may spell what was asked for, the likeliest first."""
    seen: set[str] = set()
    bare = _bare(requested)
    for form in (requested, bare, unquote(bare), bare.partition("#")[0], unquote(bare.partition("#")[0])):
        for namespace in ("", *_NAMESPACES):
            name = form.removeprefix(namespace) if namespace else form
            for spelling in (name, name.replace(" ", "_"), name.replace("_", " "), name[:1].upper() + name[1:]):
                for final in (spelling, spelling[:1].upper() + spelling[1:].replace(" ", "_")):
                    if final and final not in seen:
                        seen.add(final)
                        yield final


def _bare(requested: str) -> str:
    """Return what is behind a URL or URI: the part that names the entry."""
    text = requested.strip()
    if is_zim_uri(text):
        uri = parse_uri(text)
        return uri.path_candidates[0] if uri else ""
    parts = urlsplit(text)
    if parts.scheme in {"http", "https"} and parts.netloc:
        page = parts.path.lstrip("/") + (f"?{parts.query}" if parts.query else "")
        return unquote(page.removeprefix("wiki/")) if page.startswith("wiki/") else f"{parts.netloc}/{page}"
    return text.removeprefix("./").lstrip("/")


def _plain(text: str) -> str:
    return " ".join(title_words(text))


def _likeness(wanted: str, title: str) -> float:
    return 1.0 if wanted == title else difflib.SequenceMatcher(None, wanted, title).ratio()


def _similar(archive: Archive, wanted: str) -> Iterator[Item]:
    """Yield entries that might be meant: those that begin alike, and those that hold the words."""
    words = wanted.split()
    for start in (wanted, " ".join(words[:-1]), wanted[: max(3, len(wanted) // 2)], wanted[:3]):
        if start.strip():
            yield from archive.suggest_items(start.strip(), _LOOK_AT)
            yield from archive.suggest_items(start.strip().title(), _LOOK_AT)
    if words:
        yield from archive.search_items(wanted, _LOOK_AT)

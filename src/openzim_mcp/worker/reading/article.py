"""Reading one entry: the article, its summary, its outline, one section of it, or its bytes."""

from __future__ import annotations

import base64
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors, tokens
from openzim_mcp.calls import OMIT_NONE
from openzim_mcp.text import safe_line
from openzim_mcp.worker import render
from openzim_mcp.worker.readers import text as other
from openzim_mcp.worker.readers.html import reader
from openzim_mcp.worker.reading import entry, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.zim import Archive, Item

_CACHE_BYTES = 32 << 20
_HUGE = 2 << 20
_PART = 128 << 10
_HTML = ("text/html", "application/xhtml+xml")
_CONTINUATION_TOKENS = 30


class _Documents:
    """Documents of the pages that were read last, as many as their bytes allow, by the opening of their archive."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._held: OrderedDict[tuple[int, str], tuple[int, Document]] = OrderedDict()
        self._size = 0

    def of(self, archive: Archive, item: Item) -> Document:
        """Return the document of an item, parsed once."""
        key = (archive.serial, item.path)
        held = self._held.pop(key, None)
        if held is None:
            document = _parse(archive, item)
            self._size += item.size
            held = (item.size, document)
        self._held[key] = held
        while self._size > self._room and len(self._held) > 1:
            size, _ = self._held.popitem(last=False)[1]
            self._size -= size
        return held[1]


_documents = _Documents(_CACHE_BYTES)


def _parse(archive: Archive, item: Item) -> Document:
    if item.mime_type in _HTML:
        return reader.parse(archive.read(item.path), item.path)
    if other.is_text(item.mime_type):
        return other.parse(archive.read(item.path), item.mime_type, item.title)
    return other.card(item.mime_type, item.size)


def document_of(archive: Archive, item: Item) -> Document:
    """Return the document of an item."""
    return _documents.of(archive, item)


def part_of(archive: Archive, item: Item, probes: Sequence[str]) -> Document:
    """Return the document of an item or, of a huge page, that of the part around the first probe that it has."""
    if item.size <= _HUGE or item.mime_type not in _HTML:
        return document_of(archive, item)
    raw = archive.read(item.path)
    low = raw.lower()
    places = (low.find(probe.encode()) for probe in probes)
    start = max(0, next((place for place in places if place >= 0), 0) - _PART // 4)
    return reader.parse(raw[start : start + _PART], item.path)


def page_of(archive: Archive, path: str) -> tuple[Item, Document]:
    """Return what is at a path, and its document."""
    item = resolve.require(archive, path)
    return item, document_of(archive, item)


@dataclass(frozen=True)
class Article:
    """A page of an article, ready to be read, and where the next one starts."""

    markdown: str
    next_offset: int | None


@dataclass(frozen=True)
class Summary:
    """The lead of an article, its key facts, and the meanings if it only lists some."""

    path: str
    title: str
    archive: str
    summary: str
    description: str | None = field(default=None, metadata=OMIT_NONE)
    facts: dict[str, str] | None = field(default=None, metadata=OMIT_NONE)
    meanings: list[str] | None = field(default=None, metadata=OMIT_NONE)


def article(
    archive: Archive, path: str, requested: str, offset: int, length: int, budget: int | None, *, compact: bool
) -> Article:
    """Return a page of an article as Markdown, under a header that says what it is."""
    item, document = page_of(archive, path)
    blocks = render.fold(document, document.blocks) if compact else document.blocks
    head = _head(item, document, requested)
    if budget is not None:
        room = budget - tokens.estimate(head) * tokens.SAFETY_FACTOR - _CONTINUATION_TOKENS
        piece = render.slice_to_budget(blocks, offset, room)
        piece = piece if len(piece.text) <= length else render.slice_at_block(blocks, offset, length)
    else:
        piece = render.slice_at_block(blocks, offset, length)
    check_offset(item, offset, piece.total)
    text = piece.text or "(This entry has no text.)"
    return Article(f"{head}\n\n{text}{_tail(piece)}", None if piece.done else piece.stop)


def check_offset(item: Item, offset: int, total: int) -> None:
    """Refuse a place behind the end of a text."""
    if offset and offset >= total:
        raise errors.OutOfRange(
            f"content_offset={offset} lies beyond the end: {item.path!r} has {total} characters.",
            hint="Start again with content_offset=0.",
        )


def _tail(piece: render.Slice) -> str:
    """Say where a text goes on, if it does."""
    return "" if piece.done else f"\n\n{going_on(piece.stop, piece.total)}"


def going_on(offset: int, total: int) -> str:
    """Return the line that says where a text goes on."""
    return f"[content_offset={offset} continues; {total} characters in all]"


def _head(item: Item, document: Document, requested: str) -> str:
    title = safe_line(document.title or item.title, 300)
    same = requested == item.path
    path = f"Path: {item.path}" if same else f"Requested Path: {safe_line(requested, 300)}\nActual Path: {item.path}"
    hidden = document.dropped.get("hidden", 0)
    note = f"\nNote: {hidden} characters of hidden text left out" if hidden and hidden > len(document.body) else ""
    return f"# {title}\n\nTitle: {safe_line(item.title, 300)}\n{path}\nType: {item.mime_type}{note}\n\n## Content"


def summary(archive: Archive, path: str) -> Summary:
    """Return the lead of an article, without boxes, hatnotes and captions."""
    item, document = page_of(archive, path)
    wanted = {"paragraph", "list", "quote", "definition", "code", "lines"}
    lead = [block for block in document.lead if block.kind in wanted]
    chosen = lead or [block for block in document.blocks if block.kind in wanted][:1]
    return Summary(
        path=item.path,
        title=item.title,
        archive=archive.shown,
        summary=render.slice_at_block(chosen, 0, 4000).text.rstrip(),
        description=document.description or None,
        facts=dict(document.facts) or None,
        meanings=_meanings(document) if document.is_disambiguation else None,
    )


def _meanings(document: Document) -> list[str]:
    lists = [block.text for block in document.blocks if block.kind == "list"]
    return [line[2:] for text in lists for line in text.split("\n") if line.startswith("- ")]


def contents(archive: Archive, path: str) -> dict[str, Any]:
    """Return the sections of an article as a tree."""
    item, document = page_of(archive, path)

    def branch(number: int) -> dict[str, Any]:
        section = document.sections[number]
        below = [branch(child) for child in document.children(number)]
        return {"id": section.id, "title": section.title, "level": section.level, "children": below}

    return about(archive, item) | {"toc": [branch(number) for number in document.children(0)]}


def structure(archive: Archive, path: str) -> dict[str, Any]:
    """Return the sections of an article as a list, each with the length of its own text."""
    item, document = page_of(archive, path)
    headings = [
        {
            "id": section.id,
            "title": section.title,
            "level": section.level,
            "characters": len(render.join(document.blocks[section.start : section.stop])),
        }
        for number, section in enumerate(document.sections)
        if number
    ]
    lead = len(render.join(document.lead))
    return about(archive, item) | {"lead_characters": lead, "headings": headings}


def about(archive: Archive, item: Item) -> dict[str, Any]:
    """Return what names an entry in every payload about it."""
    return {"path": item.path, "title": item.title, "archive": archive.shown}


def batch_entry(archive: Archive, path: str, length: int) -> dict[str, Any]:
    """Return one entry of a batch."""
    item, document = page_of(archive, path)
    piece = render.slice_at_block(document.blocks, 0, length)
    content = piece.text + _tail(piece)
    return {"title": item.title, "actual_path": item.path, "mime_type": item.mime_type, "content": content}


def binary(archive: Archive, path: str) -> dict[str, Any]:
    """Return the bytes of an entry, in base64."""
    item = resolve.require(archive, path)
    data = base64.b64encode(entry.read(archive, item)).decode()
    return {
        "path": item.path,
        "title": item.title,
        "mime_type": item.mime_type,
        "size": item.size,
        "encoding": "base64",
        "data": data,
    }


def random_path(archive: Archive) -> str:
    """Return where some article is."""
    return archive.random_path()


def preview(archive: Archive, length: int) -> str | None:
    """Return the beginning of the main page, if there is one."""
    path = archive.main_path
    if path is None:
        return None
    _, document = page_of(archive, path)
    return render.slice_at_block(document.blocks, 0, length).text.rstrip()


def main_path(archive: Archive) -> str | None:
    """Return where the main page is."""
    return archive.main_path

"""Reading one entry: the article, its summary, its outline, or its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from cachetools import LRUCache

from openzim_mcp import errors, tokens
from openzim_mcp.calls.reading import (
    Article,
    EntryText,
    Heading,
    Structure,
    Summary,
    TableOfContents,
    TocEntry,
)
from openzim_mcp.text import continuation_line, safe_line
from openzim_mcp.uris import path_in_text
from openzim_mcp.worker import render
from openzim_mcp.worker.document import BLOCK_SEPARATOR
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.reading import long_documents, resolve
from openzim_mcp.worker.reading.document_titles import has_documents, title_of
from openzim_mcp.worker.reading.parts import find_fragment, page_number
from openzim_mcp.worker.reading.pictures import is_picture, read_picture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.reading import (
        PickRandomPath,
        PreviewMainPage,
        ReadArticle,
        ReadStructure,
        ReadSummary,
        ReadTableOfContents,
        ReadText,
    )
    from openzim_mcp.worker.document import Block, Document
    from openzim_mcp.worker.zim import Archive, Item

_CACHE_BYTES = 24 << 20
_DOCUMENT_BYTES = 10_000
"""What a document takes beside its text."""
_BYTES_PER_CHAR = 4
"""What a document takes: that of a PDF or of a page with a transcript has more text than the entry has bytes."""
_HUGE_PAGE_BYTES = 2 << 20
_EXCERPT_BYTES = 128 << 10
_SUMMARY_CHARS = 4000
_COLLAPSED_CHARS = 4000
_SUMMARY_KINDS = {"paragraph", "list", "quote", "definition", "code", "lines"}
_CONTINUATION_TOKENS = 30
_FACT_CHARS = 1000
_ROWS_CHARS = 12_000
_ROW_OVERHEAD_CHARS = 6
_HEADING_CHARS = 300
_Row = TypeVar("_Row", tuple[str, str], tuple[str])

_documents: LRUCache[tuple[int, str], tuple[int, Document]] = LRUCache(_CACHE_BYTES, getsizeof=lambda row: row[0])
"""The size and the document of the pages read last, by the serial number of their archive and their path."""


def document(archive: Archive, item: Item, raw: bytes | None = None, language: str = "") -> Document:
    """Return the document of an item, parsed once; `raw` are its bytes, if they have been read.

    A video has subtitles in that language, if there are some.
    """
    key = (archive.serial, f"{item.path}\0{language}" if language and is_page(item.mime_type) else item.path)
    if key in _documents:
        return _documents[key][1]
    parsed = read_document(archive, item, language, raw)
    size = _DOCUMENT_BYTES + max(item.size, _BYTES_PER_CHAR * sum(len(block.text) for block in parsed.blocks))
    _documents[key] = (min(size, _CACHE_BYTES), parsed)
    return parsed


def forget_documents(archive: Archive) -> None:
    """Drop the documents of an archive that is closed: it would have another number when it is opened again."""
    for key in [key for key in _documents if key[0] == archive.serial]:
        del _documents[key]


def document_around(
    archive: Archive, item: Item, words: Sequence[str], raw: bytes | None = None, language: str = ""
) -> Document:
    """Return the document of an item; of a huge page, only the part around the first of the words that occurs in it."""
    pdf = long_documents.open_long(archive, item)
    if pdf is not None:
        return long_documents.read_likeliest(archive, item, pdf, words)
    if item.size <= _HUGE_PAGE_BYTES or not is_page(item.mime_type):
        return document(archive, item, raw, language if has_documents(archive) else "")
    raw = archive.read_content(item.path) if raw is None else raw
    lower = raw.lower()
    offsets = (lower.find(word.encode()) for word in words)
    start = max(0, next((offset for offset in offsets if offset >= 0), 0) - _EXCERPT_BYTES // 4)
    with timer.limit(archive, item.path):
        return read_html(raw[start : start + _EXCERPT_BYTES], item.path)


def requested_document(archive: Archive, item: Item) -> Document:
    """Return the document of an item that a call asks for: of a picture, with what a page that shows it says of it."""
    return read_picture(archive, item) if is_picture(item) else document(archive, item)


def document_start(archive: Archive, item: Item, chars: int) -> Document:
    """Return the document of an item; of a long PDF, the first pages, with at least so many characters."""
    pdf = long_documents.open_long(archive, item)
    return requested_document(archive, item) if pdf is None else long_documents.read_start(archive, item, pdf, chars)


def load_page(archive: Archive, path: str) -> tuple[Item, Document]:
    """Return the item at a path and its document."""
    item = resolve.require_entry(archive, path)
    return item, document(archive, item)


def read_article(archive: Archive, call: ReadArticle) -> Article:
    """Return a page of an article as Markdown, under a header with title, path and type."""
    item, fragment = resolve.require_place(archive, call.path)
    page, blocks, note = load_part(archive, item, fragment, call.offset + call.max_chars)
    blocks = render.collapse_large_blocks(page, blocks) if call.compact else blocks
    header = _header(archive, item, page, call.requested, note)
    piece = render.slice_at_block(blocks, call.offset, call.max_chars)
    if call.max_tokens is not None:
        room = call.max_tokens - tokens.estimate(header) * tokens.SAFETY_FACTOR - _CONTINUATION_TOKENS
        by_tokens = render.slice_to_budget(blocks, call.offset, room)
        piece = by_tokens if len(by_tokens.text) <= call.max_chars else piece
    is_all = note or page.extent is None or page.extent.is_complete
    if is_all:
        check_offset(item, call.offset, piece.total)
    text = piece.text or "(This entry has no text.)"
    place = "" if is_all else _place_at(page, blocks, piece.stop)
    markdown = f"{header}\n\n{text}{_continuation(piece, place)}"
    return Article(markdown, None if piece.done and is_all else piece.stop, item.path, item.title)


def load_part(archive: Archive, item: Item, fragment: str, chars: int) -> tuple[Document, Sequence[Block], str]:
    """Return a document and the blocks of it that a fragment names; of a long one, as much as has so many characters.

    Blocks that are shown collapsed are shorter: then more is read than is needed for one page of the result.
    """
    pdf = long_documents.open_long(archive, item)
    if pdf is None:
        page = requested_document(archive, item)
    elif fragment:
        page = long_documents.read_named_part(archive, item, pdf, fragment, str) or document(archive, item)
    else:
        page = long_documents.read_start(archive, item, pdf, chars + _COLLAPSED_CHARS)
    return page, *_select_part(page, fragment)


def _place_at(page: Document, blocks: Sequence[Block], offset: int) -> str:
    """Return the page that ends at an offset of some blocks or has it, and how many pages there are."""
    position = 0
    for block in blocks:
        position += len(block.text) + len(BLOCK_SEPARATOR)
        if position >= offset:
            break
    number = page_number(block.locator) if blocks else None
    return f"page {number or 1} of {page.extent.total}" if page.extent else ""


def check_offset(item: Item, offset: int, total: int, unit: str = "characters") -> None:
    """Raise an error if an offset is beyond the end of a text."""
    if offset and offset >= total:
        raise errors.OutOfRange(
            f"content_offset={offset} is beyond the end: {safe_line(item.path, 200)!r} has {total} {unit}.",
            hint="Start again with content_offset=0.",
        )


def _continuation(piece: render.Slice, place: str) -> str:
    if piece.done and not place:
        return ""
    return f"\n\n{continuation_line(piece.stop, piece.total, place)}"


def _select_part(page: Document, fragment: str) -> tuple[Sequence[Block], str]:
    """Return the blocks that a fragment names, or all of them, and a line that says which these are."""
    if not fragment:
        return page.blocks, ""
    part = find_fragment(page, fragment)
    if part is None:
        return page.blocks, f"Note: the page has no part {safe_line(fragment, 100)!r}; this is its start"
    return part.blocks, f"Section: {safe_line(part.name.title, 200)}"


def _header(archive: Archive, item: Item, page: Document, requested: str, part: str) -> str:
    title = safe_line(page.title or title_of(archive, item.path, item.title), 300)
    path = f"Path: {path_in_text(item.path)}"
    if not resolve.is_same_path(requested, item.path):
        path = f"Requested Path: {safe_line(requested, 300)}\nActual Path: {path_in_text(item.path)}"
    hidden = page.dropped.get("hidden", 0)
    note = f"Note: {hidden} characters of hidden text left out" if hidden and hidden > len(page.body) else ""
    facts = [f"Title: {safe_line(item.title, 300)}", path, f"Type: {item.mime_type}", part, note]
    return "\n".join([f"# {title}\n", *filter(None, facts), "\n## Content"])


def read_summary(archive: Archive, call: ReadSummary) -> Summary:
    """Return the lead of an article, without boxes, hatnotes and captions."""
    item = resolve.require_entry(archive, call.path)
    page = document_start(archive, item, _SUMMARY_CHARS)
    facts = _take_rows([(safe_line(name, _FACT_CHARS), safe_line(value, _FACT_CHARS)) for name, value in page.facts])
    all_meanings = _list_meanings(page) if page.is_disambiguation else []
    meanings = [row for (row,) in _take_rows([(safe_line(row, _FACT_CHARS),) for row in all_meanings])]
    return Summary(
        path=item.path,
        title=item.title,
        archive=archive.file_name,
        summary=_lead_text(page),
        description=safe_line(page.description, _FACT_CHARS) or None,
        facts=dict(facts) or None,
        meanings=meanings if page.is_disambiguation else None,
        truncated=len(facts) < len(page.facts) or len(meanings) < len(all_meanings),
        coordinates=list(page.coordinates) if page.coordinates else None,
    )


def _take_rows(rows: Sequence[_Row]) -> list[_Row]:
    """Return the first rows that fit into a result."""
    taken, chars_left = [], _ROWS_CHARS
    for row in rows:
        chars_left -= sum(map(len, row)) + _ROW_OVERHEAD_CHARS
        if chars_left < 0:
            break
        taken.append(row)
    return taken


def _lead_text(page: Document) -> str:
    lead = [block for block in page.lead if block.kind in _SUMMARY_KINDS]
    blocks = lead or [block for block in page.blocks if block.kind in _SUMMARY_KINDS][:1]
    return render.slice_at_block(blocks, 0, _SUMMARY_CHARS).text.rstrip()


def _list_meanings(page: Document) -> list[str]:
    lists = [block.text for block in page.blocks if block.kind == "list"]
    return [line[2:] for text in lists for line in text.split("\n") if line.startswith("- ")]


def read_table_of_contents(archive: Archive, call: ReadTableOfContents) -> TableOfContents:
    """Return the sections of an article as a tree; of a page of them, each below its nearest listed section."""
    item = resolve.require_entry(archive, call.path)
    pdf = long_documents.open_long(archive, item)
    page = long_documents.read_outline(archive, item, pdf) if pdf and pdf.has_outline else document(archive, item)
    numbers, total, next_offset = _page_of_headings(item, page, call)
    listed = set(numbers)

    def branch(number: int) -> TocEntry:
        section = page.sections[number]
        children = [branch(child) for child in page.children(number) if child in listed]
        return TocEntry(section.id[:_HEADING_CHARS], safe_line(section.title, _HEADING_CHARS), section.level, children)

    below = {child for number in numbers for child in page.children(number)}
    toc = [branch(number) for number in numbers if number not in below]
    return TableOfContents(item.path, item.title, archive.file_name, toc, total, next_offset)


def read_structure(archive: Archive, call: ReadStructure) -> Structure:
    """Return the sections of an article as a list, each with the length of its own text."""
    item, page = load_page(archive, call.path)
    numbers, total, next_offset = _page_of_headings(item, page, call)
    headings = [
        Heading(
            section.id[:_HEADING_CHARS],
            safe_line(section.title, _HEADING_CHARS),
            section.level,
            characters=len(render.join_blocks(page.blocks[section.start : section.stop])),
        )
        for section in map(page.sections.__getitem__, numbers)
    ]
    lead_characters = len(render.join_blocks(page.lead))
    return Structure(item.path, item.title, archive.file_name, lead_characters, headings, total, next_offset)


def _page_of_headings(
    item: Item, page: Document, call: ReadTableOfContents | ReadStructure
) -> tuple[range, int | None, int | None]:
    """Return the numbers of some sections and, unless these are all, how many there are and where to go on."""
    total = len(page.sections) - 1
    check_offset(item, call.offset, total, "headings")
    stop = total if call.limit is None else min(total, call.offset + call.limit)
    numbers = range(1 + call.offset, 1 + stop)
    return numbers, None if len(numbers) == total else total, None if stop == total else stop


def read_text(archive: Archive, call: ReadText) -> EntryText:
    """Return the text of an entry from an offset on, and the length of all of it."""
    item, fragment = resolve.require_place(archive, call.path)
    page, blocks, note = load_part(archive, item, fragment, call.offset + call.max_chars)
    piece = render.slice_at_block(blocks, call.offset, call.max_chars)
    check_offset(item, call.offset, piece.total)
    lead = _lead_text(page) if call.with_lead else None
    is_all = note or page.extent is None or page.extent.is_complete
    place = None if is_all else _place_at(page, blocks, piece.stop)
    return EntryText(item.title, item.path, item.mime_type, piece.text, piece.total, note or None, lead, place)


def pick_random_path(archive: Archive, _call: PickRandomPath) -> str:
    """Return the path of a random article."""
    return archive.random_path()


def preview_main_page(archive: Archive, call: PreviewMainPage) -> str | None:
    """Return the start of the main page, if there is one."""
    path = archive.main_path
    if path is None:
        return None
    _, page = load_page(archive, path)
    return render.slice_at_block(page.blocks, 0, call.max_chars).text.rstrip()

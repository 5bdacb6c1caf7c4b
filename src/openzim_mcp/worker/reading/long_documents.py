"""Read as much of an entry as a view needs: a PDF of a thousand pages is not read whole for one passage."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from cachetools import LRUCache

from openzim_mcp.text import normalize
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_pdf
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.readers.pdf.crashes import crash_reporter
from openzim_mcp.worker.readers.pdf.file import PdfUnreadable
from openzim_mcp.worker.readers.pdf.reader import PagedPdf
from openzim_mcp.worker.reading.parts import LEAD_NAMES, find_parts, page_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.reading.parts import Stem
    from openzim_mcp.worker.zim import Archive, Item

_SHORT_PAGES = 30
"""A PDF with at most so many pages is read whole."""
_STEP_PAGES = 100
_KEPT_BYTES = 48 << 20
_PAGE_BYTES = 20_000


def _memory(pdf: PagedPdf) -> int:
    """Return about how much memory an open PDF takes, once all pages were read."""
    return pdf.size + pdf.page_count * _PAGE_BYTES


_open_pdfs: LRUCache[tuple[int, str], PagedPdf] = LRUCache(_KEPT_BYTES, getsizeof=_memory)
"""The PDFs read last, by the serial number of their archive and their path."""


@contextlib.contextmanager
def _reading(archive: Archive, item: Item) -> Iterator[None]:
    """Read in the block, with the time of a page; if that ends the process, the server knows what was read."""
    with timer.limit(archive, item.path), crash_reporter.reading(item.path):
        yield


def open_long(archive: Archive, item: Item) -> PagedPdf | None:
    """Return a long PDF, to be read by pages; None if the entry is to be read whole."""
    if not is_pdf(item.mime_type, item.path) or crash_reporter.has_crashed(item.path):
        return None
    key = (archive.serial, item.path)
    pdf = _open_pdfs.get(key)
    if pdf is None:
        content = archive.read_content(item.path)
        try:
            with _reading(archive, item):
                pdf = PagedPdf(content)
                _ = pdf.outline  # PDFium is asked for it now, and the views need it
        except PdfUnreadable:
            return None
        if _memory(pdf) <= _KEPT_BYTES:
            _open_pdfs[key] = pdf
    return pdf if pdf.page_count > _SHORT_PAGES else None


def read_whole(archive: Archive, item: Item) -> Document:
    """Return the document of an entry for an index: a long PDF in steps, each with the time of a page."""
    pdf = open_long(archive, item)
    if pdf is None:
        return read_document(archive, item)
    for start in range(0, pdf.page_count, _STEP_PAGES):
        with _reading(archive, item):
            for page in range(start, min(pdf.page_count, start + _STEP_PAGES)):
                pdf.pieces(page)
    with _reading(archive, item):
        return pdf.document(range(pdf.page_count))


def read_start(archive: Archive, item: Item, pdf: PagedPdf, chars: int) -> Document:
    """Return the first pages of a PDF, as many as have so many characters."""
    with _reading(archive, item):
        return pdf.document(list(pdf.pages_until(chars)))


def read_in_time(archive: Archive, item: Item, pdf: PagedPdf) -> Document:
    """Return the pages of a PDF from the first on, as many as the time allows: those read before are kept."""
    count = 0
    with _reading(archive, item):
        while count < pdf.page_count and (pdf.has_read(count) or not count or not timer.is_late()):
            pdf.pieces(count)
            count += 1
        return pdf.document(range(count))


def read_outline(archive: Archive, item: Item, pdf: PagedPdf) -> Document:
    """Return the sections of a PDF, without their text; of one without an outline there are none."""
    with _reading(archive, item):
        return pdf.document(())


def read_named_part(archive: Archive, item: Item, pdf: PagedPdf, name: str, stem: Stem) -> Document | None:
    """Return the pages of the page or section of that name; the outline if several have it; None if none does."""
    number = page_number(name)
    if number is not None and number <= pdf.page_count:
        pages: Sequence[int] = (number - 1,)
    else:
        outline = read_outline(archive, item, pdf)
        parts = find_parts(outline, name, stem) if pdf.has_outline and name not in LEAD_NAMES else []
        if len(parts) != 1:
            return outline if parts else None
        pages = _pages_of_section(pdf, outline, parts[0].name.id)
    with _reading(archive, item):
        return pdf.document(pages)


def _pages_of_section(pdf: PagedPdf, outline: Document, section_id: str) -> range:
    """Return the pages of a section of the outline, with those below it."""
    sections = outline.sections[1:]
    first = next(number for number, section in enumerate(sections) if section.id == section_id)
    following = (n for n in range(first + 1, len(sections)) if sections[n].level <= sections[first].level)
    after = next(following, None)
    stop = pdf.page_count if after is None else pdf.outline[after].page + 1
    return range(pdf.outline[first].page, max(stop, pdf.outline[first].page + 1))


def read_likeliest(archive: Archive, item: Item, pdf: PagedPdf, words: Sequence[str]) -> Document:
    """Return the pages of a PDF that are likeliest to have some words, as many as the time allows.

    First those of the sections whose titles have the words, then all from the first on.
    """
    read: list[int] = []
    end = timer.end_of_long_reading()
    with _reading(archive, item):
        for page in _by_likelihood(pdf, words):
            if pdf.has_read(page) or not read or time.process_time() < end:
                pdf.pieces(page)
                read.append(page)
        return pdf.document(sorted(read))


def _by_likelihood(pdf: PagedPdf, words: Sequence[str]) -> list[int]:
    scores: dict[int, int] = {}
    entries = pdf.outline
    for number, entry in enumerate(entries):
        title = normalize(entry.title)
        score = sum(word in title for word in words)
        if score:
            stop = entries[number + 1].page + 1 if number + 1 < len(entries) else pdf.page_count
            for page in range(entry.page, min(stop, entry.page + _SHORT_PAGES)):
                scores[page] = max(score, scores.get(page, 0))
    return sorted(range(pdf.page_count), key=lambda page: (-scores.get(page, 0), page))

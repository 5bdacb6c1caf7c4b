"""Documents of a PDF: all of it, or some pages; sections are its outline, else its pages."""

from __future__ import annotations

import contextlib
import re
from functools import cached_property
from typing import TYPE_CHECKING

from openzim_mcp.text import escape_markdown, title_key
from openzim_mcp.worker.document import Block, Document, Extent
from openzim_mcp.worker.readers.html.outline import Outline
from openzim_mcp.worker.readers.pdf.crashes import crash_reporter
from openzim_mcp.worker.readers.pdf.file import PdfFile, PdfUnreadable
from openzim_mcp.worker.readers.pdf.layout import body_size, drop_margins, find_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.worker.document import BlockKind
    from openzim_mcp.worker.readers.pdf.file import Line, OutlineEntry
    from openzim_mcp.worker.readers.pdf.layout import Piece

_MIN_OUTLINE_ENTRIES = 2
_SAMPLED_PAGES = 5
_KEPT_PAGES = 6000
_NEIGHBOURS = (-2, -1, 1, 2)
_KEPT_LINES = 8
_HEIGHT_TOLERANCE = 3.0
_MAX_NUMBER_CHARS = 12
_LEADERS = re.compile(r"(?:\. ?){4,}\s*\w{1,6}$|…{2,}\s*\w{1,6}$")
_ENDS_WITH_NUMBER = re.compile(r"\s\d{1,4}$")
_MIN_LEADERS = 5
"""A page with so many lines that lead to page numbers is a table of contents."""
_FILE_TITLE = re.compile(
    r"(?:microsoft \w+ - |untitled|slide 1$|document\d*$|.{0,80}\.(?:docx?|pdf|indd|qxd|pmd|tex|dvi|p65|fm|rtf|odt|wpd|"
    r"pptx?|xlsx?|qxp|pub)$)",
    re.IGNORECASE,
)
NO_TEXT = "This PDF has {pages} without text: it holds pictures only, such as scans."


def read_pdf(content: bytes, path: str = "") -> Document:
    """Return the document of a whole PDF; of one that cannot be read, a sentence that says why."""
    try:
        with crash_reporter.reading(path), contextlib.closing(PagedPdf(content)) as pdf:
            return pdf.document(range(pdf.page_count))
    except PdfUnreadable as unreadable:
        return notice(str(unreadable))


def notice(text: str) -> Document:
    """Return a document that is a sentence about an entry."""
    return Document.without_sections((Block("notice", text, 0),))


class PagedPdf:
    """A PDF whose pages are read when they are needed."""

    def __init__(self, content: bytes) -> None:
        self._file = PdfFile(content)
        self.page_count = self._file.page_count
        self.size = len(content)
        self._lines: dict[int, list[Line]] = {}
        self._pieces: dict[int, list[Piece]] = {}

    def close(self) -> None:
        """Free the memory of the PDF."""
        self._file.close()

    @property
    def has_outline(self) -> bool:
        """Whether the sections are those of the outline rather than the pages."""
        return len(self._file.outline) >= _MIN_OUTLINE_ENTRIES

    @cached_property
    def outline(self) -> Sequence[OutlineEntry]:
        """The outline, in the order of the pages."""
        return sorted(self._file.outline, key=lambda entry: entry.page) if self.has_outline else ()

    def locator(self, page: int) -> str:
        """Return how a page is cited: by its number in the file and, if another one is printed on it, by that too."""
        label = self._file.label(page)
        number = str(page + 1)
        return f"p. {number} (label {label})" if label and label != number else f"p. {number}"

    @property
    def title(self) -> str:
        """The title that the PDF tells, unless it is the name of a file."""
        title = self._file.metadata.get("Title", "")
        return "" if _FILE_TITLE.match(title) else title

    @property
    def description(self) -> str:
        """The subject and the author that the PDF tells."""
        return ", ".join(self._file.metadata[key] for key in ("Subject", "Author") if key in self._file.metadata)

    def document(self, pages: Iterable[int]) -> Document:
        """Return the document of some pages, in their order; the sections of an outline are all there."""
        numbers = list(pages)
        assembler = _Assembler(self)
        for page in numbers:
            assembler.add_page(page, self.pieces(page))
        assembler.finish()
        if not assembler.blocks and len(numbers) == self.page_count:
            count = "1 page" if self.page_count == 1 else f"{self.page_count} pages"
            assembler.add("notice", NO_TEXT.format(pages=count))
        extent = Extent(max(numbers, default=-1) + 1 if _is_start(numbers) else len(numbers), self.page_count)
        blocks, sections, _ = assembler.outline.finish(assembler.blocks)
        return Document(self.title, self.description, "", blocks, sections, (), (), extent=extent)

    def pages_until(self, chars: int) -> Iterator[int]:
        """Yield the pages from the first on until they have so many characters."""
        total = 0
        for page in range(self.page_count):
            yield page
            total += sum(len(piece.text) + 2 for piece in self.pieces(page))
            if total > chars:
                return

    def has_read(self, page: int) -> bool:
        """Return whether a page was read and is kept."""
        return page in self._pieces

    def pieces(self, page: int) -> list[Piece]:
        """Return the paragraphs of a page."""
        pieces = self._pieces.get(page)
        if pieces is None:
            if len(self._pieces) >= _KEPT_PAGES:
                self._pieces.clear()
            pieces = self._pieces[page] = self._find_pieces(page)
        return pieces

    def _find_pieces(self, page: int) -> list[Piece]:
        near = [page + step for step in _NEIGHBOURS if 0 <= page + step < self.page_count]
        numbers = [str(page + 1), self._file.label(page)]
        lines = drop_margins(self.lines(page), [self.lines(number) for number in near], numbers)
        return find_pieces(_without_contents(lines), self._body_size)

    def lines(self, page: int) -> list[Line]:
        """Return the lines of a page; those of the pages read last are kept for their neighbours."""
        lines = self._lines.get(page)
        if lines is None:
            while len(self._lines) >= _KEPT_LINES:
                del self._lines[next(iter(self._lines))]
            lines = self._lines[page] = self._file.read_lines(page)
        return lines

    @cached_property
    def _body_size(self) -> float:
        step = max(1, self.page_count // _SAMPLED_PAGES)
        return body_size([self.lines(page) for page in range(step // 2, self.page_count, step)])


def _without_contents(lines: Sequence[Line]) -> list[Line]:
    """Return lines without those of a printed table of contents, which would match every question."""
    rest = [line for line in lines if not _LEADERS.search(line.text)]
    if len(lines) - len(rest) < _MIN_LEADERS:
        return rest
    return [line for line in rest if not _ENDS_WITH_NUMBER.search(line.text)]


def _is_start(numbers: Sequence[int]) -> bool:
    return all(number == position for position, number in enumerate(numbers))


class _Assembler:
    """Puts pages together into blocks and sections."""

    def __init__(self, pdf: PagedPdf) -> None:
        self._pdf = pdf
        self.outline = Outline()
        self.blocks: list[Block] = []
        self._entries = list(pdf.outline)
        self._next_entry = 0
        self._level = 0
        self._locator = ""

    def add(self, kind: BlockKind, text: str) -> None:
        """Add a block; items of a list that follow each other are one."""
        last = self.blocks[-1] if self.blocks else None
        if kind == "list" and last and last[0] == "list" and last.locator == self._locator:
            self.blocks[-1] = last._replace(text=f"{last.text}\n{text}")
        else:
            self.blocks.append(Block(kind, text, self.outline.current, (), self._locator))

    def add_page(self, page: int, pieces: Sequence[Piece]) -> None:
        """Add a page; outline entries of pages before it that were not read become empty sections."""
        while self._peek(page - 1):
            self._open_entry(with_heading=False)
        self._locator = self._pdf.locator(page)
        if not self._pdf.has_outline:
            self.outline.open_section(self._locator, 1, f"page-{page + 1}", len(self.blocks))
            self._level = 1
        keys = {title_key(piece.text) for piece in pieces}
        for piece in pieces:
            if not self._opens_entry(page, piece, keys):
                self._add_piece(piece, page)
        while self._peek(page):
            self._open_entry(with_heading=True)

    def finish(self) -> None:
        """Open the sections of the pages after the last one."""
        while self._next_entry < len(self._entries):
            self._open_entry(with_heading=False)

    def _peek(self, last_page: int) -> bool:
        """Return whether the next entry of the outline is on a page up to this one."""
        return self._next_entry < len(self._entries) and self._entries[self._next_entry].page <= last_page

    def _opens_entry(self, page: int, piece: Piece, keys: set[str]) -> bool:
        """Open the sections that start at a piece, and return whether it is the heading of one."""
        piece_key = title_key(piece.text)
        while self._peek(page):
            entry = self._entries[self._next_entry]
            key = title_key(entry.title)
            if _is_same_title(piece_key, key):
                self._open_entry(with_heading=True)
                return True
            is_on_page = any(_is_same_title(other, key) for other in keys)
            if is_on_page or (entry.top is not None and piece.top > entry.top + _HEIGHT_TOLERANCE):
                return False
            self._open_entry(with_heading=True)
        return False

    def _open_entry(self, *, with_heading: bool) -> None:
        entry = self._entries[self._next_entry]
        self._next_entry += 1
        self._level = entry.level + 1
        self.outline.open_section(entry.title, self._level, "", len(self.blocks))
        if with_heading:
            self._add_heading(entry.title, self._level)

    def _add_heading(self, title: str, level: int) -> None:
        self.add("heading", f"{'#' * min(6, level + 1)} {title}")

    def _add_piece(self, piece: Piece, page: int) -> None:
        if piece.kind == "heading":
            anchor = f"page-{page + 1}-{piece.text[:80].replace(' ', '_')}"
            self.outline.open_section(piece.text, self._level + 1, anchor, len(self.blocks))
            self._add_heading(piece.text, self._level + 1)
        elif piece.kind == "code":
            self.add("code", f"```\n{piece.text}\n```")
        else:
            self.add(piece.kind, piece.text if piece.kind == "list" else escape_markdown(piece.text))


def _is_same_title(piece: str, title: str) -> bool:
    """Return whether a piece is the heading that an outline calls so, perhaps with its number before it."""
    if not title or len(piece) - len(title) > _MAX_NUMBER_CHARS:
        return False
    return piece == title or piece.endswith(f" {title}") or (len(piece) > 3 and title.endswith(f" {piece}"))  # noqa: PLR2004

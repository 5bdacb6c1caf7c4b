"""An open PDF: its outline, labels and metadata, and the lines of its pages, by PDFium."""

from __future__ import annotations

import ctypes
import itertools
import math
from functools import cached_property
from typing import NamedTuple

import pypdfium2
from pypdfium2 import raw as pdfium

from openzim_mcp.text import visible_line
from openzim_mcp.worker.readers.pdf.guard import find_bomb
from openzim_mcp.worker.readers.pdf.right_to_left import restore_order

_MAX_OUTLINE_ENTRIES = 5000
_MAX_OUTLINE_DEPTH = 8
_MAX_PAGE_CHARS = 100_000
"""A page with more text is not for people; the rest of it is left out."""
_MAX_TITLE_CHARS = 300
_HYPHEN = "\ufffe"
"""What PDFium writes for a hyphen at the end of a line."""
_SIDEWAYS = 0.1
"""From this angle on, in radians, a line is not horizontal."""
_BOLD_NAMES = ("bold", "black", "heavy", "cmbx", "sfbx", "ecbx")
_FIXED_NAMES = ("mono", "courier", "cmtt", "sftt", "ectt", "consol", "typewriter")
_FORCE_BOLD, _FIXED_PITCH = 1 << 18, 1
_NAME_BYTES = 128
_PASSWORD_ERRORS = frozenset({pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY})
_METADATA_KEYS = ("Title", "Author", "Subject")


class PdfUnreadable(Exception):
    """The PDF cannot be read; the message is a sentence about it."""


class Line(NamedTuple):
    """A line of a page: where it starts, ends and stands, in points from the lower left corner."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    is_bold: bool
    is_fixed: bool
    """Whether all letters have the same width, as in code."""
    ends_with_hyphen: bool


class OutlineEntry(NamedTuple):
    """A bookmark: it leads to a page, counted from 0, and to a height on it."""

    title: str
    level: int
    page: int
    top: float | None


class PdfFile:
    """A PDF in memory; closed with the object."""

    def __init__(self, content: bytes) -> None:
        bomb = find_bomb(content)
        if bomb:
            raise PdfUnreadable(f"This PDF is not read: {bomb}.")
        try:
            self._document = pypdfium2.PdfDocument(content)
            self.page_count = len(self._document)
        except pypdfium2.PdfiumError as error:
            if error.err_code in _PASSWORD_ERRORS:
                raise PdfUnreadable("This PDF is encrypted and cannot be read without its password.") from error
            raise PdfUnreadable("This PDF is damaged and cannot be read.") from error
        if not self.page_count:
            raise PdfUnreadable("This PDF has no pages, or it is damaged.")
        self._double = [ctypes.c_double() for _ in range(2)]
        self._box = pdfium.FS_RECTF()
        self._name = ctypes.create_string_buffer(_NAME_BYTES)
        self._flags = ctypes.c_int()
        self._fonts: dict[tuple[bytes, int], tuple[bool, bool]] = {}

    def close(self) -> None:
        """Free the memory of the document."""
        self._document.close()

    @cached_property
    def metadata(self) -> dict[str, str]:
        """Title, author and subject, where the PDF has them."""
        values = {key: visible_line(self._document.get_metadata_value(key)) for key in _METADATA_KEYS}
        return {key: value[:_MAX_TITLE_CHARS] for key, value in values.items() if value}

    def label(self, page: int) -> str:
        """Return the printed number of a page, if the PDF tells it."""
        try:
            return visible_line(self._document.get_page_label(page))[:20]
        except (pypdfium2.PdfiumError, ValueError):
            return ""

    @cached_property
    def outline(self) -> list[OutlineEntry]:
        """The bookmarks that lead to pages, in the order of the pages."""
        entries: list[OutlineEntry] = []
        for bookmark in self._document.get_toc(max_depth=_MAX_OUTLINE_DEPTH):
            entry = self._read_bookmark(bookmark)
            if entry is not None:
                entries.append(entry)
            if len(entries) >= _MAX_OUTLINE_ENTRIES:
                break
        return entries if _is_in_order(entries) else []

    def _read_bookmark(self, bookmark: pypdfium2.PdfBookmark) -> OutlineEntry | None:
        title = visible_line(bookmark.get_title())[:_MAX_TITLE_CHARS]
        destination = bookmark.get_dest()
        page = destination.get_index() if destination else None
        if not title or page is None or not 0 <= page < self.page_count:
            return None
        mode, values = destination.get_view()
        top = values[1] if mode == pdfium.PDFDEST_VIEW_XYZ and len(values) > 1 and values[1] else None
        return OutlineEntry(title, bookmark.level, page, top)

    def read_lines(self, page: int) -> list[Line]:
        """Return the lines of a page in the order of its content; none if it is damaged or only pictures."""
        handle = pdfium.FPDF_LoadPage(self._document, page)
        if not handle:
            return []
        try:
            text_page = pdfium.FPDFText_LoadPage(handle)
            if not text_page:
                return []
            try:
                return self._lines_of(text_page)
            finally:
                pdfium.FPDFText_ClosePage(text_page)
        finally:
            pdfium.FPDF_ClosePage(handle)

    def _lines_of(self, text_page: object) -> list[Line]:
        lines = []
        position = 0
        for row in _page_text(text_page).split("\r\n"):
            pieces = row.split(_HYPHEN)
            for number, piece in enumerate(pieces):
                line = self._line(text_page, piece, position, ends_with_hyphen=number < len(pieces) - 1)
                if line is not None:
                    lines.append(line)
                position += len(piece) + 1
            position += 1
        return lines

    def _line(self, text_page: object, text: str, position: int, *, ends_with_hyphen: bool) -> Line | None:
        """Return a line whose text starts at a position of the text of the page; None if it is blank."""
        visible = visible_line(restore_order(text, lambda at: self._place(text_page, position + at)))
        if not visible:
            return None
        first, last = position + len(text) - len(text.lstrip()), position + len(text.rstrip()) - 1
        index = pdfium.FPDFText_GetCharIndexFromTextIndex
        start, middle, stop = (index(text_page, at) for at in (first, (first + last) // 2, last))
        angle = pdfium.FPDFText_GetCharAngle(text_page, middle)
        x, y = self._double
        pdfium.FPDFText_GetCharOrigin(text_page, start, x, y)
        left, baseline = _turn(x.value, y.value, angle)
        pdfium.FPDFText_GetLooseCharBox(text_page, stop, self._box)
        right = max(_turn(self._box.right, self._box.top, angle)[0], _turn(self._box.left, self._box.bottom, angle)[0])
        pdfium.FPDFText_GetLooseCharBox(text_page, middle, self._box)
        height, width = self._box.top - self._box.bottom, self._box.right - self._box.left
        size = width if abs(math.sin(angle)) > 0.5 else height  # noqa: PLR2004
        fonts = [self._font(text_page, at) for at in (start, middle, stop)]
        is_bold, is_fixed = (all(values) for values in zip(*fonts, strict=True))
        return Line(visible, left, right, baseline, abs(size), is_bold, is_fixed, ends_with_hyphen)

    def _place(self, text_page: object, position: int) -> float:
        """Return where a character of the text of the page starts, from the left."""
        x, y = self._double
        index = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, position)
        pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
        return float(x.value)

    def _font(self, text_page: object, index: int) -> tuple[bool, bool]:
        """Return whether the font of a character is bold, and whether its letters have all the same width."""
        length = pdfium.FPDFText_GetFontInfo(text_page, index, self._name, _NAME_BYTES, self._flags)
        key = (self._name.raw[: min(length, _NAME_BYTES)] if length else b"", self._flags.value)
        if key not in self._fonts:
            name = key[0].decode(errors="replace").lower()
            is_bold = bool(key[1] & _FORCE_BOLD) or any(word in name for word in _BOLD_NAMES)
            self._fonts[key] = is_bold, bool(key[1] & _FIXED_PITCH) or any(word in name for word in _FIXED_NAMES)
        return self._fonts[key]


def _page_text(text_page: object) -> str:
    count = min(_MAX_PAGE_CHARS, pdfium.FPDFText_CountChars(text_page))
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(text_page, 0, count, buffer)
    units = bytes(buffer)[: 2 * max(0, written - 1)]
    text = units.decode("utf-16-le", "replace")
    if len(text) != written - 1:
        # Positions count UTF-16 units: characters beyond the first plane get a filler, which is not shown.
        text = "".join(character if character <= "\uffff" else f"{character}\x00" for character in text)
    return text


def _turn(x: float, y: float, angle: float) -> tuple[float, float]:
    """Return where a point is once the line that it belongs to is horizontal."""
    if angle < _SIDEWAYS or angle > 2 * math.pi - _SIDEWAYS:
        return x, y
    return x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)


def _is_in_order(entries: list[OutlineEntry]) -> bool:
    """Return whether bookmarks lead through the document; those of a collage of files may lead anywhere."""
    descents = sum(after.page < before.page for before, after in itertools.pairwise(entries))
    return descents * 10 <= len(entries)

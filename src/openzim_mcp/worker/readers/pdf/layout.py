# ruff: noqa: RUF001
"""From the lines of a page to its paragraphs, lists, code and headings, by where they stand and how they are set."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from openzim_mcp.text import SENTENCE_MARKS, is_unspaced_script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.readers.pdf.file import Line

PieceKind = Literal["paragraph", "list", "lines", "code", "heading"]

_EDGE_LINES = 2
"""Running heads and page numbers are among so many lines at the top and at the bottom."""
_SAME_HEIGHT_POINTS = 6.0
_APART_SIZES = 2.0
"""A running head stands so many sizes of its letters away from the text,"""
_MIN_APART_PAGES = 3
"""on so many of the four neighbouring pages, whatever it says there."""
_MAX_HEADING_CHARS = 150
_MAX_BOLD_HEADING_CHARS = 100
_HEADING_SIZE = 1.18
"""A heading is so much larger than the text."""
_MAX_LEADING = 1.45
"""Lines of a paragraph are at most so many times the usual distance apart."""
_MAX_SPACING, _SINGLE_SPACING = 2.4, 1.6
"""How far lines of a paragraph are apart at most, and usually at most, in sizes of their letters."""
_MIN_GAPS = 6
_INDENT = 0.8
"""The first line of a paragraph is indented by at least that part of the size."""
_SHORT_LINE = 0.18
"""A line that ends so far before the right edge, as a share of the width, ends a row or a paragraph."""
_SAME_LEFT_POINTS = 40.0
_MIN_EDGE_LINES = 3
_EDGE_STEP_POINTS = 4
_SAME_SIZE = 0.15
_DIGITS = re.compile(r"[\divxlcdm]+(?![^\W\d_])|\d+", re.IGNORECASE)
_PAGE_NUMBER = re.compile(r"[-–—\s|]*(?:page\s+)?(\d{1,4}|[ivxlc]{1,7})[-–—\s|]*", re.IGNORECASE)
_BULLET = re.compile(r"(?:[•‣▪◦●○■□–—*·o-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])\s+(?=\S)")
_BULLET_CHARACTER = re.compile(r"[•‣▪◦●○■□–—*·o-]\s+")
_SENTENCE_END = re.compile(rf"[{SENTENCE_MARKS}:;][\"”’»)\]]?$")
_LETTER = re.compile(r"[^\W\d_]")


class Piece(NamedTuple):
    """A paragraph or heading of a page; `top` is the height of its first line, `size` that of its letters."""

    kind: PieceKind
    text: str
    top: float
    size: float


def body_size(pages: Sequence[Sequence[Line]]) -> float:
    """Return the size of most of the letters."""
    sizes: Counter[float] = Counter()
    for line in (line for page in pages for line in page):
        sizes[round(line.size * 2) / 2] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size)) if sizes else 0.0


def drop_margins(lines: Sequence[Line], neighbours: Sequence[Sequence[Line]], numbers: Sequence[str]) -> list[Line]:
    """Return the lines of a page without running heads and page numbers.

    These stand at the edge and have the same text, but for numbers, at the same height on a neighbouring page; or they
    are, or end with, one of the `numbers` of the page.
    """
    by_height = sorted(lines, key=lambda line: -line.baseline)
    edges = {
        (_shape(line.text), round(line.baseline / _SAME_HEIGHT_POINTS))
        for page in neighbours
        for line in _edge_lines(page)
    }
    dropped: set[int] = set()
    for edge in (by_height[:_EDGE_LINES], by_height[: -_EDGE_LINES - 1 : -1]):
        if _is_apart_everywhere(edge, neighbours, is_top=edge[:1] == by_height[:1]):
            dropped.add(id(edge[0]))
            edge = edge[1:]  # noqa: PLW2901
        for position, line in enumerate(edge):
            inner = edge[position + 1] if position + 1 < len(edge) else None
            if not (_is_repeated(line, edges) or _is_numbered(line, inner, numbers)):
                break
            dropped.add(id(line))
    rest = [line for line in lines if id(line) not in dropped]
    return rest or [line for line in lines if not _PAGE_NUMBER.fullmatch(line.text)]


def _is_apart_everywhere(edge: Sequence[Line], neighbours: Sequence[Sequence[Line]], *, is_top: bool) -> bool:
    """Return whether the first line stands apart from the text, as on the neighbouring pages at the same height."""
    if len(neighbours) < _MIN_APART_PAGES or not _stands_apart(edge):
        return False
    count = 0
    for page in neighbours:
        lines = sorted(page, key=lambda line: -line.baseline if is_top else line.baseline)[:_EDGE_LINES]
        is_level = bool(lines) and abs(lines[0].baseline - edge[0].baseline) < _SAME_HEIGHT_POINTS / 2
        count += is_level and _stands_apart(lines)
    return count >= _MIN_APART_PAGES


def _stands_apart(edge: Sequence[Line]) -> bool:
    return len(edge) > 1 and abs(edge[0].baseline - edge[1].baseline) > _APART_SIZES * edge[0].size


def _edge_lines(page: Sequence[Line]) -> list[Line]:
    by_height = sorted(page, key=lambda line: -line.baseline)
    return [*by_height[:_EDGE_LINES], *by_height[-_EDGE_LINES:]]


def _shape(text: str) -> str:
    return " ".join(_DIGITS.sub("", text).split())


def _is_repeated(line: Line, edges: set[tuple[str, int]]) -> bool:
    shape, height = _shape(line.text), round(line.baseline / _SAME_HEIGHT_POINTS)
    if not shape and not _PAGE_NUMBER.fullmatch(line.text):
        return False
    return any((shape, height + step) in edges for step in (-1, 0, 1))


def _is_numbered(line: Line, inner: Line | None, numbers: Sequence[str]) -> bool:
    """Return whether a line is the number of the page, or has it at an end and stands apart from the text."""
    match = _PAGE_NUMBER.fullmatch(line.text)
    if match:
        return match[1] in numbers
    words = line.text.split()
    is_apart = inner is None or abs(line.baseline - inner.baseline) > _MAX_LEADING * inner.size
    return is_apart and len(words) > 1 and (words[0] in numbers or words[-1] in numbers)


def find_pieces(lines: Sequence[Line], usual_size: float) -> list[Piece]:
    """Return the paragraphs and headings of a page, in the order of its content."""
    return _Page([_mirror(line) for line in lines], usual_size).pieces()


def _mirror(line: Line) -> Line:
    """Return a line that runs from right to left as if it did not."""
    return line._replace(left=-line.left, right=-line.right) if line.left > line.right else line


def _usual_leading(lines: Sequence[Line]) -> float:
    gaps = [before.baseline - after.baseline for before, after in itertools.pairwise(lines)]
    near = [round(gap, 1) for gap, line in zip(gaps, lines, strict=False) if 0 < gap < _MAX_SPACING * line.size]
    if len(near) < _MIN_GAPS:  # too few to tell double spacing from paragraphs
        return min((gap for gap in near if gap < _SINGLE_SPACING * lines[0].size), default=0.0)
    return statistics.median_low(near)


def _right_edges(lines: Sequence[Line]) -> dict[float, float]:
    """Return for each left edge where most lines near it end, or the longest if most end anywhere."""
    edges: dict[float, float] = {}
    for left in {line.left for line in lines}:
        rights = [line.right for line in lines if abs(line.left - left) < _SAME_LEFT_POINTS]
        counts = Counter(round(right / _EDGE_STEP_POINTS) for right in rights)
        edge, count = max(counts.items(), key=lambda row: (row[1], row[0]))
        edges[left] = edge * _EDGE_STEP_POINTS if count >= _MIN_EDGE_LINES else max(rights)
    return edges


class _Page:
    """Groups the lines of a page into pieces."""

    def __init__(self, lines: Sequence[Line], usual_size: float) -> None:
        self._lines = lines
        self._usual_size = usual_size
        self._leading = _usual_leading(lines)
        self._edges = _right_edges(lines)

    def pieces(self) -> list[Piece]:
        groups: list[list[Line]] = []
        for line in self._lines:
            if groups and not self._starts_piece(groups[-1], line):
                groups[-1].append(line)
            else:
                groups.append([line])
        return [self._piece(group) for group in groups]

    def _starts_piece(self, group: Sequence[Line], line: Line) -> bool:
        """Return whether a line starts a piece, rather than continuing that of the lines before it."""
        last = group[-1]
        if last.ends_with_hyphen:
            return False
        if self._is_set_differently(last, line):
            return True
        gap = last.baseline - line.baseline
        if gap < -last.size:  # the next column
            return _ends_sentence(last) or _has_bullet(line)
        if gap > _MAX_LEADING * (self._leading or 1.1 * last.size):
            return True
        if line.is_fixed or _is_on_same_line(last, line):
            return False
        is_indented = line.left - last.left > _INDENT * line.size and len(group) > 1 and not _has_bullet(group[0])
        return _has_bullet(line) or is_indented or (self._is_short(last) and _ends_sentence(last))

    def _is_set_differently(self, last: Line, line: Line) -> bool:
        is_other_size = abs(line.size - last.size) > _SAME_SIZE * max(line.size, last.size)
        is_other_font = last.is_fixed != line.is_fixed
        return is_other_size or is_other_font or self._is_heading([last]) != self._is_heading([line])

    def _is_short(self, line: Line) -> bool:
        edge = self._edges[line.left]
        return edge - line.right > _SHORT_LINE * max(edge - line.left, line.size)

    def _is_heading(self, group: Sequence[Line]) -> bool:
        chars = sum(len(line.text) for line in group)
        first = group[0]
        if chars > _MAX_HEADING_CHARS or not self._usual_size or not _LETTER.search(first.text):
            return False
        return all(
            line.size >= _HEADING_SIZE * self._usual_size
            or (line.is_bold and not line.is_fixed and chars < _MAX_BOLD_HEADING_CHARS)
            for line in group
        )

    def _piece(self, group: Sequence[Line]) -> Piece:
        first = group[0]
        if all(line.is_fixed for line in group):
            return Piece("code", _code(group), first.baseline, first.size)
        text = self._join(group)
        if _has_bullet(first):
            marked = _BULLET_CHARACTER.sub("- ", text, count=1) if _BULLET_CHARACTER.match(text) else f"- {text}"
            return Piece("list", marked.replace("\n", " "), first.baseline, first.size)
        if self._is_heading(group) and not text.endswith((".", ",", ";")):
            return Piece("heading", " ".join(text.split()), first.baseline, first.size)
        return Piece("lines" if "\n" in text else "paragraph", text, first.baseline, first.size)

    def _join(self, group: Sequence[Line]) -> str:
        """Return lines as one text: words put together again, rows of a table or a poem on lines of their own."""
        whole = " ".join(line.text for line in group)
        parts = [group[0].text]
        for last, line in itertools.pairwise(group):
            if last.ends_with_hyphen:
                parts.append(_hyphen_between(parts[-1], line.text, whole) + line.text)
            elif not _is_on_same_line(last, line) and last.baseline > line.baseline and self._is_short(last):
                parts.append(f"\n{line.text}")
            else:
                is_unspaced = is_unspaced_script(last.text[-1:]) and is_unspaced_script(line.text[:1])
                parts.append(line.text if is_unspaced else f" {line.text}")
        return "".join(parts)


def _is_on_same_line(last: Line, line: Line) -> bool:
    """Return whether a line continues the one before it after a wide blank."""
    return abs(last.baseline - line.baseline) < 0.3 * last.size


def _has_bullet(line: Line) -> bool:
    return _BULLET.match(line.text) is not None


def _ends_sentence(line: Line) -> bool:
    return _SENTENCE_END.search(line.text) is not None


def _hyphen_between(before: str, after: str, text: str) -> str:
    """Return the hyphen of a word that has one also inside a line, or that a capital or a digit follows."""
    first, second = before.split()[-1:], after.split()[:1]
    if not after[:1].islower():
        return "-"
    return "-" if first and second and f"{first[0]}-{second[0]}" in text else ""


def _code(group: Sequence[Line]) -> str:
    left = min(line.left for line in group)
    widths = [(line.right - line.left) / len(line.text) for line in group if line.text]
    width = max(1.0, statistics.median(widths))
    rows: list[str] = []
    last: Line | None = None
    for line in group:
        if last is not None and _is_on_same_line(last, line):
            rows[-1] += f" {line.text}"
        else:
            rows.append(" " * min(40, round((line.left - left) / width)) + line.text)
        last = line
    return "\n".join(rows).replace("```", "'''")

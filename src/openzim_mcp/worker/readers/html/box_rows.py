"""The rows of an infobox: headings, names with values, rows of a table, captions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from openzim_mcp.text import remove_mark, strip_invisible
from openzim_mcp.worker.inline_marks import strip_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.document import Block
    from openzim_mcp.worker.readers.html.walker import Attributes, BoxRows, Walker

_BULLET = re.compile(r"^[-–—•·‣▪\s]+")  # noqa: RUF001
_LINE_MARK = re.compile(r"^(?:[-–•·‣▪:]\s+)+")  # noqa: RUF001
_REFERENCE_MARK = re.compile(r"\[(?:\d+|[a-z]|N\d+|note \d+|edit|show|hide|update|citation needed)\]", re.IGNORECASE)
_REFERENCE_MARK_IN_NUMBER = re.compile(rf"(?<=\d)(?:{_REFERENCE_MARK.pattern})+(?=\d)", re.IGNORECASE)
_FOOTNOTE = re.compile(r"(?<=[^\W\d_]{3})[¹²³⁴⁵⁶⁷⁸⁹†‡]+(?=\s|$)")
# A bold name at the start of a line, the colon inside or outside of the bold.
_BOLD_NAME = re.compile(r"^\*\*([^*]{1,60}?)(?::\*\*|\*\*\s*:|\*\*$)\s*")
_PLAIN_NAME = re.compile(r"^([^:;.]{1,30}):\s+(?=\S)")
_MAX_HEADING_CHARS = 120


class _Cell(NamedTuple):
    lines: list[str]
    is_header: bool
    """A header cell, or one that is all bold."""
    is_caption: bool = False
    is_column_name: bool = False

    @property
    def is_bullet(self) -> bool:
        line = self.lines[0]
        return not line[0].isalnum() and _BULLET.match(line) is not None

    @property
    def is_marked(self) -> bool:
        """Whether the cell looks like the name of a value."""
        return self.is_header or self.lines[0].endswith(":") or self.is_bullet


class Row(NamedTuple):
    """A row of a box, by what it says."""

    kind: Literal["title", "heading", "group", "pair", "wide", "caption", "cells"]
    name: str
    value: str = ""
    cell_count: int = 1
    is_marked: bool = False
    is_all_header: bool = False
    is_subrow: bool = False
    """It has a bullet: it belongs to the row above it."""
    is_merged: bool = False
    """It is drawn as one group with the rows above it: it belongs to the heading of these, if there is one."""

    @property
    def is_column(self) -> bool:
        """Whether this is a row of a table rather than a name and a value: its first cell looks like data."""
        return self.kind == "cells" or (
            self.kind == "pair" and not self.is_marked and not any(map(str.isalpha, self.name))
        )


class RowReader:
    """Reads the rows of a box; a table inside a wide cell gives rows of the same box."""

    def __init__(self, walker: Walker) -> None:
        self.rows: list[Row] = []
        self.media: list[str] = []
        """The marks of the pictures, if the document is for the page."""
        self._walker = walker

    def read_rows(self, rows: BoxRows) -> None:
        """Append what the rows say."""
        walker = self._walker
        outer, is_in_table = walker.read_box_rows, walker.is_in_table
        read_nested_rows = self.read_rows
        for row, cells in rows:
            visible = [cell for cell in cells if not walker.is_skipped(cell[0], cell[1])]
            # In a cell beside others, a table is part of the value.
            is_wide = len(visible) == 1
            walker.is_in_table = not is_wide
            walker.read_box_rows = read_nested_rows if is_wide else None
            is_first = not self.rows
            read = _read_row([self._read_cell(*cell, is_wide=is_wide) for cell in visible], is_first=is_first)
            is_merged = "merged" in row and "mergedtop" not in row
            self.rows += [each._replace(is_merged=True) for each in read] if is_merged else read
        walker.read_box_rows, walker.is_in_table = outer, is_in_table

    def _read_cell(self, node: LexborNode, attributes: Attributes, *, is_wide: bool) -> _Cell:
        first_link = len(self._walker.links)
        lines = self.read_lines(node)
        is_header = node.tag == "th"
        if not lines or not is_wide:
            is_header = is_header or _is_bold(lines)
            return _Cell(lines, is_header, is_column_name=is_header and attributes.get("scope") == "col")
        classes = attributes.get("class") or ""
        if "subheader" in classes and not any(row.kind == "pair" for row in self.rows):
            # At the top, it says what kind of thing this is.
            return _Cell([remove_mark(line, "**") for line in lines], is_header=False)
        is_header = is_header or "header" in classes or "above" in classes or _is_bold(lines)
        has_image = any(link.kind == "media" for link in self._walker.links[first_link:])
        return _Cell(lines, is_header, has_image or "image" in classes or "caption" in classes)

    def read_lines(self, node: LexborNode) -> list[str]:
        """Return the lines of a cell, without reference marks; an item of a list is a line."""
        child = node.first_child
        if child is None:
            return []
        if child.tag == "-text" and child.next is None:
            lines = [strip_invisible(" ".join((child.text_content or "").split()))]
        else:
            blocks = self._walker.walk_into_blocks(node)
            lines = [line for block in blocks for line in self._plain_lines(block)]
        return [line for line in map(_remove_reference_marks, lines) if line]

    def _plain_lines(self, block: Block) -> list[str]:
        """Return the lines of a block; what a row is depends on its text, so marks are taken out and media kept."""
        marks = self._walker.marks
        if marks is None:
            return block.lines()
        self.media += marks.find_media(block.text)
        return [line for line in (strip_marks(line).strip() for line in block.lines()) if line]


def _is_bold(lines: list[str]) -> bool:
    return (
        bool(lines)
        and lines[0].startswith("**")
        and all(line.startswith("**") and line.endswith("**") for line in lines)
    )


def _remove_reference_marks(line: str) -> str:
    if "[" not in line:
        return line
    return " ".join(_REFERENCE_MARK.sub("", _REFERENCE_MARK_IN_NUMBER.sub(" ", line)).split())


def _read_row(cells: list[_Cell], *, is_first: bool) -> Iterable[Row]:
    if len(cells) > 2 and cells[0].lines and not _BULLET.sub("", cells[0].lines[0]):  # noqa: PLR2004
        # A bullet in a cell of its own.
        cells = [cells[1]._replace(lines=[f"- {' '.join(cells[1].lines)}"]), *cells[2:]]
    filled = [cell for cell in cells if cell.lines]
    if len(filled) > 1:
        return _read_cells(filled)
    if not filled:
        # Pictures, below the names of their columns.
        return [Row("cells", "")] if len(cells) > 1 else []
    if len(cells) == 1:
        return _read_wide_cell(filled[0], is_first=is_first)
    if filled[0] is cells[0]:
        return [Row("group", join_name(filled[0].lines))]
    return [Row("cells", "", _join_lines(filled[0].lines))]


def _read_wide_cell(cell: _Cell, *, is_first: bool) -> Iterator[Row]:
    """Read a row of one cell: a heading, lines that have names in bold, or a value of the heading above it."""
    name = join_name(cell.lines)
    pair = None if is_first else _split_pair(cell)
    if cell.is_caption and not cell.is_header:
        yield Row("caption", "", _join_lines(cell.lines))
    elif cell.is_header and pair:
        yield Row("pair", *pair, is_marked=True)
    elif cell.is_header and len(name) <= _MAX_HEADING_CHARS and not name.endswith("."):
        yield Row("title" if is_first else "heading", name)
    else:
        yield from _read_bold_names(cell.lines)


def _read_bold_names(lines: list[str]) -> Iterator[Row]:
    """Split lines where one starts with a name in bold that has a value, in its line or the next ones."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for number, line in enumerate(lines):
        bold = _BOLD_NAME.match(line)
        rest = line[bold.end() :] if bold else ""
        if bold and (rest or (number + 1 < len(lines) and not _BOLD_NAME.match(lines[number + 1]))):
            parts.append((join_name([bold[1]]), [rest] if rest else []))
        else:
            parts[-1][1].append(line)
    for name, values in parts:
        if values:
            yield Row("pair" if name else "wide", name, _join_lines(values), is_marked=bool(name))


def _read_cells(cells: list[_Cell]) -> list[Row]:
    """Read a row of several cells: a name and its value, a pair in each cell, or a row of a table."""
    first, *others = cells
    if not first.is_header and (pairs := _split_pairs(cells)):
        return [Row("pair", *pair, is_marked=True) for pair in pairs]
    if len(first.lines) > 1 and len(others) == 1 and (rows := _split_sublines(first.lines, others[0].lines)):
        return rows
    is_all_header = first.is_header and all(cell.is_header for cell in others)
    is_table_row = len(others) > 1 and (is_all_header or not first.is_marked)
    if is_table_row or (is_all_header and all(cell.is_column_name for cell in cells)):
        return [Row("cells", "", _join_cells(cells), len(cells))]
    value = _join_lines(others[0].lines) if len(others) == 1 else "; ".join(_join_lines(cell.lines) for cell in others)
    is_bullet = first.is_bullet
    is_marked = is_bullet or first.is_marked
    return [Row("pair", join_name(first.lines), value, len(cells), is_marked, is_all_header, is_bullet)]


def _split_sublines(names: list[str], values: list[str]) -> list[Row]:
    """Return a row for each line of a name that has bullets below it, if there are as many values."""
    missing = len(names) - len(values)
    if missing not in {0, 1} or any(name[0].isalnum() or not _BULLET.match(name) for name in names[1:]):
        return []
    group = join_name(names[:1])
    head = [Row("group", group)] if missing else [Row("pair", group, values[0], is_marked=True)]
    pairs = zip(names[1:], values[1 - missing :], strict=True)
    return head + [Row("pair", join_name([name]), value, is_marked=True, is_subrow=True) for name, value in pairs]


def _split_pairs(cells: list[_Cell]) -> list[tuple[str, str]]:
    """Return the pairs of a row that has one in each cell, else nothing."""
    pairs = []
    for cell in cells:
        pair = _split_pair(cell)
        if pair is None:
            return []
        pairs.append(pair)
    return pairs


def _split_pair(cell: _Cell) -> tuple[str, str] | None:
    line = " ".join(cell.lines)
    if ":" not in line and not line.startswith("**"):
        return None
    name = _BOLD_NAME.match(line) or _PLAIN_NAME.match(remove_mark(line, "**"))
    if name is None:
        return None
    value = name.string[name.end() :]
    return (join_name([name[1]]), value) if value else None


def _join_cells(cells: Sequence[_Cell]) -> str:
    """Return a row of a table; where the first cell is a list of years, each year is a row."""
    years = cells[0].lines
    if len(years) > 1 and all(year[0].isdigit() for year in years) and all(len(c.lines) == len(years) for c in cells):
        return "; ".join(" | ".join(lines) for lines in zip(*(cell.lines for cell in cells), strict=True))
    return remove_mark(" | ".join(_join_lines(cell.lines) for cell in cells), "**")


def join_name(lines: list[str]) -> str:
    """Return lines as the name of a value: without emphasis, bullets, footnotes and the colon at its end."""
    name = remove_mark(" ".join(lines), "*").rstrip(" :")
    if not name[:1].isalnum():
        name = _BULLET.sub("", name)
    return name if name.isascii() else _FOOTNOTE.sub("", name)


def _join_lines(lines: Sequence[str]) -> str:
    """Return lines as one value: apart by a semicolon, unless one continues the other."""
    if len(lines) == 1 and lines[0].isalnum():
        return lines[0]
    text = ""
    for marked in lines:
        line = marked if marked[0].isalnum() else _LINE_MARK.sub("", marked)
        if not text or not line:
            text += line
        elif text[-1] in ",;:(/" or line[0] in "(,;)":
            text += f" {line}"
        else:
            text += f"; {line}"
    text = text.rstrip(" ,;")
    return text[2:-2] if text.startswith("**") and text.find("**", 2) == len(text) - 2 else text

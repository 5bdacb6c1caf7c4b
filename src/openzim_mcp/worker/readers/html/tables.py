"""Tables: data as Markdown, layout as text; infoboxes are handed on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import remove_mark
from openzim_mcp.worker.readers.html.boilerplate import ElementRole, element_roles
from openzim_mcp.worker.readers.html.infobox import add_infobox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.readers.html.walker import Attributes, BoxRows, Walker

    Cells = list[list[LexborNode]]

_TABLE_DEPTH = 4
"""A table counts as several elements towards the depth limit, as it takes several calls."""
_FLOAT_RIGHT = re.compile(r"float\s*:\s*right")
_BOX_COLUMNS = 2
_MIN_BOX_PAIRS = 3
_MAX_COLSPAN = 50
_MAX_ROWSPAN = 500
_MAX_REPEATED_CHARS = 200_000
"""How much spanning cells may repeat: a small table could become one of many megabytes."""
_CELL_BORDER_CHARS = 3
_MAX_FILLED_CELLS = 100_000
"""The rows of a larger table are not filled up to the same width."""


def add_table(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Add a table as what it is: key facts, text or data."""
    walker.flush()
    walker.depth += _TABLE_DEPTH
    _add_table(walker, node, attributes)
    walker.depth -= _TABLE_DEPTH


def _add_table(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    if walker.read_box_rows is not None:
        walker.read_box_rows(_box_rows(walker, node))
        return
    if not walker.is_nested and _is_infobox(walker, node, attributes):
        add_infobox(walker, node, _box_rows(walker, node))
        return
    rows = [row for row in _table_rows(node) if not walker.is_skipped(row, row.attributes)]
    cells = [[cell for cell in row.iter() if cell.tag in {"td", "th"}] for row in rows]
    if walker.is_in_table:
        _add_nested_table(walker, cells)
    elif _is_layout(node, attributes, cells):
        for cell in (cell for row in cells for cell in row):
            if not walker.is_skipped(cell, cell.attributes):
                walker.walk(cell)
                walker.flush()
    else:
        walker.is_in_table = True
        walker.add_block("table", _table_markdown(_caption(walker, node), _Grid(walker).fill(cells)))
        walker.is_in_table = False


def _table_rows(node: LexborNode) -> Iterator[LexborNode]:
    for child in node.iter():
        if child.tag == "tr":
            yield child
        elif child.tag in {"tbody", "thead", "tfoot"}:
            yield from (row for row in child.iter() if row.tag == "tr")


def _is_infobox(walker: Walker, node: LexborNode, attributes: Attributes) -> bool:
    """Return whether a table is an infobox: by its class or, in the lead, as a box of names and values at the right."""
    classes = attributes.get("class")
    if classes:
        return bool(element_roles(classes) & ElementRole.INFOBOX)
    style = attributes.get("style") or ""
    if walker.outline.current or not (attributes.get("align") == "right" or _FLOAT_RIGHT.search(style)):
        return False
    widths = [sum(cell.tag in {"td", "th"} for cell in row.iter()) for row in _table_rows(node)]
    return max(widths, default=0) == _BOX_COLUMNS and widths.count(_BOX_COLUMNS) >= _MIN_BOX_PAIRS


def _box_rows(walker: Walker, node: LexborNode) -> BoxRows:
    rows = ((row, row.attributes) for row in _table_rows(node))
    return [
        (attributes.get("class") or "", [(cell, cell.attributes) for cell in row.iter() if cell.tag in {"td", "th"}])
        for row, attributes in rows
        if not walker.is_skipped(row, attributes)
    ]


def _is_layout(node: LexborNode, attributes: Attributes, cells: Cells) -> bool:
    """Return whether a table only arranges content: one column, or chapters in cells without any header cell."""
    if attributes.get("role") == "presentation" or max(map(len, cells), default=0) <= 1:
        return True
    return (
        not attributes.get("class")
        and node.css_first("th") is None
        and node.css_first("h1, h2, h3, table, hr, form") is not None
    )


def _add_nested_table(walker: Walker, cells: Cells) -> None:
    """Add a table inside a table as lines of cells."""
    for row in cells:
        texts = (walker.walk_into_line(cell) for cell in row if not walker.is_skipped(cell, cell.attributes))
        walker.buffer.append(" ".join(filter(None, texts)))
        walker.flush()


def _caption(walker: Walker, node: LexborNode) -> str:
    caption = next((child for child in node.iter() if child.tag == "caption"), None)
    return remove_mark(walker.walk_into_line(caption), "**") if caption is not None else ""


class _Grid:
    """The texts of a table in rows; a cell that spans several rows is repeated in each."""

    def __init__(self, walker: Walker) -> None:
        self._walker = walker
        self._rows_left: dict[int, tuple[int, str]] = {}
        """By column: in how many more rows a text is repeated."""
        self._repeated_chars = 0

    def fill(self, cells: Cells) -> list[list[str]]:
        rows = [self._fill_row(row) for row in cells]
        return [row for row in rows if any(row)]

    def _fill_row(self, cells: list[LexborNode]) -> list[str]:
        row: list[str] = []
        for cell in cells:
            self._repeat_cells(row)
            attributes = cell.attributes
            is_skipped = self._walker.is_skipped(cell, attributes)
            text = "" if is_skipped else self._walker.walk_into_line(cell).replace("|", "\\|")
            rowspan = _read_span(attributes, "rowspan", _MAX_ROWSPAN)
            for column in range(_read_span(attributes, "colspan", _MAX_COLSPAN)):
                column_text = "" if column else text
                if rowspan > 1:
                    self._rows_left[len(row)] = (rowspan - 1, column_text)
                row.append(column_text)
        self._repeat_cells(row)
        return row

    def _repeat_cells(self, row: list[str]) -> None:
        while len(row) in self._rows_left:
            count, text = self._rows_left.pop(len(row))
            self._repeated_chars += len(text) + _CELL_BORDER_CHARS
            if count > 1 and self._repeated_chars <= _MAX_REPEATED_CHARS:
                self._rows_left[len(row)] = (count - 1, text)
            row.append(text)


def _read_span(attributes: Attributes, name: str, limit: int) -> int:
    value = attributes.get(name) or ""
    return max(1, min(int(value), limit)) if value.isdecimal() else 1


def _table_markdown(caption: str, rows: list[list[str]]) -> str:
    if not rows:
        return ""
    width = max(map(len, rows))
    if width * len(rows) <= _MAX_FILLED_CELLS:
        rows = [row + [""] * (width - len(row)) for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join([f"**{caption}**", "", *lines] if caption else lines)

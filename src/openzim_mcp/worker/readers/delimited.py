"""The reader of tables in text files: values between commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io

from openzim_mcp.text import visible_line
from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.readers.text import to_utf8

_SAMPLE_CHARS = 4096
_MAX_ROWS = 20_000
_MAX_COLUMNS = 100
_MAX_CELL_CHARS = 500
_ROWS_PER_BLOCK = 200


def read_table(raw: bytes, path: str = "") -> Document:
    """Return a table as Markdown, in blocks that each start with its header."""
    text = to_utf8(raw).decode(errors="replace").replace("\0", "")
    rows = _parse(text, "\t" if path.lower().endswith((".tsv", ".tab")) else "")
    if not rows:
        return Document.without_sections(())
    width = max(map(len, rows))
    head, *body = [[*row, *[""] * (width - len(row))] for row in rows]
    top = f"{_line(head)}\n|{' --- |' * width}"
    starts = range(0, len(body), _ROWS_PER_BLOCK) or range(1)
    blocks = ["\n".join([top, *map(_line, body[start : start + _ROWS_PER_BLOCK])]) for start in starts]
    return Document.without_sections(tuple(Block("table", block, 0) for block in blocks))


def _parse(text: str, delimiter: str) -> list[list[str]]:
    if not delimiter:
        try:
            delimiter = csv.Sniffer().sniff(text[:_SAMPLE_CHARS], delimiters=",;\t|").delimiter
        except csv.Error:
            delimiter = ","
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            if any(row):
                rows.append(row[:_MAX_COLUMNS])
            if len(rows) >= _MAX_ROWS:
                break
    except csv.Error:  # a field of a megabyte: what was read before it is shown
        pass
    return rows


def _line(row: list[str]) -> str:
    cells = (visible_line(cell[:_MAX_CELL_CHARS]).replace("|", "\\|") for cell in row)
    return f"| {' | '.join(cells)} |"

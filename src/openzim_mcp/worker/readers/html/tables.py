"""Tables: of data as Markdown, of layout as text, and the box of key facts beside an article."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.worker.readers.html.boilerplate import Trait, traits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.readers.html.reader import Attributes, Walker

_WIDEST = 50
_TALLEST = 500


def table(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Write a table as what it is."""
    walker.flush()
    rows = [row for row in _rows(node) if not walker.skips(row, row.attributes)]
    cells = [[cell for cell in row.iter() if cell.tag in {"td", "th"}] for row in rows]
    if traits(attributes.get("class") or "") & Trait.INFOBOX and not walker.nested:
        _facts(walker, cells)
    elif walker.in_table:
        _lines(walker, cells)
    elif _is_layout(node, attributes, cells):
        for row in cells:
            for cell in row:
                if not walker.skips(cell, cell.attributes):
                    walker.walk(cell)
                    walker.flush()
    else:
        walker.in_table = True
        walker.emit("table", _markdown(_caption(walker, node), _grid(walker, cells)))
        walker.in_table = False


def _rows(node: LexborNode) -> Iterator[LexborNode]:
    for child in node.iter():
        if child.tag == "tr":
            yield child
        elif child.tag in {"tbody", "thead", "tfoot"}:
            yield from (row for row in child.iter() if row.tag == "tr")


def _is_layout(node: LexborNode, attributes: Attributes, cells: list[list[LexborNode]]) -> bool:
    """Return whether a table only places things: one column, or chapters in cells without any header cell."""
    if attributes.get("role") == "presentation" or max(map(len, cells), default=0) <= 1:
        return True
    return (
        not attributes.get("class")
        and node.css_first("th") is None
        and node.css_first("h1, h2, h3, table, hr, form") is not None
    )


def _lines(walker: Walker, cells: list[list[LexborNode]]) -> None:
    """Write a table inside a table as lines of cells."""
    for row in cells:
        shown = (walker.line(cell) for cell in row if not walker.skips(cell, cell.attributes))
        walker.buffer.append(" ".join(filter(None, shown)))
        walker.flush()


def _caption(walker: Walker, node: LexborNode) -> str:
    found = next((child for child in node.iter() if child.tag == "caption"), None)
    return walker.line(found).replace("**", "") if found is not None else ""


def _span(attributes: Attributes, name: str, most: int) -> int:
    value = attributes.get(name) or ""
    return max(1, min(int(value), most)) if value.isdecimal() else 1


def _grid(walker: Walker, cells: list[list[LexborNode]]) -> list[list[str]]:
    """Return the texts of a table; a cell over several rows is repeated in each."""
    found: list[list[str]] = []
    carried: dict[int, tuple[int, str]] = {}

    def fill(line: list[str]) -> None:
        while len(line) in carried:
            rows, text = carried.pop(len(line))
            if rows > 1:
                carried[len(line)] = (rows - 1, text)
            line.append(text)

    for row in cells:
        line: list[str] = []
        for cell in row:
            fill(line)
            attributes = cell.attributes
            text = "" if walker.skips(cell, attributes) else walker.line(cell).replace("|", "\\|")
            down = _span(attributes, "rowspan", _TALLEST)
            for column in range(_span(attributes, "colspan", _WIDEST)):
                shown = "" if column else text
                if down > 1:
                    carried[len(line)] = (down - 1, shown)
                line.append(shown)
        fill(line)
        if any(line):
            found.append(line)
    return found


def _markdown(caption: str, grid: list[list[str]]) -> str:
    if not grid:
        return ""
    width = max(map(len, grid))
    lines = [f"| {' | '.join(row + [''] * (width - len(row)))} |" for row in grid]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join([f"**{caption}**", "", *lines] if caption else lines)


def _facts(walker: Walker, cells: list[list[LexborNode]]) -> None:
    """Read the box of key facts: pairs of name and value, and headings that name the value or the group below them."""
    heading = group = ""
    pairs: list[tuple[str, str]] = []
    for row in cells:
        shown = [cell for cell in row if not walker.skips(cell, cell.attributes)]
        texts = [walker.line(cell) for cell in shown]
        if len(shown) > 1:
            pairs += _pair(texts, group)
            heading = ""
        elif shown:
            classes = shown[0].attributes.get("class") or ""
            name, colon, value = texts[0].partition(":** ")
            is_bold = texts[0].startswith("**") and texts[0].endswith("**")
            if shown[0].tag == "th" or "header" in classes or "above" in classes or is_bold:
                heading = group = texts[0].replace("**", "")
            elif colon and name.startswith("**"):
                pairs.append((name.strip("*"), value))
            elif heading and texts[0]:
                pairs.append((heading, texts[0]))
                heading = ""
    walker.facts += pairs
    walker.emit("facts", "\n".join(f"- {name}: {value}" for name, value in pairs))


def _pair(texts: list[str], group: str) -> list[tuple[str, str]]:
    """Return the pair of a row; a name that starts with a dash belongs to the heading above it."""
    name = texts[0].replace("**", "").rstrip(" :")
    value = "; ".join(filter(None, texts[1:]))
    bare = name.lstrip("-–•· ")  # noqa: RUF001
    if group and bare != name:
        bare = f"{group.rstrip(' :')}, {bare.lower()}"
    return [(bare, value)] if bare and value else []

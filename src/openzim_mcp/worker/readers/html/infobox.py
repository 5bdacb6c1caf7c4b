"""Infoboxes: key facts, each a name and a value."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import normalize
from openzim_mcp.worker.readers.html.box_rows import Row, RowReader, join_name
from openzim_mcp.worker.readers.html.headings import is_reference_heading

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.readers.html.walker import BoxRows, Walker

_PERIOD = re.compile(r"^\(?(?:[\w.]+ ){0,2}\d{4}(?: [\w.]+){0,2}\)?$")
_ARROW_ROW = re.compile(r"^[<«←‹◄].*\|.*[>»→›►]$")  # noqa: RUF001
# Names that say nothing without the heading above them.
_GENERIC_NAMES = frozenset(
    "total|per capita|density|urban|rural|metro|metropolitan|land|water|water (%)|rank|male|female|men|women|count|"
    "estimate|census|gesamt|insgesamt|pro kopf|dichte|par habitant|densité|per cápita|densidad|densidade|densità|"
    "pro capite|totaal|dichtheid|всего|плотность|на душу населения|ogółem|gęstość|toplam|yoğunluk".split("|")
)
_MIN_GRID_CELLS = 5
_MIN_NAVIGATION_LINKS = 8
_NAVIGATION_SHARE = 0.6
_NAVIGATION = ".navbar, .NavFrame, .plainlinksneverexpand.noprint"


class _Fact(NamedTuple):
    heading: str
    """The heading above it, which is added to a name that needs it."""
    name: str
    value: str


def add_infobox(walker: Walker, node: LexborNode, rows: BoxRows) -> None:
    """Add the facts of a box as one block, and captions as another; a box of links to other articles is left out."""
    first_link = len(walker.links)
    reader = RowReader(walker)
    caption = next((child for child in node.iter() if child.tag == "caption"), None)
    if caption is not None:
        reader.rows.append(Row("title", join_name(reader.read_lines(caption))))
    reader.read_rows(rows)
    if _is_navigation(node, reader.rows, [link.text for link in walker.links[first_link:]]):
        walker.dropped["navigation"] += 1
        return
    collector = _FactCollector(walker.page_title)
    facts = _name_facts(collector.collect(reader.rows))
    walker.facts += [(name, value) for name, value in facts if name]
    if walker.marks is not None:
        facts = [(name, walker.marks.place_links(value, walker.links[first_link:])) for name, value in facts]
    walker.add_block("facts", "\n".join(f"- {name}: {value}" if name else f"- {value}" for name, value in facts))
    captions = collector.captions if walker.marks is None else walker.marks.caption(reader.media, collector.captions)
    for text in captions:
        walker.add_block("figure", f"[Image: {text}]")


def _is_navigation(node: LexborNode, rows: list[Row], links: list[str]) -> bool:
    """Return whether no row names a value, and the box is a template of links or mostly links."""
    if any(row.kind == "pair" for row in rows):
        return False
    if node.css_first(_NAVIGATION) is not None:
        return True
    chars = sum(len(row.name) + len(row.value) for row in rows)
    return len(links) >= _MIN_NAVIGATION_LINKS and sum(map(len, links)) > _NAVIGATION_SHARE * chars


class _FactCollector:
    """Gives each value its name: the name in its row, the heading above it, or both."""

    def __init__(self, title: str) -> None:
        self.captions: list[str] = []
        self._facts: list[_Fact] = []
        self._title = _comparable(title)
        self._heading = self._group = ""
        self._unused_heading = ""
        """The heading, until a value follows it."""
        self._is_below_pictures = False

    def collect(self, rows: list[Row]) -> list[_Fact]:
        end = Row("heading", "")
        for row, following in zip(rows, [*rows, end][1:], strict=True):
            self._add_row(row, following)
            self._is_below_pictures = row.kind == "cells" and not row.value
        return [fact for fact in self._facts if any(map(str.isalnum, fact.value))]

    def _add_row(self, row: Row, following: Row) -> None:
        if following.is_subrow and row.kind in {"title", "wide"}:
            row = row._replace(kind="heading", name=row.name or join_name([row.value]))
        if row.kind == "pair" and not self._is_table_row(row, following):
            self._add_pair(row, following)
        elif row.kind == "heading":
            self._heading = self._group = self._unused_heading = row.name
        elif row.kind == "group":
            self._group, self._unused_heading = row.name, ""
        elif row.kind in {"title", "wide"}:
            self._add_wide(row)
        elif row.kind == "caption":
            self._add_caption(row)
        else:
            self._add_table_row(row)

    def _add_wide(self, row: Row) -> None:
        value = row.value or row.name
        repeats_title = row.kind == "wide" and not self._unused_heading and _comparable(value) in self._title
        if not repeats_title and not is_reference_heading(self._unused_heading):
            self._facts.append(_Fact("", self._unused_heading, value))
        self._unused_heading = ""

    def _add_caption(self, row: Row) -> None:
        if self._unused_heading:
            self._add_wide(row)
        else:
            self.captions.append(row.value)

    def _is_table_row(self, row: Row, following: Row) -> bool:
        """Return whether a row belongs to a table: data, names of columns, or the two sides of a battle."""
        if row.is_all_header:
            return following.is_column or (following.kind == "pair" and not following.is_marked)
        if row.is_marked:
            return False
        is_alone = bool(self._unused_heading) and following.kind == "heading"
        return is_alone or self._is_below_pictures or row.is_column

    def _add_table_row(self, row: Row) -> None:
        value = f"{row.name} | {row.value}" if row.name else row.value
        self._unused_heading = ""
        if not value or _ARROW_ROW.match(value):
            return
        last = self._facts[-1] if self._facts else None
        if row.cell_count >= _MIN_GRID_CELLS or not self._heading:
            self._facts.append(_Fact("", "", value))
        elif last and last.name == self._heading:
            self._facts[-1] = last._replace(value=f"{last.value}; {value}")
        else:
            self._facts.append(_Fact("", self._heading, value))

    def _add_pair(self, row: Row, following: Row) -> None:
        name = row.name
        belongs = row.is_subrow or (row.is_merged and self._group == self._heading)
        if belongs and self._group:
            self._facts.append(_Fact("", f"{self._group}, {name}", row.value))
        elif following.is_subrow and _PERIOD.match(row.value):
            name = f"{name} ({row.value.strip('()')})"
        else:
            self._facts.append(_Fact(self._heading, name, row.value))
        if not belongs:
            self._group = name
        self._unused_heading = ""


def _comparable(title: str) -> str:
    return normalize(title).strip("“”\"'*« »")


def _name_facts(facts: list[_Fact]) -> list[tuple[str, str]]:
    """Return names and values; a name gets its heading if it is generic, or if facts of several headings have it."""
    counts = Counter(name for _, name in {(fact.heading, fact.name) for fact in facts})
    return [
        (f"{heading}, {name}" if heading and (counts[name] > 1 or name.lower() in _GENERIC_NAMES) else name, value)
        for heading, name, value in facts
    ]

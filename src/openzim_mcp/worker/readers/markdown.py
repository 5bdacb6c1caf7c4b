"""The reader of Markdown, as scrapers put it beside pages that are scripts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import escape_our_lines, strip_invisible, visible_line
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.text import to_utf8

if TYPE_CHECKING:
    from openzim_mcp.worker.document import BlockKind, Document

_FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n", re.DOTALL)
_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_HTML_TAG = re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]{0,300}>")
_SECTION_MARK = re.compile(r"^--([\w-]+)--$")
_LIST = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")


def read_markdown(raw: bytes, _path: str = "") -> Document:
    """Return the document of a Markdown text: headings open sections."""
    text = to_utf8(raw).decode(errors="replace").replace("\r\n", "\n")
    front = _FRONT_MATTER.match(text)
    title = _TITLE.search(front[1]) if front else None
    reader = _MarkdownReader()
    for line in (text[front.end() :] if front else text).split("\n"):
        reader.add_line(line)
    reader.end_block()
    return reader.builder.build(visible_line(title[1]) if title else reader.title)


class _MarkdownReader:
    """Collects lines into blocks."""

    def __init__(self) -> None:
        self.builder = DocumentBuilder()
        self.title = ""
        self._lines: list[str] = []
        self._fence = ""

    def add_line(self, line: str) -> None:
        fence = _FENCE.match(line)
        if self._fence:
            self._lines.append(strip_invisible(line))
            if fence and fence[1].startswith(self._fence):
                self._end_code()
        elif fence:
            self.end_block()
            self._fence = fence[1]
            self._lines = [line.strip()]
        else:
            self._add_text(escape_our_lines(strip_invisible(_HTML_TAG.sub("", line)).rstrip()))

    def _add_text(self, line: str) -> None:
        heading = _HEADING.match(line)
        if heading:
            self.end_block()
            self._add_heading(len(heading[1]), visible_line(heading[2]))
        elif line.strip():
            self._lines.append(line)
        else:
            self.end_block()

    def _add_heading(self, level: int, title: str) -> None:
        mark = _SECTION_MARK.match(title)
        title = mark[1].replace("-", " ").capitalize() if mark else title
        if level == 1 and not self.title and not self.builder.blocks and not mark:
            self.title = title
        elif title:
            self.builder.open_section(title, level)

    def _end_code(self) -> None:
        self.builder.add("code", "\n".join(self._lines))
        self._lines, self._fence = [], ""

    def end_block(self) -> None:
        """End the block that is being collected; code that is not closed is closed."""
        if self._fence:
            self._lines.append(self._fence)
            self._end_code()
        elif self._lines:
            first = self._lines[0]
            kind: BlockKind = "list" if _LIST.match(first) else "table" if first.startswith("|") else "paragraph"
            self.builder.add(kind, "\n".join(self._lines))
            self._lines = []

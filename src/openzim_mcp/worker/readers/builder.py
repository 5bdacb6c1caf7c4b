"""Builds a document from headings and blocks in their order, for the readers of other kinds than web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.readers.html.outline import Outline

if TYPE_CHECKING:
    from openzim_mcp.worker.document import BlockKind, Coordinates, Extent, Link

_MAX_HEADING_LEVEL = 6


class DocumentBuilder:
    """Collects blocks; `locator` is the page or time of those that are added now."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.blocks: list[Block] = []
        self.locator = ""

    def open_section(self, title: str, level: int, anchor: str = "", *, with_heading: bool = True) -> None:
        """Start a section, and show its heading unless told otherwise."""
        self.outline.open_section(title, level, anchor, len(self.blocks))
        if with_heading:
            self.add("heading", f"{'#' * min(_MAX_HEADING_LEVEL, level + 1)} {title}")

    def add(self, kind: BlockKind, text: str) -> None:
        """Add a block; items of a list that follow each other in one place are one block."""
        last = self.blocks[-1] if self.blocks else None
        continues_list = kind == "list" and last is not None and last.kind == "list" and last.locator == self.locator
        if last is not None and continues_list and last.section == self.outline.current:
            self.blocks[-1] = last._replace(text=f"{last.text}\n{text}")
        else:
            self.blocks.append(Block(kind, text, self.outline.current, (), self.locator))

    def add_document(self, document: Document, level: int) -> None:
        """Add all of another document below the section that is open; `level` is added to those of its sections."""
        opened = 0
        for block in document.blocks:
            while opened < block.section:
                opened += 1
                section = document.sections[opened]
                self.outline.open_section(
                    section.title, section.level + level, section.id, len(self.blocks), section.kind
                )
            self.blocks.append(block._replace(section=self.outline.current))

    def build(
        self,
        title: str = "",
        description: str = "",
        *,
        language: str = "",
        links: tuple[Link, ...] = (),
        facts: tuple[tuple[str, str], ...] = (),
        extent: Extent | None = None,
        coordinates: Coordinates | None = None,
    ) -> Document:
        """Return what was collected."""
        blocks, sections, _ = self.outline.finish(self.blocks)
        return Document(
            title, description, language, blocks, sections, links, facts, extent=extent, coordinates=coordinates
        )

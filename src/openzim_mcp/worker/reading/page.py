"""Read an article for the page: the same blocks as a model reads, with marks where links and pictures stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.page import ArticlePage, InlineObject, PageBlock, PageSection
from openzim_mcp.text import safe_line
from openzim_mcp.worker.document import Formula, Media
from openzim_mcp.worker.inline_marks import InlineMarks
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.reading import article, resolve

if TYPE_CHECKING:
    from openzim_mcp.calls.page import ReadPage
    from openzim_mcp.worker.document import Document, Link
    from openzim_mcp.worker.zim import Archive, Item

_PART_CHARS = 200_000
"""A longer article is shown in parts."""
_MAX_RESOLVED_TARGETS = 2000
_MAX_TITLE_CHARS = 300
_MAX_ANCHORS = 20


def read_page(archive: Archive, call: ReadPage) -> ArticlePage:
    """Return an article, or a part of a long one, with marks in its texts and the outline of all of it."""
    item, fragment = resolve.require_place(archive, call.path)
    document = _marked_document(archive, item)
    starts = _part_starts(document)
    if not 0 <= call.part < len(starts):
        raise errors.OutOfRange(f"{safe_line(item.path, 200)!r} has {len(starts)} parts.", hint="Start with the first.")
    stop = [*starts, len(document.blocks)][call.part + 1]
    return ArticlePage(
        item.path,
        safe_line(document.title or item.title, _MAX_TITLE_CHARS),
        archive.file_name,
        mime_type=item.mime_type,
        size=item.size,
        language=safe_line(document.language, 20),
        description=safe_line(document.description, _MAX_TITLE_CHARS),
        sections=_sections(document, starts),
        blocks=[
            PageBlock(
                block.kind,
                block.text,
                block.section,
                [anchor.name for anchor in block.anchors[:_MAX_ANCHORS]],
                block.locator,
            )
            for block in document.blocks[starts[call.part] : stop]
        ],
        objects=_Resolver(archive).objects(document),
        part=call.part,
        part_count=len(starts),
        fragment=fragment,
    )


def _marked_document(archive: Archive, item: Item) -> Document:
    """Return the document of a page with marks; of other types, the one that a model reads."""
    if not is_page(item.mime_type):
        return article.requested_document(archive, item)
    return read_document(archive, item, marks=InlineMarks())


def _part_starts(document: Document) -> list[int]:
    """Return the numbers of the blocks that start a part: after enough text, the next section or block."""
    starts, chars = [0], 0
    for number, block in enumerate(document.blocks):
        is_full = chars > _PART_CHARS and (block.kind == "heading" or chars > 2 * _PART_CHARS)
        if is_full:
            starts.append(number)
            chars = 0
        chars += len(block.text)
    return starts


def _sections(document: Document, starts: list[int]) -> list[PageSection]:
    return [
        PageSection(
            section.id[:_MAX_TITLE_CHARS],
            safe_line(section.title, _MAX_TITLE_CHARS),
            section.level,
            sum(start <= section.start for start in starts) - 1,
        )
        for section in document.sections
    ]


class _Resolver:
    """Finds the targets of links and pictures in the archive, each once."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._targets: dict[str, Item | None] = {}

    def objects(self, document: Document) -> list[InlineObject]:
        """Return what the marks of a document stand for."""
        return [self._object(thing) for thing in document.inline_objects]

    def _object(self, thing: Link | Media | Formula) -> InlineObject:
        if isinstance(thing, Formula):
            return InlineObject("formula", text=thing.tex, math=thing.tree)
        if isinstance(thing, Media):
            target, missing = self._find(thing.target)
            return InlineObject(
                thing.kind, target, text=thing.text, width=thing.width, height=thing.height, missing=missing
            )
        if thing.kind == "external":
            return InlineObject("external", thing.target)
        if thing.kind == "anchor":
            return InlineObject("anchor", fragment=thing.fragment)
        target, missing = self._find(thing.target)
        return InlineObject("internal", target, thing.fragment, missing=missing)

    def _find(self, target: str) -> tuple[str, bool]:
        """Return the path that a link leads to, and whether the archive does not have it."""
        if target not in self._targets:
            if len(self._targets) >= _MAX_RESOLVED_TARGETS:
                return target, False
            self._targets[target] = resolve.find_link_target(self._archive, target)
        found = self._targets[target]
        return (found.path, False) if found else (target, True)

"""Read a part of an article: a section, a definition such as a function in a manual, or what stands at an anchor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.reading import Section, SectionHead
from openzim_mcp.text import safe_line
from openzim_mcp.worker import render
from openzim_mcp.worker.reading import article, long_documents, resolve
from openzim_mcp.worker.reading.parts import find_parts, nearest_sections
from openzim_mcp.worker.search.language import query_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.reading import ReadSection
    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.reading.parts import Part
    from openzim_mcp.worker.zim import Archive, Item

_NEAREST_SECTIONS = 3
_MAX_TITLE_CHARS = 50


def read_section(archive: Archive, call: ReadSection) -> Section:
    """Return one part of an article from an offset on, and the names of its neighbours."""
    item = resolve.require_entry(archive, call.path)
    name = call.name.strip().lstrip("#").strip()
    stem = query_language(archive, name).stem
    pdf = long_documents.open_long(archive, item)
    document = long_documents.read_named_part(archive, item, pdf, name, stem) if pdf else None
    document = document or article.document(archive, item)
    parts = find_parts(document, name, stem)
    if len(parts) != 1:
        raise _section_not_found(document, item, call.name, parts)
    (part,) = parts
    blocks = render.collapse_large_blocks(document, part.blocks) if call.compact else part.blocks
    piece = render.slice_at_block(blocks, call.offset, call.max_chars)
    article.check_offset(item, call.offset, piece.total)
    return Section(
        path=item.path,
        title=item.title,
        archive=archive.file_name,
        section=SectionHead(part.name.id, part.name.title, part.level),
        content=piece.text,
        truncated=not piece.done,
        characters=piece.total,
        previous=part.previous,
        next=part.next,
        parent=part.parent,
        children=part.children,
        next_offset=None if piece.done else piece.stop,
    )


def _section_not_found(document: Document, item: Item, name: str, parts: Sequence[Part]) -> errors.SectionNotFound:
    wanted, path = safe_line(name, 60), safe_line(item.path, 60)
    if parts:
        names = [part.name for part in parts]
        message = f"{len(parts)} sections of {path!r} fit {wanted!r}."
        hint = "Ask for one of them by its id."
    else:
        names = nearest_sections(document, wanted, _NEAREST_SECTIONS)
        message = f"{path!r} has no section {wanted!r}."
        hint = "These are the nearest; the outline has all." if names else "It has no headings."
    error = errors.SectionNotFound(message, hint=hint, total_sections=len(document.sections) - 1)
    rows = [{"id": row.id, "title": safe_line(row.title, _MAX_TITLE_CHARS)} for row in names]
    return error.with_list("available_sections", rows)

"""Read a part of an article: a section, or a single definition such as a function in a manual."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors, tokens
from openzim_mcp.calls.reading import Section, SectionHead, SectionName
from openzim_mcp.text import closest, safe_line
from openzim_mcp.worker import render
from openzim_mcp.worker.reading import article

if TYPE_CHECKING:
    from openzim_mcp.calls.reading import ReadSection
    from openzim_mcp.worker.document import Block, Document
    from openzim_mcp.worker.zim import Archive, Item

_MAX_LISTED_SECTIONS = 100


class _Part(NamedTuple):
    """A part of an article and the names of its neighbours."""

    name: SectionName
    level: int
    blocks: list[Block]
    previous: SectionName | None
    next: SectionName | None
    parent: SectionName | None
    children: list[SectionName]


def read_section(archive: Archive, call: ReadSection) -> Section:
    """Return one section with its subsections, or one definition, from an offset on, and its neighbours."""
    item, document = article.load_page(archive, call.path)
    name = call.name.strip().lstrip("#").strip()
    number = _find_section(document, name)
    part = _definition_part(document, name) if number is None else _section_part(document, number)
    if part is None:
        raise _section_not_found(document, item, call.name)
    text = render.join_blocks(render.collapse_large_blocks(document, part.blocks) if call.compact else part.blocks)
    article.check_offset(item, call.offset, len(text))
    content = text[call.offset : call.offset + call.max_chars]
    content = content if call.max_tokens is None else tokens.truncate(content, call.max_tokens)
    return Section(
        path=item.path,
        title=item.title,
        archive=archive.file_name,
        section=SectionHead(part.name.id, part.name.title, part.level),
        content=content,
        truncated=call.offset + len(content) < len(text),
        characters=len(text),
        previous=part.previous,
        next=part.next,
        parent=part.parent,
        children=part.children,
    )


def _section_name(document: Document, number: int) -> SectionName:
    section = document.sections[number]
    return SectionName(section.id or "lead", section.title or "(lead)")


def _section_part(document: Document, number: int) -> _Part:
    section = document.sections[number]
    if not number:
        return _Part(_section_name(document, 0), 0, list(document.lead), None, None, None, [])
    siblings = document.children(section.parent or 0)
    position = siblings.index(number)
    return _Part(
        _section_name(document, number),
        section.level,
        list(document.blocks[section.start : section.end]),
        _section_name(document, siblings[position - 1]) if position else None,
        _section_name(document, siblings[position + 1]) if position + 1 < len(siblings) else None,
        _section_name(document, section.parent) if section.parent else None,
        [_section_name(document, child) for child in document.children(number)],
    )


def _find_section(document: Document, name: str) -> int | None:
    """Return the section of an id, a heading, or a number of the outline such as 2 or 2.1."""
    if name in {"", "lead"}:
        return 0
    for matches in (
        lambda s: s.id == name,
        lambda s: s.title == name,
        lambda s: name.casefold().replace("_", " ") in {s.title.casefold(), s.id.casefold().replace("_", " ")},
    ):
        number = next((n for n, s in enumerate(document.sections) if n and matches(s)), None)
        if number is not None:
            return number
    return _find_by_number(document, name)


def _find_by_number(document: Document, name: str) -> int | None:
    number = 0
    for part in name.split("."):
        below = document.children(number)
        if not part.isdecimal() or not 1 <= int(part) <= len(below):
            return None
        number = below[int(part) - 1]
    return number


def _definition_part(document: Document, anchor: str) -> _Part | None:
    """Return the definition of an anchor, such as `json.dumps`, up to the next one."""
    terms = [number for number, block in enumerate(document.blocks) if block.anchor]
    position = next((i for i, number in enumerate(terms) if document.blocks[number].anchor == anchor), None)
    if position is None:
        return None

    def name(at: int) -> SectionName | None:
        if not 0 <= at < len(terms):
            return None
        block = document.blocks[terms[at]]
        return SectionName(block.anchor, block.text.strip("`*"))

    term = document.blocks[terms[position]]
    section = document.sections[term.section]
    stop = min(section.stop, terms[position + 1] if position + 1 < len(terms) else section.stop)
    return _Part(
        SectionName(term.anchor, term.text.strip("`*")),
        section.level + 1,
        list(document.blocks[terms[position] : stop]),
        name(position - 1),
        name(position + 1),
        _section_name(document, term.section),
        [],
    )


def _section_not_found(document: Document, item: Item, name: str) -> errors.SectionNotFound:
    close = closest(name.strip(), (s.title for s in document.sections[1:]), cutoff=0.5)
    return errors.SectionNotFound(
        f"{item.path!r} has no section {safe_line(name, 100)!r}.",
        hint=f"Did you mean {close[0]!r}?" if close else "Use one of available_sections.",
        did_you_mean=close,
        available_sections=[{"id": s.id, "title": s.title} for s in document.sections[1 : _MAX_LISTED_SECTIONS + 1]],
    )

"""Reading a part of an article: a section, or a single definition such as a function in a manual."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openzim_mcp import errors, tokens
from openzim_mcp.text import closest, safe_line
from openzim_mcp.worker import render
from openzim_mcp.worker.reading import article

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Block, Document
    from openzim_mcp.worker.zim import Archive, Item

_LISTED = 100


class _Part(NamedTuple):
    """A part of an article and the names of what is around it."""

    name: dict[str, Any]
    level: int
    blocks: list[Block]
    previous: dict[str, Any] | None
    next: dict[str, Any] | None
    parent: dict[str, Any] | None
    children: list[dict[str, Any]]


def section(
    archive: Archive,
    path: str,
    name: str,
    length: int,
    budget: int | None = None,
    offset: int = 0,
    *,
    compact: bool = True,
) -> dict[str, Any]:
    """Return one section with its subsections, or one definition, from an offset on, and what is around it."""
    item, document = article.page_of(archive, path)
    wanted = name.strip().lstrip("#").strip()
    number = _section(document, wanted)
    part = _definition(document, wanted) if number is None else _part(document, number)
    if part is None:
        raise _not_found(document, item, name)
    text = render.join(render.fold(document, part.blocks) if compact else part.blocks)
    article.check_offset(item, offset, len(text))
    content = text[offset : offset + length]
    content = content if budget is None else tokens.truncate(content, budget)
    return article.about(archive, item) | {
        "section": part.name | {"level": part.level},
        "content": content,
        "truncated": offset + len(content) < len(text),
        "characters": len(text),
        "previous": part.previous,
        "next": part.next,
        "parent": part.parent,
        "children": part.children,
    }


def _name(document: Document, number: int) -> dict[str, Any]:
    chosen = document.sections[number]
    return {"id": chosen.id or "lead", "title": chosen.title or "(lead)"}


def _part(document: Document, number: int) -> _Part:
    chosen = document.sections[number]
    if not number:
        return _Part(_name(document, 0), 0, list(document.lead), None, None, None, [])
    siblings = document.children(chosen.parent or 0)
    at = siblings.index(number)
    return _Part(
        _name(document, number),
        chosen.level,
        list(document.blocks[chosen.start : chosen.end]),
        _name(document, siblings[at - 1]) if at else None,
        _name(document, siblings[at + 1]) if at + 1 < len(siblings) else None,
        _name(document, chosen.parent) if chosen.parent else None,
        [_name(document, child) for child in document.children(number)],
    )


def _section(document: Document, wanted: str) -> int | None:
    """Return the section of an id, a heading, or a number of the outline such as 2 or 2.1."""
    if wanted in {"", "lead"}:
        return 0
    for matches in (
        lambda s: s.id == wanted,
        lambda s: s.title == wanted,
        lambda s: wanted.casefold().replace("_", " ") in {s.title.casefold(), s.id.casefold().replace("_", " ")},
    ):
        found = next((n for n, s in enumerate(document.sections) if n and matches(s)), None)
        if found is not None:
            return found
    return _numbered(document, wanted)


def _numbered(document: Document, wanted: str) -> int | None:
    number = 0
    for part in wanted.split("."):
        below = document.children(number)
        if not part.isdecimal() or not 1 <= int(part) <= len(below):
            return None
        number = below[int(part) - 1]
    return number


def _definition(document: Document, wanted: str) -> _Part | None:
    """Return the definition of an anchor, such as `json.dumps`, up to the next one."""
    terms = [number for number, block in enumerate(document.blocks) if block.anchor]
    at = next((i for i, number in enumerate(terms) if document.blocks[number].anchor == wanted), None)
    if at is None:
        return None

    def name(position: int) -> dict[str, Any] | None:
        if not 0 <= position < len(terms):
            return None
        block = document.blocks[terms[position]]
        return {"id": block.anchor, "title": block.text.strip("`*")}

    first = document.blocks[terms[at]]
    around = document.sections[first.section]
    stop = min(around.stop, terms[at + 1] if at + 1 < len(terms) else around.stop)
    own = {"id": first.anchor, "title": first.text.strip("`*")}
    blocks = list(document.blocks[terms[at] : stop])
    return _Part(own, around.level + 1, blocks, name(at - 1), name(at + 1), _name(document, first.section), [])


def _not_found(document: Document, item: Item, name: str) -> errors.SectionNotFound:
    close = closest(name.strip(), (s.title for s in document.sections[1:]), cutoff=0.5)
    return errors.SectionNotFound(
        f"{item.path!r} has no section {safe_line(name, 100)!r}.",
        hint=f"Did you mean {close[0]!r}?" if close else "Use one of available_sections.",
        did_you_mean=close,
        available_sections=[{"id": s.id, "title": s.title} for s in document.sections[1 : _LISTED + 1]],
    )

"""A document in passages: pieces of text, each of one section, that can answer a question by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.worker.document import Block

_LONGEST = 1200
_PACKED = 500
_LONGEST_LINE = 5000
_LEFT_OUT = {"heading", "hatnote"}


class Passage(NamedTuple):
    """Some text of a section, and the same without case and accents."""

    section: int
    text: str
    folded: str
    names: tuple[str, ...] = ()
    """What the key facts in it are called."""


def split(blocks: Iterable[Block]) -> Iterator[Passage]:
    """Yield the passages of a document: paragraphs, and short pieces of one section put together."""
    section, held = 0, ""
    names: tuple[str, ...] = ()
    for block in blocks:
        if block.kind in _LEFT_OUT:
            continue
        for piece in _pieces(block.text):
            if held and (block.section != section or len(held) + len(piece) > _PACKED):
                yield Passage(section, held, normalize(held), names)
                held, names = "", ()
            held = f"{held}\n{piece}" if held else piece
            section = block.section
            names += tuple(line[2:].partition(":")[0] for line in piece.split("\n")) if block.kind == "facts" else ()
    if held:
        yield Passage(section, held, normalize(held), names)


def _pieces(text: str) -> Iterable[str]:
    """Cut a long block between its lines."""
    if len(text) <= _LONGEST:
        return [text]
    pieces = [""]
    for line in text.split("\n"):
        if pieces[-1] and len(pieces[-1]) + len(line) > _PACKED:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]}\n{line}" if pieces[-1] else line[:_LONGEST_LINE]
    return pieces

"""From a document, or a part of it, to the text that a model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import tokens
from openzim_mcp.text import best_cut
from openzim_mcp.worker.document import BETWEEN, Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.document import Document

_ROWS = 12
_TABLE_CHARACTERS = 1500
_ITEMS = 25
_LIST_CHARACTERS = 2500
_ITEMS_SHOWN = 10


class Slice(NamedTuple):
    """A part of a text, where it ends, and how long the whole is."""

    text: str
    stop: int
    total: int

    @property
    def done(self) -> bool:
        """Whether the text ends here."""
        return self.stop >= self.total


def join(blocks: Sequence[Block]) -> str:
    """Return blocks as one text."""
    return BETWEEN.join(block.text for block in blocks)


def slice_at_block(blocks: Sequence[Block], offset: int, length: int) -> Slice:
    """Return up to `length` characters from `offset` on, ended at a block, else a line, a sentence or a word.

    The slices of successive calls, joined, are the whole text.
    """
    body = join(blocks)
    stop = min(offset + length, len(body))
    if stop < len(body):
        stop = _good_end(body, blocks, offset + max(1, length // 2), stop)
    return Slice(body[offset:stop], stop, len(body))


def _good_end(body: str, blocks: Sequence[Block], earliest: int, latest: int) -> int:
    at, best = 0, 0
    for block in blocks:
        at += len(block.text) + len(BETWEEN)
        if at > latest:
            break
        best = at
    if best >= earliest:
        return best
    return best_cut(body, earliest, latest)


def slice_to_budget(blocks: Sequence[Block], offset: int, budget: float) -> Slice:
    """Return what fits into a budget of tokens from `offset` on."""
    rest = join(blocks)[offset:]
    length = len(tokens.truncate(rest, budget))
    if length == len(rest):
        return Slice(rest, offset + length, offset + length)
    return slice_at_block(blocks, offset, max(1, length))


def fold(document: Document, blocks: Sequence[Block]) -> list[Block]:
    """Replace large tables and long lists by a line that says how to get them."""
    return [_folded(document, block) for block in blocks]


def _folded(document: Document, block: Block) -> Block:
    lines = block.text.split("\n")
    name = document.sections[block.section].id
    how = f'zim_get_section with section_id="{name}" and compact=false' if name else "zim_get with compact=false"
    if block.kind == "table" and (len(lines) > _ROWS or len(block.text) > _TABLE_CHARACTERS):
        caption = f"{lines[0].strip('*')}: " if lines[0].startswith("**") else ""
        rows = sum(line.startswith("|") for line in lines) - 2
        return block._replace(text=f"[Table, {caption}{rows} rows; {how} shows it]")
    if block.kind == "list" and (len(lines) > _ITEMS or len(block.text) > _LIST_CHARACTERS):
        shown = lines[:_ITEMS_SHOWN]
        return block._replace(text="\n".join([*shown, f"[{len(lines) - len(shown)} more lines; {how} shows them]"]))
    return block

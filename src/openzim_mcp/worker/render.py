"""From a document, or a part of it, to the text that a model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import tokens
from openzim_mcp.text import best_cut
from openzim_mcp.worker.document import BLOCK_SEPARATOR, Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.document import Document

_MAX_TABLE_LINES = 12
_MAX_TABLE_CHARS = 1500
_MAX_LIST_LINES = 25
_MAX_LIST_CHARS = 2500
_COLLAPSED_LIST_LINES = 10


class Slice(NamedTuple):
    """A part of a text, where it stops, and how long the whole is."""

    text: str
    stop: int
    total: int

    @property
    def done(self) -> bool:
        """Whether the text ends here."""
        return self.stop >= self.total


def join_blocks(blocks: Sequence[Block]) -> str:
    """Return blocks as one text."""
    return BLOCK_SEPARATOR.join(block.text for block in blocks)


def slice_at_block(blocks: Sequence[Block], offset: int, length: int) -> Slice:
    """Return up to `length` characters from `offset` on, cut after a block, else a line, a sentence or a word.

    The slices of successive calls, joined, are the whole text.
    """
    body = join_blocks(blocks)
    stop = min(offset + length, len(body))
    if stop < len(body):
        stop = _find_stop(body, blocks, offset + max(1, length // 2), stop)
    return Slice(body[offset:stop], stop, len(body))


def _find_stop(body: str, blocks: Sequence[Block], earliest: int, latest: int) -> int:
    position, last_block_end = 0, 0
    for block in blocks:
        position += len(block.text) + len(BLOCK_SEPARATOR)
        if position > latest:
            break
        last_block_end = position
    return last_block_end if last_block_end >= earliest else best_cut(body, earliest, latest)


def slice_to_budget(blocks: Sequence[Block], offset: int, budget: float) -> Slice:
    """Return what fits into a budget of tokens from `offset` on."""
    remaining = join_blocks(blocks)[offset:]
    length = len(tokens.truncate(remaining, budget))
    if length == len(remaining):
        return Slice(remaining, offset + length, offset + length)
    return slice_at_block(blocks, offset, max(1, length))


def collapse_large_blocks(document: Document, blocks: Sequence[Block]) -> list[Block]:
    """Replace large tables, and the end of long lists, by a line that says how to get them."""
    return [_collapse(document, block) for block in blocks]


def _collapse(document: Document, block: Block) -> Block:
    lines = block.text.split("\n")
    section = document.sections[block.section].id
    request = (
        f'zim_get_section with section_id="{section}" and compact=false' if section else "zim_get with compact=false"
    )
    if block.kind == "table" and (len(lines) > _MAX_TABLE_LINES or len(block.text) > _MAX_TABLE_CHARS):
        caption = f"{lines[0].strip('*')}: " if lines[0].startswith("**") else ""
        row_count = sum(line.startswith("|") for line in lines) - 2
        return block._replace(text=f"[Table, {caption}{row_count} rows; {request} shows it]")
    if block.kind == "list" and (len(lines) > _MAX_LIST_LINES or len(block.text) > _MAX_LIST_CHARS):
        first = lines[:_COLLAPSED_LIST_LINES]
        note = f"[{len(lines) - len(first)} more lines; {request} shows them]"
        return block._replace(text="\n".join([*first, note]))
    return block

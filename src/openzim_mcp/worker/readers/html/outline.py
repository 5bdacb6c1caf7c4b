"""The sections of a page, built as its headings are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.document import Block, Section
from openzim_mcp.worker.readers.html.headings import is_reference_heading

if TYPE_CHECKING:
    from openzim_mcp.worker.document import SectionKind


_MAX_REFERENCE_PROSE_CHARS = 1500


@dataclass
class _Draft:
    id: str
    title: str
    level: int
    parent: int | None
    start: int
    kind: SectionKind = "text"
    is_pruned: bool = False


class OutlinedBlocks(NamedTuple):
    """The blocks and sections of a page, and the new number of each section that was opened."""

    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    new_numbers: list[int]


class Outline:
    """Opens a section for each heading; the first section is the lead."""

    def __init__(self) -> None:
        self.title = ""
        self._drafts = [_Draft("", "", 0, None, 0)]
        self._ids: set[str] = set()
        self._last_suffixes: dict[str, int] = {}

    @property
    def current(self) -> int:
        """The number of the section that blocks now belong to."""
        return len(self._drafts) - 1

    def open_section(self, title: str, level: int, anchor: str, start: int, kind: SectionKind = "text") -> None:
        """Start a section at a block; it is of the same kind as the section around it."""
        parent: int | None = self.current
        while parent is not None and self._drafts[parent].level >= level:
            parent = self._drafts[parent].parent
        if kind == "text" and parent is not None:
            kind = "references" if is_reference_heading(title) else self._drafts[parent].kind
        name = self._unique_id(anchor or title.replace(" ", "_"))
        self._drafts.append(_Draft(name, title, level, parent, start, kind))

    def _unique_id(self, name: str) -> str:
        """Return the name, or the first of name_2, name_3, … that is free."""
        candidate = name
        # Counting goes on where it stopped: a page may have thousands of headings of one name.
        number = self._last_suffixes.get(name, 1)
        while candidate in self._ids:
            number += 1
            candidate = f"{name}_{number}"
        self._last_suffixes[name] = number
        self._ids.add(candidate)
        return candidate

    def has_id(self, name: str) -> bool:
        """Return whether a section has that id."""
        return name in self._ids

    def shift_sections(self, count: int) -> None:
        """Make the lead longer by that many blocks."""
        for draft in self._drafts[1:]:
            draft.start += count

    def mark_pruned(self) -> None:
        """Mark the current section as one that lost content: it is removed if nothing else is in it."""
        self._drafts[-1].is_pruned = True

    def build_sections(self, block_count: int) -> tuple[Section, ...]:
        """Return the sections of a page with that many blocks."""
        ends = [block_count] * len(self._drafts)
        open_sections: list[int] = []
        for number, draft in enumerate(self._drafts):
            # A heading ends the sections of its level and deeper ones; the lead is around them all.
            while open_sections and self._drafts[open_sections[-1]].level >= draft.level:
                ends[open_sections.pop()] = draft.start
            if number:
                open_sections.append(number)
        stops = [*(draft.start for draft in self._drafts[1:]), block_count]
        return tuple(
            Section(draft.id, draft.title, draft.level, draft.parent, draft.start, stop, end, draft.kind)
            for draft, stop, end in zip(self._drafts, stops, ends, strict=True)
        )

    def finish(self, blocks: list[Block]) -> OutlinedBlocks:
        """Return blocks and sections without the sections that pruning emptied."""
        starts = [draft.start for draft in self._drafts] + [len(blocks)]
        self._check_references(blocks, starts)
        empty = self._empty_sections(starts)
        if not empty:
            return OutlinedBlocks(tuple(blocks), self.build_sections(len(blocks)), list(range(len(self._drafts))))
        new_numbers = self._renumber(empty)
        remaining = [
            block._replace(section=new_numbers[block.section]) for block in blocks if block.section not in empty
        ]
        self._remove_drafts(empty, starts, new_numbers)
        return OutlinedBlocks(tuple(remaining), self.build_sections(len(remaining)), new_numbers)

    def _check_references(self, blocks: list[Block], starts: list[int]) -> None:
        """Take sections for text whose headings only sound like references: the notes of a manual have code."""
        for number, draft in enumerate(self._drafts):
            if draft.kind == "references":
                own = blocks[draft.start : starts[number + 1]]
                prose = sum(len(block.text) for block in own if block.kind == "paragraph")
                if prose > _MAX_REFERENCE_PROSE_CHARS or any(block.kind in {"code", "definition"} for block in own):
                    draft.kind = "text"

    def _empty_sections(self, starts: list[int]) -> set[int]:
        parents = {draft.parent for draft in self._drafts}
        return {
            number
            for number, draft in enumerate(self._drafts)
            if draft.is_pruned and number and number not in parents and starts[number + 1] - draft.start <= 1
        }

    def _renumber(self, empty: set[int]) -> list[int]:
        """Return the new number of each section; a removed one gets that of the section before it."""
        new_numbers, count = [], 0
        for number in range(len(self._drafts)):
            new_numbers.append(max(0, count - 1) if number in empty else count)
            count += number not in empty
        return new_numbers

    def _remove_drafts(self, empty: set[int], starts: list[int], new_numbers: list[int]) -> None:
        removed_blocks = 0
        drafts = []
        for number, draft in enumerate(self._drafts):
            draft.start -= removed_blocks
            if number in empty:
                removed_blocks += starts[number + 1] - starts[number]
                continue
            draft.parent = None if draft.parent is None else new_numbers[draft.parent]
            drafts.append(draft)
        self._drafts = drafts

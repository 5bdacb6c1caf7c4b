"""The sections of a page, found as its headings come by."""

from __future__ import annotations

from dataclasses import dataclass

from openzim_mcp.worker.document import Block, Section


@dataclass
class _Draft:
    id: str
    title: str
    level: int
    parent: int | None
    start: int
    pruned: bool = False


class Outline:
    """Opens a section for each heading; the first one is the lead."""

    def __init__(self) -> None:
        self.title = ""
        self._drafts = [_Draft("", "", 0, None, 0)]
        self._ids: set[str] = set()
        self._numbered: dict[str, int] = {}

    @property
    def current(self) -> int:
        """The section that blocks now belong to."""
        return len(self._drafts) - 1

    def open(self, title: str, level: int, anchor: str, start: int) -> None:
        """Start a section at a block."""
        parent: int | None = self.current
        while parent is not None and self._drafts[parent].level >= level:
            parent = self._drafts[parent].parent
        self._drafts.append(_Draft(self._unique(anchor or title.replace(" ", "_")), title, level, parent, start))

    def _unique(self, name: str) -> str:
        """Return the name, or the first of name_2, name_3, … that is free; where it was last found is remembered."""
        candidate = name
        number = self._numbered.get(name, 1)
        while candidate in self._ids:
            number += 1
            candidate = f"{name}_{number}"
        self._numbered[name] = number
        self._ids.add(candidate)
        return candidate

    def knows(self, name: str) -> bool:
        """Return whether an id is taken."""
        return name in self._ids

    def prune(self) -> None:
        """Note that something was left out of the current section: it goes too if nothing else is in it."""
        self._drafts[-1].pruned = True

    def sections(self, blocks: int) -> tuple[Section, ...]:
        """Return the sections of a page of that many blocks."""
        ends = [blocks] * len(self._drafts)
        below: list[int] = []
        for number, draft in enumerate(self._drafts):
            # A heading ends the sections of its level and deeper ones; the lead is around them all.
            while below and self._drafts[below[-1]].level >= draft.level:
                ends[below.pop()] = draft.start
            if number:
                below.append(number)
        stops = [*(draft.start for draft in self._drafts[1:]), blocks]
        return tuple(
            Section(draft.id, draft.title, draft.level, draft.parent, draft.start, stop, end)
            for draft, stop, end in zip(self._drafts, stops, ends, strict=True)
        )

    def finish(self, blocks: list[Block]) -> tuple[tuple[Block, ...], tuple[Section, ...], list[int]]:
        """Return blocks and sections without the sections that pruning emptied, and where each section went."""
        parents = {draft.parent for draft in self._drafts}
        starts = [draft.start for draft in self._drafts] + [len(blocks)]
        empty = {
            number
            for number, draft in enumerate(self._drafts)
            if draft.pruned and number and number not in parents and starts[number + 1] - draft.start <= 1
        }
        if not empty:
            return tuple(blocks), self.sections(len(blocks)), list(range(len(self._drafts)))
        moved, kept = [], 0
        for number in range(len(self._drafts)):
            moved.append(max(0, kept - 1) if number in empty else kept)
            kept += number not in empty
        left = [block._replace(section=moved[block.section]) for block in blocks if block.section not in empty]
        gone = 0
        drafts = []
        for number, draft in enumerate(self._drafts):
            draft.start -= gone
            if number in empty:
                gone += starts[number + 1] - starts[number]
                continue
            draft.parent = None if draft.parent is None else moved[draft.parent]
            drafts.append(draft)
        self._drafts = drafts
        return tuple(left), self.sections(len(left)), moved

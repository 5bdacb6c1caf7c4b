"""Several entries in one result: the rows, and how they share a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from openzim_mcp.app.budgets import json_cost, take_headings, take_rows, truncate_json
from openzim_mcp.calls import Struct
from openzim_mcp.text import continuation_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.reading import Heading, TocEntry

_MIN_ROW_TOKENS = 15
"""A row with less room for its text is left out."""
_LEAD_END_CHARS = 50
_ROUNDS = 6


class BatchRow(Struct, frozen=True, kw_only=True):
    """One entry of a batch, as text or in the view asked for; or why it could not be read."""

    path: str
    success: bool
    title: str | None = None
    actual_path: str | None = None
    mime_type: str | None = None
    note: str | None = None
    content: str | None = None
    truncated: bool = False
    """Whether a summary was cut; a text says that at its end."""
    characters: int | None = None
    """How long the whole text is, until its end says it."""
    lead: str | None = None
    """What is shown of a text that has to be cut before its lead ends."""
    place: str | None = None
    """How far a long document was read, until its end says it."""
    toc: list[TocEntry] | None = None
    headings: list[Heading] | None = None
    error: str | None = None
    did_you_mean: list[dict[str, str]] | None = None
    candidates: list[dict[str, str]] | None = None


class Batch(Struct, frozen=True):
    """Several entries, in the order asked for; `omitted` of the last ones did not fit the budget."""

    results: list[BatchRow]
    succeeded: int
    failed: int
    omitted: int = 0


def fit_batch(rows: Sequence[BatchRow], budget: int | None) -> Batch:
    """Return rows as a batch; with a budget, each gets an equal share, and what one does not need is for the others."""
    batch = _to_batch(rows, [None] * len(rows))
    room = float(budget or 0)
    for _ in range(_ROUNDS):
        cost = json_cost(batch)
        if budget is None or cost <= budget:
            return batch
        batch = _to_batch(rows, _share_room(rows, room))
        room -= max(0.0, json_cost(batch) - budget)
    return batch


def _share_room(rows: Sequence[BatchRow], room: float) -> list[float | None]:
    """Return how many tokens the body of each row may have; the list ends with the rows that there is room for."""
    frames = [json_cost(_without_body(row)) for row in rows]
    room -= json_cost(Batch([], len(rows), len(rows), len(rows)))
    count = len(rows)
    while count > 1 and sum(frames[:count]) + _MIN_ROW_TOKENS * count > room:
        count -= 1
    left = room - sum(frames[:count])
    needs = {number: json_cost(rows[number]) - frames[number] for number in range(count)}
    shares: list[float | None] = [0.0] * count
    for position, number in enumerate(sorted(needs, key=lambda number: needs[number])):
        shares[number] = min(needs[number], max(0.0, left) / (count - position))
        left -= shares[number] or 0.0
    return shares


def _without_body(row: BatchRow) -> BatchRow:
    empty = {
        name: type(value)() for name in ("content", "toc", "headings") if (value := getattr(row, name)) is not None
    }
    return msgspec.structs.replace(row, characters=None, lead=None, place=None, **empty)


def _to_batch(rows: Sequence[BatchRow], shares: Sequence[float | None]) -> Batch:
    results = [_shorten(row, share) for row, share in zip(rows, shares, strict=False)]
    succeeded = sum(row.success for row in rows)
    return Batch(results, succeeded, len(rows) - succeeded, len(rows) - len(results))


def _shorten(row: BatchRow, share: float | None) -> BatchRow:
    """Return a row whose body has at most a share of tokens, None being all of it."""
    if row.toc is not None:
        return row if share is None else msgspec.structs.replace(row, toc=take_headings(row.toc, share))
    if row.headings is not None:
        return row if share is None else msgspec.structs.replace(row, headings=take_rows(row.headings, share))
    if row.content is None:
        return row
    whole = msgspec.structs.replace(row, characters=None, lead=None, place=None)
    if row.characters is None:
        text = row.content if share is None else truncate_json(row.content, share)
        return msgspec.structs.replace(whole, content=text, truncated=len(text) < len(row.content))
    text, stop = _cut_text(row, row.content, row.characters, share)
    is_cut = stop < row.characters or row.place
    line = f"\n\n{continuation_line(stop, row.characters, row.place or '')}" if is_cut else ""
    return msgspec.structs.replace(whole, content=text + line)


def _cut_text(row: BatchRow, text: str, total: int, share: float | None) -> tuple[str, int]:
    """Return the text of a row that fits, and where it stops; the lead alone is no start of the text."""
    if share is None or json_cost(text) <= share:
        return text, len(text)
    room = share - json_cost(f"\n\n{continuation_line(total, total)}")
    start = truncate_json(text, room)
    if row.lead and not row.note and row.lead[-_LEAD_END_CHARS:] not in start:
        return truncate_json(row.lead, room), 0
    return start, len(start)

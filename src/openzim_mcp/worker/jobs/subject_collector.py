"""Collect what the pages of an archive are about, while a job reads all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from openzim_mcp.worker.readers.subject import extract_coordinates, extract_item
from openzim_mcp.worker.search import subject_index

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from openzim_mcp.calls.archive import ScanPages
    from openzim_mcp.worker.document import Coordinates
    from openzim_mcp.worker.entry_numbers import EntryNumbers
    from openzim_mcp.worker.zim import Archive


class SubjectCollector:
    """Collects where on Earth the subjects of pages are, and which items of Wikidata."""

    schema: ClassVar[str] = subject_index.SCHEMA

    def __init__(
        self, _archive: Archive, _numbers: EntryNumbers, database: sqlite3.Connection, _job: ScanPages
    ) -> None:
        self._database = database
        self._places: list[tuple[int, Coordinates]] = []
        self._items: list[tuple[int, int]] = []

    def add(self, entry_id: int, _path: str, raw: bytes) -> None:
        """Take a page."""
        place = extract_coordinates(raw)
        if place is not None:
            self._places.append((entry_id, place))
        item = extract_item(raw)
        if item is not None:
            self._items.append((item, entry_id))

    def save(self) -> None:
        """Write what is held in memory into the tables."""
        subject_index.add_places(self._database, self._places)
        subject_index.add_items(self._database, self._items)
        self._places, self._items = [], []

    def finish(self, commit: Callable[[], None]) -> None:
        """Do nothing: all that is known was saved."""

"""Collect what the pages of an archive are about, while a job reads all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.worker.readers.subject import extract_coordinates
from openzim_mcp.worker.search.subject_index import Subjects

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive


class SubjectCollector:
    """Collects the places of an archive, and writes their index when all pages were read."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._subjects = Subjects()

    def add(self, entry: int, _path: str, _title: str, raw: bytes) -> None:
        """Add the page with that number."""
        place = extract_coordinates(raw)
        if place is not None:
            self._subjects.add_place(entry, place)

    def finish(self) -> None:
        """Write the index, or raise `OSError` or `sqlite3.Error`."""
        self._subjects.write(self._archive.identity, self._archive.uuid)

"""Which archives of a catalogue are here, and which of those that are here have a newer edition."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openzim_mcp.catalog.search import newest
from openzim_mcp.library.names import split_date
from openzim_mcp.zimfile import NotAZim, RawFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.catalog.catalog import Catalogue, Entry
    from openzim_mcp.zimfile import ArchiveFile

State = Literal["installed", "outdated", "absent"]


@dataclass(frozen=True)
class Held:
    """An archive that is here: the base and the date of its name, and its UUID."""

    file: ArchiveFile
    base: str
    date: str
    uuid: str

    def is_edition_of(self, entry: Entry) -> bool:
        """Return whether this is that archive, of whatever date."""
        return self.base.casefold() == entry.base.casefold()

    def is_older_than(self, entry: Entry) -> bool:
        """Return whether the entry is a newer edition of this.

        Without a date in its name only the very same archive counts as up to date.
        """
        return (
            self.is_edition_of(entry) and self.uuid != entry.id and self.date < entry.edition[: len(self.date) or None]
        )


@dataclass(frozen=True)
class Update:
    """An archive that is here, and its newer edition."""

    old: Held
    new: Entry

    @property
    def name(self) -> str | None:
        """What the new file is to be called: an undated name stays, as others may rely on it."""
        return self.new.file if self.old.date else os.path.basename(self.old.file.path)


def held(archives: Iterable[ArchiveFile]) -> list[Held]:
    """Describe the archives of a library of files."""
    return [_describe(archive) for archive in archives]


def _describe(archive: ArchiveFile) -> Held:
    stem = os.path.basename(archive.path).rpartition(".")[0]
    try:
        uuid = RawFile(archive.parts).header().uuid
    except (NotAZim, OSError):
        uuid = ""
    return Held(archive, *split_date(stem), uuid)


def state(entry: Entry, here: Sequence[Held]) -> State:
    """Return whether an archive of the catalogue is here, or only an older edition of it."""
    same = [one for one in here if one.is_edition_of(entry) or (entry.id and one.uuid == entry.id)]
    if not same:
        return "absent"
    return "outdated" if all(one.is_older_than(entry) for one in same) else "installed"


def updates(catalogue: Catalogue, here: Sequence[Held]) -> list[Update]:
    """Return the archives that have a newer edition which is not here yet, each once."""
    current = [entry for entry in newest(catalogue.entries) if entry.file and state(entry, here) == "outdated"]
    return [
        Update(old, entry)
        for entry in current
        for old in sorted((one for one in here if one.is_older_than(entry)), key=lambda one: one.date)[-1:]
    ]

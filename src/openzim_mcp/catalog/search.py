"""Finding archives in a catalogue: by words and limits, or the one that a name means."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openzim_mcp import errors
from openzim_mcp.catalog.client import host
from openzim_mcp.languages import three_letter_code
from openzim_mcp.library.names import split_date
from openzim_mcp.text import closest, normalize, safe_line
from openzim_mcp.zimfile import NotAZim, RawFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.catalog.catalog import Catalogue, Entry
    from openzim_mcp.zimfile import ArchiveFile

FLAVOURS = {
    "": "everything",
    "mini": "introductions only",
    "nopic": "text, no pictures",
    "maxi": "text and pictures",
    "novid": "all but videos",
    "nodet": "introductions only",
}
_LISTED = 10
State = Literal["installed", "outdated", "absent"]


@dataclass(frozen=True)
class Wish:
    """What an archive should be; what is None or empty does not matter."""

    words: Sequence[str] = ()
    language: str | None = None
    category: str | None = None
    flavour: str | None = None
    max_size: int | None = None


def explain(flavour: str) -> str:
    """Return in words what a flavour means."""
    return FLAVOURS.get(flavour.lower(), flavour)


def newest(entries: Iterable[Entry]) -> list[Entry]:
    """Return of each archive its newest edition."""
    found: dict[str, Entry] = {}
    for entry in entries:
        known = found.get(entry.base)
        if known is None or (entry.edition, entry.date) > (known.edition, known.date):
            found[entry.base] = entry
    return list(found.values())


def search(catalogue: Catalogue, wish: Wish) -> list[Entry]:
    """Return the newest edition of each archive that is as wished: those named by the words first, small ones first."""
    words = [normalize(word) for given in wish.words for word in given.split()]
    found = [entry for entry in newest(catalogue.entries) if _fits(entry, wish, words)]
    return sorted(found, key=lambda entry: (not _named(entry, words), entry.name, entry.size or 0))


def _fits(entry: Entry, wish: Wish, words: Sequence[str]) -> bool:
    text = normalize(f"{entry.base} {entry.name} {entry.title} {entry.summary} {entry.category}")
    return (
        all(word in text for word in words)
        and (wish.language is None or three_letter_code(wish.language) in entry.languages)
        and (wish.category is None or wish.category.casefold() == entry.category.casefold())
        and (wish.flavour is None or wish.flavour.casefold() == entry.flavour.casefold())
        and (wish.max_size is None or (entry.size is not None and entry.size <= wish.max_size))
    )


def _named(entry: Entry, words: Sequence[str]) -> bool:
    return all(word in normalize(f"{entry.base} {entry.title}") for word in words)


def choose(catalogue: Catalogue, name: str, flavour: str | None = None) -> Entry:
    """Return the archive that is meant by the name of its file, with or without date, or by its name and flavour.

    Raise `NotInCatalog` when there is none, several, or one that cannot be downloaded.
    """
    wanted = normalize(name.strip()).removesuffix(".zim")
    exact = [entry for entry in catalogue.entries if normalize(entry.file or "").removesuffix(".zim") == wanted]
    current = newest(catalogue.entries)
    base = split_date(wanted)[0]
    rows = (exact, [e for e in current if normalize(e.base) == base], [e for e in current if normalize(e.name) == base])
    found = next((row for row in rows if row), [])
    if flavour is not None:
        found = [entry for entry in found if entry.flavour.casefold() == flavour.casefold()] or found
    if len(found) != 1:
        raise _several(name, found) if found else _missing(catalogue, name, current)
    if not found[0].file:
        raise errors.NotInCatalog(
            f"{host(catalogue.library)} knows {found[0].base!r}, and does not say where its file is.",
            hint="A kiwix-serve shows archives without offering their files; use the library they came from.",
        )
    return found[0]


def _several(name: str, found: Sequence[Entry]) -> errors.NotInCatalog:
    bases = [entry.base for entry in sorted(found, key=lambda entry: entry.size or 0)]
    return errors.NotInCatalog(
        f"{safe_line(name, 100)!r} comes in several flavours: {', '.join(bases[:_LISTED])}.",
        hint=f"Name one of them, for example {bases[0]}.",
        did_you_mean=bases[:_LISTED],
    )


def _missing(catalogue: Catalogue, name: str, current: Sequence[Entry]) -> errors.NotInCatalog:
    names = [entry.base for entry in current]
    close = closest(name, names) or [n for n in names if normalize(name) in normalize(n)]
    hint = f"Did you mean {' or '.join(close[:3])}?" if close else "Find its name with: openzim-mcp catalog WORDS"
    return errors.NotInCatalog(
        f"{host(catalogue.library)} has no archive {safe_line(name, 100)!r}.", hint=hint, did_you_mean=close[:3]
    )


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

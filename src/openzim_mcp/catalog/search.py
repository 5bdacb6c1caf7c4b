"""Search a catalog: by words and filters, by name, and for what is installed or has a newer edition."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openzim_mcp import errors
from openzim_mcp.catalog.client import display_host
from openzim_mcp.languages import three_letter_code
from openzim_mcp.library.names import split_date
from openzim_mcp.text import closest, normalize, safe_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.catalog.catalog import Catalog, CatalogEntry
    from openzim_mcp.zimfile import ArchiveFile

FLAVOURS = {
    "": "everything",
    "mini": "introductions only",
    "nopic": "text, no pictures",
    "maxi": "text and pictures",
    "novid": "all but videos",
    "nodet": "introductions only",
}
InstallState = Literal["installed", "outdated", "absent"]
_MAX_NAMES_IN_ERRORS = 10
_MAX_SUGGESTIONS = 3


@dataclass(frozen=True)
class Filter:
    """Which archives to list; an empty field or None matches every archive."""

    words: Sequence[str] = ()
    language: str | None = None
    category: str | None = None
    flavour: str | None = None
    max_size: int | None = None


def describe_flavour(flavour: str) -> str:
    """Return what an archive of this flavour contains."""
    return FLAVOURS.get(flavour.lower(), flavour)


def newest_entries(entries: Iterable[CatalogEntry]) -> list[CatalogEntry]:
    """Return the newest edition of each archive."""
    newest: dict[str, CatalogEntry] = {}
    for entry in entries:
        previous = newest.get(entry.base_name)
        if previous is None or (entry.edition, entry.date) > (previous.edition, previous.date):
            newest[entry.base_name] = entry
    return list(newest.values())


def search_catalog(catalog: Catalog, filters: Filter) -> list[CatalogEntry]:
    """Return the newest edition of each matching archive: with the words in its name first, then by name and size."""
    words = [word for text in filters.words for word in normalize(text).split()]
    entries = [entry for entry in newest_entries(catalog.entries) if _matches_filter(entry, filters, words)]
    return sorted(entries, key=lambda entry: (not _name_has_words(entry, words), entry.name, entry.size or 0))


def _matches_filter(entry: CatalogEntry, filters: Filter, words: Sequence[str]) -> bool:
    text = normalize(f"{entry.base_name} {entry.name} {entry.title} {entry.summary} {entry.category}")
    return (
        all(word in text for word in words)
        and (filters.language is None or three_letter_code(filters.language) in entry.languages)
        and (filters.category is None or filters.category.casefold() == entry.category.casefold())
        and (filters.flavour is None or filters.flavour.casefold() == entry.flavour.casefold())
        and (filters.max_size is None or (entry.size is not None and entry.size <= filters.max_size))
    )


def _name_has_words(entry: CatalogEntry, words: Sequence[str]) -> bool:
    text = normalize(f"{entry.base_name} {entry.title}")
    return all(word in text for word in words)


def find_entry(catalog: Catalog, name: str, flavour: str | None = None) -> CatalogEntry:
    """Return the archive of a name: its file name with or without date, or its name in the catalog and a flavour.

    Raise `NotInCatalog` if there is none, if there are several, or if it cannot be downloaded.
    """
    matches = _entries_by_name(catalog, name)
    if flavour is not None:
        matches = [entry for entry in matches if entry.flavour.casefold() == flavour.casefold()] or matches
    if not matches:
        raise _unknown_name(catalog, name)
    if len(matches) > 1:
        raise _ambiguous_name(name, matches)
    if not matches[0].file_name:
        raise errors.NotInCatalog(
            f"{display_host(catalog.library)} lists {matches[0].base_name!r} without a usable URL for its file.",
            hint="A kiwix-serve may list archives without offering their files; use the library that they came from.",
        )
    return matches[0]


def _entries_by_name(catalog: Catalog, name: str) -> list[CatalogEntry]:
    """Return the entries with this file name; if there are none, the newest with this base name, then this name."""
    name = normalize(name.strip()).removesuffix(".zim")
    base_name = split_date(name)[0]
    newest = newest_entries(catalog.entries)
    return (
        [entry for entry in catalog.entries if normalize(entry.file_name or "").removesuffix(".zim") == name]
        or [entry for entry in newest if normalize(entry.base_name) == base_name]
        or [entry for entry in newest if normalize(entry.name) == base_name]
    )


def _ambiguous_name(name: str, matches: Sequence[CatalogEntry]) -> errors.NotInCatalog:
    base_names = [entry.base_name for entry in sorted(matches, key=lambda entry: entry.size or 0)]
    base_names = base_names[:_MAX_NAMES_IN_ERRORS]
    return errors.NotInCatalog(
        f"{safe_line(name, 100)!r} comes in several flavours: {', '.join(base_names)}.",
        hint=f"Name one of them, for example {base_names[0]}.",
        did_you_mean=base_names,
    )


def _unknown_name(catalog: Catalog, name: str) -> errors.NotInCatalog:
    base_names = [entry.base_name for entry in newest_entries(catalog.entries)]
    containing = (base_name for base_name in base_names if normalize(name) in normalize(base_name))
    suggestions = (closest(name, base_names) or list(containing))[:_MAX_SUGGESTIONS]
    hint = f"Did you mean {' or '.join(suggestions)}?" if suggestions else "Search with: openzim-mcp catalog WORDS"
    return errors.NotInCatalog(
        f"{display_host(catalog.library)} has no archive {safe_line(name, 100)!r}.", hint=hint, did_you_mean=suggestions
    )


@dataclass(frozen=True)
class InstalledArchive:
    """An archive on this machine, with its base name and date."""

    file: ArchiveFile
    base_name: str
    date: str

    def is_edition_of(self, entry: CatalogEntry) -> bool:
        """Return whether this is the entry's archive, of any date."""
        return self.base_name.casefold() == entry.base_name.casefold()

    def is_older_than(self, entry: CatalogEntry) -> bool:
        """Return whether the entry is a newer edition.

        An archive without a date in its name is up to date only if it has the entry's UUID.
        """
        entry_date = entry.edition[: len(self.date) or None]
        return self.is_edition_of(entry) and self.file.uuid != entry.id and self.date < entry_date


@dataclass(frozen=True)
class Update:
    """An installed archive and its newer edition."""

    old: InstalledArchive
    new: CatalogEntry

    @property
    def file_name(self) -> str | None:
        """The name of the new file; a name without a date stays, as other programs may use it."""
        return self.new.file_name if self.old.date else os.path.basename(self.old.file.path)


def describe_installed(archives: Iterable[ArchiveFile]) -> list[InstalledArchive]:
    """Return the base names and dates of archives."""
    return [_describe_archive(archive) for archive in archives]


def _describe_archive(archive: ArchiveFile) -> InstalledArchive:
    stem = os.path.basename(archive.path).rpartition(".")[0]
    return InstalledArchive(archive, *split_date(stem))


def install_state(entry: CatalogEntry, installed: Sequence[InstalledArchive]) -> InstallState:
    """Return whether an archive is installed, or only an older edition of it."""
    editions = [archive for archive in installed if archive.is_edition_of(entry) or _has_same_uuid(archive, entry)]
    if not editions:
        return "absent"
    return "outdated" if all(archive.is_older_than(entry) for archive in editions) else "installed"


def _has_same_uuid(archive: InstalledArchive, entry: CatalogEntry) -> bool:
    return bool(entry.id) and archive.file.uuid == entry.id


def find_updates(catalog: Catalog, installed: Sequence[InstalledArchive]) -> list[Update]:
    """Return the installed archives that have a newer edition, each once, with the newest installed one as `old`."""
    updates = []
    for entry in newest_entries(catalog.entries):
        if entry.file_name and install_state(entry, installed) == "outdated":
            older = [archive for archive in installed if archive.is_older_than(entry)]
            updates.append(Update(max(older, key=lambda archive: archive.date), entry))
    return updates

"""Names of archives (`wikipedia_en_all_maxi_2026-01`): unique names, editions, the archive that a caller means."""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.text import closest, safe_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from openzim_mcp.zimfile import ArchiveFile

# A letter after the date tells editions of one month apart: 2026-01a.
_DATED_NAME = re.compile(r"(?P<base>.+)_(?P<date>\d{4}-\d{2}(?:-\d{2})?[a-z]?)")
_EXTENSION = re.compile(r"\.zim(aa)?$", re.IGNORECASE)


def split_date(name: str) -> tuple[str, str]:
    """Split a name, without `.zim`, into its base name and its date, which is empty where it has none."""
    match = _DATED_NAME.fullmatch(name)
    return (match["base"], match["date"]) if match else (name, "")


def newest_editions(names: Iterable[str]) -> dict[str, str]:
    """Return the newest of the names that differ only by their date, by the base name in lower case."""
    splits = ((name, *split_date(name)) for name in sorted(names))
    return {base.casefold(): name for name, base, date in splits if date}


def candidate_names(path: str) -> Iterator[str]:
    """Yield names for the archive at a path, the plainest first, until one is free."""
    directory, file = os.path.split(path)
    base = safe_line(_EXTENSION.sub("", file), 200)
    yield base
    folder = safe_line(os.path.basename(directory), 100)
    yield f"{base}@{folder}"
    yield from (f"{base}@{folder}~{number}" for number in itertools.count(2))


def match_archive(archives: Sequence[ArchiveFile], reference: str | None) -> ArchiveFile | None:
    """Return the archive that a caller means; without a reference, the only one, or the only one that can be opened.

    A reference is a path, a name with or without `.zim`, a display path, a base name, which is the newest edition, or
    the start of a name.
    """
    if not reference:
        usable = [archive for archive in archives if not archive.problem] or archives
        return usable[0] if len(usable) == 1 else None
    if os.path.isabs(reference):
        path = os.path.normpath(reference)
        return next((archive for archive in archives if path in {archive.path, archive.parts[0]}), None)
    name = _EXTENSION.sub("", reference.strip().removeprefix("..."))
    by_name = {archive.name: archive for archive in archives}
    if name in by_name:
        return by_name[name]
    for archive in archives:
        if archive.name.casefold() == name.casefold():
            return archive
    newest = newest_editions(by_name).get(name.casefold())
    if newest:
        return by_name[newest]
    beginning = names_starting_with(archives, name)
    return beginning[0] if len(beginning) == 1 else None


def newest_of_each(archives: Sequence[ArchiveFile], names: Collection[str]) -> list[ArchiveFile]:
    """Return the archives of these names; of editions that differ only by their date, the newest."""
    newest = newest_editions(names)
    return [
        archive
        for archive in archives
        if archive.name in names and newest.get(split_date(archive.name)[0].casefold(), archive.name) == archive.name
    ]


def names_starting_with(archives: Sequence[ArchiveFile], start: str) -> list[ArchiveFile]:
    """Return the archives whose names start with a text, up to the end of a word; of editions the newest."""
    key = start.casefold()
    names = [a.name for a in archives if key and a.name.casefold().startswith(key)]
    whole_words = [name for name in names if not name[len(key) : len(key) + 1].isalnum()]
    return newest_of_each(archives, whole_words or names)


def match_title(archives: Sequence[ArchiveFile], titles: Mapping[str, str], reference: str) -> ArchiveFile | None:
    """Return the only archive with a title: as it is written or, unless names start so, in any case."""
    keys = (str,) if names_starting_with(archives, reference) else (str, str.casefold)
    for key in keys:
        wanted = key(reference.strip())
        matches = newest_of_each(archives, [name for name, title in titles.items() if key(title) == wanted])
        if len(matches) == 1:
            return matches[0]
    return None


def archive_not_found(archives: Sequence[ArchiveFile], reference: str | None) -> errors.ArchiveNotFound:
    """Return the error for an unknown reference, or for a missing one if there are several archives."""
    if not archives:
        return errors.ArchiveNotFound(
            "There are no archives.", hint="Put a .zim file into a served directory; it is found at once."
        )
    hint = "Use one of the names in available_archives."
    if not reference:
        message = f"{len(archives)} archives are served; say which one (zim_file_path)."
        return _listing(errors.ArchiveNotFound(message, hint=hint), archives)
    name = safe_line(os.path.basename(reference), 100)
    beginning = names_starting_with(archives, _EXTENSION.sub("", reference))
    if beginning:
        message = f"{len(beginning)} archives have names that start with {name!r}."
        return _listing(errors.ArchiveNotFound(message, hint=hint), beginning)
    similar = closest(_EXTENSION.sub("", name), (archive.name for archive in archives), cutoff=0.5)
    error = errors.ArchiveNotFound(
        f"No archive {name!r} in the served directories.",
        hint=f"Did you mean {similar[0]!r}?" if similar else hint,
        **({"did_you_mean": similar} if similar else {}),
    )
    return _listing(error, archives)


def _listing(error: errors.ArchiveNotFound, archives: Sequence[ArchiveFile]) -> errors.ArchiveNotFound:
    error.details["total_archives"] = len(archives)
    return error.with_list("available_archives", [archive.file_name for archive in archives])

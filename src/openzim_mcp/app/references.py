"""References: from what a caller wrote (a path, a title, a `zim://` URI, a URL of the original site) to its archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import addresses, errors, uris
from openzim_mcp.app.routing import route_entry, route_titles
from openzim_mcp.calls.reading import FindClosestTitle, LocatedEntry, LocateEntry
from openzim_mcp.library.names import newest_of_each
from openzim_mcp.text import closest, safe_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.zimfile import ArchiveFile

_MAX_CLOSEST = 3
_MAX_REFERENCE_CHARS = 100


async def locate_entry(app: App, reference: str, name: str | None) -> tuple[ArchiveFile, str]:
    """Return the archive that has an entry, and what to ask it for; without a name, all archives are looked in.

    A URI names its archive, whatever else is named, and so does a URL of the reader; the URI of an archive means its
    main page.
    """
    reference = await from_reader_url(app, reference)
    uri = uris.parse_uri(reference.strip())
    if uri is not None and uri.name is not None:
        archive = await find_archive_of_uri(app, uri)
        return archive, reference if uri.path else await main_path(app, archive)
    if name:
        return await app.find_archive(name), reference
    archives = await app.usable_archives()
    if len(archives) > 1:
        return await _find_holder(app, reference, archives), reference
    return await app.find_archive(None), reference


async def from_reader_url(app: App, reference: str) -> str:
    """Return the URI of what a URL of the reader shows, if there is its archive; any other reference unchanged."""
    try:
        place = addresses.parse_reader_url(reference) if uris.is_web_url(reference) else None
        archive = await app.find_archive(place[0]) if place else None
    except (errors.ArchiveNotFound, ValueError):  # urlsplit refuses some texts
        return reference
    if place is None or archive is None:
        return reference
    return uris.entry_uri(archive.name, place[1]) + (f"#{place[2]}" if place[2] else "")


async def find_archive_of_uri(app: App, uri: uris.ZimUri) -> ArchiveFile:
    """Return the archive that a URI names, however the client escaped its name."""
    *others, last = uri.name_candidates
    for name in others:
        try:
            return await app.find_archive(name)
        except errors.ArchiveNotFound:
            continue
    return await app.find_archive(last)


async def main_path(app: App, archive: ArchiveFile) -> str:
    """Return the path of the main page."""
    path = (await app.describe(archive)).main_path
    if path is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no main page.", hint="zim_browse lists its entries; zim_metadata describes it."
        )
    return path


async def _find_holder(app: App, reference: str, archives: Sequence[ArchiveFile]) -> ArchiveFile:
    """Return the only archive that has an entry; if none has it, the only one with an entry of nearly that title."""
    holders = await find_holders(app, reference, archives)
    if len(holders) == 1:
        return holders[0][0]
    shown = safe_line(reference, _MAX_REFERENCE_CHARS)
    if holders:
        error = errors.AmbiguousEntry(
            f"{len(holders)} archives have {shown!r}.", hint="Ask for the uri of one of them, or name the archive."
        )
        raise error.with_list("candidates", [uri_row(archive, entry) for archive, entry in holders])
    if uris.is_web_url(reference):
        raise errors.EntryNotFound(f"No archive here has the page {shown!r}.", hint="Ask for it by title, or search.")
    return await _find_closest_holder(app, reference, archives)


async def find_holders(
    app: App, reference: str, archives: Sequence[ArchiveFile]
) -> list[tuple[ArchiveFile, LocatedEntry]]:
    """Return the archives that have an entry, of editions the newest, and the entry in each; the fullest first.

    Of many, those are asked that have most words of its title; the others if these do not have it.
    """
    asked = archives if uris.is_web_url(reference) else await route_entry(app, archives, reference)
    entries = await _locate(app, reference, asked)
    if not entries and len(asked) < len(archives):
        entries = await _locate(app, reference, [archive for archive in archives if archive not in asked])
    holders = [(archive, entries[archive.name]) for archive in newest_of_each(archives, entries)]
    return sorted(holders, key=lambda holder: -holder[1].size)


async def _locate(app: App, reference: str, archives: Sequence[ArchiveFile]) -> dict[str, LocatedEntry]:
    outcomes = await app.workers.call_each(archives, LocateEntry(reference))
    return {name: entry for name, entry in outcomes.results.items() if entry}


async def _find_closest_holder(app: App, reference: str, archives: Sequence[ArchiveFile]) -> ArchiveFile:
    asked = await route_titles(app, archives, [reference])
    outcomes = await app.workers.call_each(asked, FindClosestTitle(reference))
    holders = newest_of_each(archives, [name for name, result in outcomes.results.items() if result.path])
    if len(holders) == 1:
        return holders[0]
    by_name = {archive.name: archive for archive in archives}
    rows = [(by_name[name], entry) for name, result in outcomes.results.items() for entry in result.did_you_mean]
    raise entry_not_found(reference, rows)


def entry_not_found(
    reference: str, rows: Sequence[tuple[ArchiveFile, LocatedEntry]], message: str = ""
) -> errors.EntryNotFound:
    """Return the error for an entry that no archive has, with the entries of the closest titles."""
    by_title: Mapping[str, tuple[ArchiveFile, LocatedEntry]] = {entry.title: (a, entry) for a, entry in reversed(rows)}
    titles = closest(reference, by_title, limit=_MAX_CLOSEST, cutoff=0.0)
    error = errors.EntryNotFound(
        message or f"No archive has an entry {safe_line(reference, _MAX_REFERENCE_CHARS)!r}.",
        hint=f"The closest titles: {', '.join(titles)}." if titles else "Search for it in other words.",
    )
    return error.with_list("did_you_mean", [uri_row(*by_title[title]) for title in titles])


def uri_row(archive: ArchiveFile, entry: LocatedEntry) -> dict[str, str]:
    """Return an entry as errors list it."""
    return {"title": safe_line(entry.title, _MAX_REFERENCE_CHARS), "uri": uris.entry_uri(archive.name, entry.path)}

"""Find the entry for a path, title, URL or `zim://` URI: the spellings of a path, with and without namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from openzim_mcp import errors
from openzim_mcp.calls.reading import LocatedEntry
from openzim_mcp.text import safe_line
from openzim_mcp.uris import is_web_url, is_zim_uri, parse_uri
from openzim_mcp.worker.reading import sites

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.calls.reading import LocateEntry
    from openzim_mcp.worker.zim import Archive, Item

# Articles are in namespace A in archives older than 2021 and in C since; a caller need not know which.
ARTICLE_NAMESPACES = {"A": "C", "C": "A"}
_NAMESPACE_PREFIXES = ("A/", "C/", "I/", "-/")


def resolve_entry(archive: Archive, requested: str) -> Item | None:
    """Return the entry that a path, title, URL of the original site or `zim://` URI means. Asks no index."""
    place = _find_place(archive, requested)
    return place[0] if place else None


def require_entry(archive: Archive, requested: str) -> Item:
    """Return the same, or raise `EntryNotFound`."""
    return require_place(archive, requested)[0]


def require_place(archive: Archive, requested: str) -> tuple[Item, str]:
    """Return the entry, and the fragment that names a part of it; or raise `EntryNotFound`."""
    place = _find_place(archive, requested)
    if place is not None:
        return place
    name = safe_line(requested, 200)
    if not is_web_url(requested):
        raise errors.EntryNotFound(
            f"{archive.name!r} has no entry {name!r}.",
            hint="Check the path or the title; zim_browse lists what there is.",
        )
    hosts = sites.site_hosts(archive)
    hint = f"Its pages are of {', '.join(hosts)}." if hosts else "Ask for the page by its title."
    raise errors.EntryNotFound(f"{archive.name!r} has no page {name!r}.", hint=hint)


def locate_entry(archive: Archive, call: LocateEntry) -> LocatedEntry | None:
    """Return the entry that a reference means, or None; a URL must be of the site that the archive holds."""
    place = _find_place(archive, call.path, is_strict=True)
    return LocatedEntry(place[0].path, place[0].title, place[0].size, place[0].mime_type) if place else None


def _find_place(archive: Archive, requested: str, *, is_strict: bool = False) -> tuple[Item, str] | None:
    """Return an entry and a fragment; a path that holds a `#` itself wins over a fragment."""
    for reference, fragment in _split_fragment(requested):
        for spelling in _entry_spellings(archive, reference, is_strict=is_strict):
            item = find_path(archive, spelling) or archive.find_by_title(spelling)
            if item is not None:
                return item, fragment
    return None


def _split_fragment(requested: str) -> Iterator[tuple[str, str]]:
    before, mark, fragment = requested.rpartition("#")
    if not mark or not is_web_url(requested):
        yield requested, ""
    if mark and before.strip():
        yield before, unquote(fragment).strip()


def is_same_path(requested: str, path: str) -> bool:
    """Return whether a reference names a path as it is, if only as a `zim://` URI or with a fragment."""
    return any(path in {reference, entry_name(reference)} for reference, _ in _split_fragment(requested))


def find_path(archive: Archive, path: str) -> Item | None:
    """Return the item at a path, or None; archives older than 2021 have `C/x` and `x` as `A/x`."""
    item = archive.find_entry(path)
    if item is None and not archive.has_new_scheme:
        return archive.find_entry(f"A/{path.removeprefix('C/')}")
    return item


def find_first_path(archive: Archive, paths: Iterable[str]) -> Item | None:
    """Return the item at the first of some paths that exists, or at one of them without its namespace."""
    paths = list(paths)
    bare = [path[len(prefix) :] for path in paths for prefix in _NAMESPACE_PREFIXES if path.startswith(prefix)]
    spellings = [path for path in dict.fromkeys([*paths, *bare]) if path]
    return next((item for path in spellings if (item := find_path(archive, path))), None)


def find_link_target(archive: Archive, target: str) -> Item | None:
    """Return the entry that a resolved link leads to, or None if the archive does not have it."""
    without_query = target.partition("?")[0]
    for path in dict.fromkeys((target, unquote(target), without_query, unquote(without_query))):
        try:
            item = find_path(archive, path) if path else None
        except errors.OpenZimMcpArchiveError:
            return None
        if item is not None:
            return item
    return None


def prefix_spellings(prefix: str) -> list[str]:
    """Return the start of a path as it is typed, and as paths are usually written."""
    plain = [prefix, prefix.replace(" ", "_")]
    return [*plain, *(text[:1].upper() + text[1:] for text in plain)]


def _entry_spellings(archive: Archive, reference: str, *, is_strict: bool) -> Iterator[str]:
    """Yield the paths and titles that a reference may mean, the likeliest first."""
    yielded: set[str] = set()
    for form in _reference_forms(archive, reference, is_strict=is_strict):
        for prefix in ("", *_NAMESPACE_PREFIXES):
            bare = form.removeprefix(prefix)
            for variant in (bare, bare.replace(" ", "_"), bare.replace("_", " "), bare[:1].upper() + bare[1:]):
                for spelling in (variant, variant[:1].upper() + variant[1:].replace(" ", "_")):
                    if spelling and spelling not in yielded:
                        yielded.add(spelling)
                        yield spelling


def _reference_forms(archive: Archive, reference: str, *, is_strict: bool) -> Iterator[str]:
    if is_web_url(reference):
        yield from sites.page_names(archive, reference)
        # Where nothing tells which site an archive holds, a caller who names it may be right.
        if is_strict or sites.site_hosts(archive):
            return
    name = entry_name(reference)
    yield from (reference, name, unquote(name))
    if sites.may_lack_scheme(reference):
        yield from sites.page_names(archive, reference)


def entry_name(reference: str) -> str:
    """Return the part of a URL or URI that names the entry; a path without `./` and `/` before it."""
    text = reference.strip()
    if is_zim_uri(text):
        uri = parse_uri(text)
        return uri.path_candidates[0] if uri else ""
    if is_web_url(text):
        return unquote(sites.split_url(text).path.strip("/").rpartition("/")[2])
    return text.removeprefix("./").lstrip("/")

"""Find the entry for a path, title, URL or `zim://` URI: the spellings of a path, with and without namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from openzim_mcp import errors
from openzim_mcp.text import safe_line
from openzim_mcp.uris import is_zim_uri, parse_uri

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.worker.zim import Archive, Item

# Articles are in namespace A in archives older than 2021 and in C since; a caller need not know which.
ARTICLE_NAMESPACES = {"A": "C", "C": "A"}
_NAMESPACE_PREFIXES = ("A/", "C/", "I/", "-/")


def resolve_entry(archive: Archive, requested: str) -> Item | None:
    """Return the entry that a path, title, URL of the original site or `zim://` URI means. Asks no index."""
    for spelling in _entry_spellings(requested):
        item = find_path(archive, spelling) or archive.find_by_title(spelling)
        if item is not None:
            return item
    return None


def require_entry(archive: Archive, requested: str) -> Item:
    """Return the same, or raise `EntryNotFound`."""
    item = resolve_entry(archive, requested)
    if item is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no entry {safe_line(requested, 200)!r}.",
            hint="Check the path or the title; zim_browse lists what there is.",
        )
    return item


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


def _entry_spellings(requested: str) -> Iterator[str]:
    """Yield the paths and titles that a request may mean, the likeliest first."""
    yielded: set[str] = set()
    name = entry_name(requested)
    without_fragment = name.partition("#")[0]
    for form in (requested, name, unquote(name), without_fragment, unquote(without_fragment)):
        for prefix in ("", *_NAMESPACE_PREFIXES):
            bare = form.removeprefix(prefix)
            for variant in (bare, bare.replace(" ", "_"), bare.replace("_", " "), bare[:1].upper() + bare[1:]):
                for spelling in (variant, variant[:1].upper() + variant[1:].replace(" ", "_")):
                    if spelling and spelling not in yielded:
                        yielded.add(spelling)
                        yield spelling


def entry_name(requested: str) -> str:
    """Return the part of a URL or URI that names the entry; a path without `./` and `/` before it."""
    text = requested.strip()
    if is_zim_uri(text):
        uri = parse_uri(text)
        return uri.path_candidates[0] if uri else ""
    parts = urlsplit(text)
    if parts.scheme in {"http", "https"} and parts.netloc:
        page = parts.path.lstrip("/") + (f"?{parts.query}" if parts.query else "")
        return unquote(page.removeprefix("wiki/")) if page.startswith("wiki/") else f"{parts.netloc}/{page}"
    return text.removeprefix("./").lstrip("/")

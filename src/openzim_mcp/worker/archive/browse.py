"""Listing the entries of an archive by namespace, or by folder inside one."""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openzim_mcp import cursors, errors
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive, Entry

TOOL = "zim_browse"
# Articles live in A in archives older than 2021 and in C since; a caller need not know which it has.
_SAME = {"A": "C", "C": "A"}
_LOOK_AT = 1000
_PAGES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True)
class Page:
    """Some entries of a namespace, by position."""

    archive: str
    namespace: str
    entries: list[Entry]
    total: int
    offset: int
    limit: int
    done: bool


@dataclass(frozen=True)
class Walk:
    """Some entries of a namespace in the order of their numbers, and where to go on."""

    archive: str
    namespace: str
    entries: list[Entry]
    total: int
    next_cursor: str | None
    done: bool


@dataclass(frozen=True)
class Beginnings:
    """Paths that begin alike; `total` is None where there are more than were looked at."""

    paths: list[str]
    total: int | None


def page(archive: Archive, namespace: str, offset: int, limit: int) -> Page:
    """Return `limit` entries of a namespace from `offset` on."""
    name, numbers = find_namespace(archive, namespace)
    chosen = numbers[offset : offset + limit]
    return Page(
        archive=archive.shown,
        namespace=name,
        entries=[archive.entry_at(number) for number in chosen],
        total=len(numbers),
        offset=offset,
        limit=limit,
        done=offset + limit >= len(numbers),
    )


def walk(archive: Archive, namespace: str, cursor: str | None, limit: int) -> Walk:
    """Return the next `limit` entries of a namespace; following the cursor visits each exactly once."""
    name, numbers = find_namespace(archive, namespace)
    start = cursors.position(TOOL, cursor, 0, archive.uuid, {"namespace": name})
    stop = start + limit
    done = stop >= len(numbers)
    request = {"zim_file_path": archive.name, "namespace": name, "limit": limit}
    return Walk(
        archive=archive.shown,
        namespace=name,
        entries=[archive.entry_at(number) for number in numbers[start:stop]],
        total=len(numbers),
        next_cursor=None if done else cursors.encode(TOOL, archive.uuid, stop, request),
        done=done,
    )


def find_namespace(archive: Archive, wanted: str) -> tuple[str, range]:
    """Return a namespace and the numbers of its entries; `wanted` may also name a folder, as in `C/questions`."""
    spaces = archive.namespaces
    letter, _, folder = wanted.strip().strip("/").partition("/")
    letter = letter.upper() if len(letter) == 1 else letter
    for candidate in (letter, _SAME.get(letter, letter)):
        if candidate in spaces and not folder:
            return candidate, spaces[candidate]
        if candidate in spaces and (inside := _folder(archive, candidate, folder)):
            return f"{candidate}/{folder}", inside
    content = "C" if archive.has_new_scheme else "A"
    folder = wanted.strip().strip("/")
    if content in spaces and folder and (inside := _folder(archive, content, folder)):
        return f"{content}/{folder}", inside
    raise errors.NamespaceNotFound(
        f"{archive.name!r} has no namespace or folder {safe_line(wanted, 100)!r}.",
        hint="Use one of available_namespaces; articles are in the first of C and A that is there.",
        available_namespaces=[safe_line(name, 10) for name in spaces],
    )


def _folder(archive: Archive, namespace: str, folder: str) -> range:
    """Return the entries whose path starts with the folder; paths are sorted by their bytes."""
    prefix = f"{folder}/" if archive.has_new_scheme else f"{namespace}/{folder}/"
    return _prefixed(archive, archive.namespaces[namespace], prefix)


def _prefixed(archive: Archive, numbers: range, prefix: str) -> range:
    first = prefix.encode(errors="replace")

    def key(number: int) -> Any:
        return archive.path_at(number).encode()

    start = bisect.bisect_left(numbers, first, key=key)
    stop = bisect.bisect_left(numbers, first + b"\xff", key=key)  # no text holds this byte
    return numbers[start:stop]


def beginning_with(archive: Archive, prefix: str, limit: int, *, pages_only: bool) -> Beginnings:
    """Return paths that begin with a text, or with it as titles are usually written."""
    ranges = {_beginning(archive, spelling) for spelling in _spellings(prefix)}
    numbers = sorted({number for some in ranges for number in some[: _LOOK_AT if pages_only else limit]})
    total = sum(map(len, ranges))
    if not pages_only:
        return Beginnings([archive.path_at(number) for number in numbers[:limit]], total)
    found = [entry.path for number in numbers if (entry := archive.entry_at(number)).mime_type in _PAGES]
    return Beginnings(found[:limit], len(found) if len(numbers) == total else None)


def _spellings(prefix: str) -> list[str]:
    plain = [prefix, prefix.replace(" ", "_")]
    return [*plain, *(text[:1].upper() + text[1:] for text in plain)]


def _beginning(archive: Archive, prefix: str) -> range:
    """Return the entries whose paths begin with a text, which may have a namespace that the archive has, or not."""
    letter, slash, rest = prefix.partition("/")
    if not archive.has_new_scheme:
        inside = slash and letter in archive.namespaces
        return (
            _prefixed(archive, archive.namespaces[letter], prefix)
            if inside
            else _prefixed(archive, archive.content, f"A/{prefix}")
        )
    found = _prefixed(archive, archive.content, prefix)
    return _prefixed(archive, archive.content, rest) if not found and slash and letter in _SAME else found

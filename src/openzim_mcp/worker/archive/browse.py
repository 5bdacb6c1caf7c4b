"""Listing the entries of an archive by namespace, or by folder inside one."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.archive import EntryRows, PathCompletions
from openzim_mcp.text import safe_line
from openzim_mcp.worker.readers import is_page

if TYPE_CHECKING:
    from openzim_mcp.calls.archive import CompletePath, ListEntries
    from openzim_mcp.worker.zim import Archive

# Articles live in A in archives older than 2021 and in C since; a caller need not know which it has.
_SAME = {"A": "C", "C": "A"}
_MAX_READ_ENTRIES = 1000


def list_entries(archive: Archive, call: ListEntries) -> EntryRows:
    """Return some entries of a namespace or folder."""
    name, ids = find_namespace(archive, call.namespace)
    page = ids[call.offset : call.offset + call.limit]
    return EntryRows(name, [archive.entry_by_id(number) for number in page], len(ids))


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

    def key(number: int) -> bytes:
        return archive.path_by_id(number).encode()

    start = bisect.bisect_left(numbers, first, key=key)
    stop = bisect.bisect_left(numbers, first + b"\xff", key=key)  # no text holds this byte
    return numbers[start:stop]


def complete_path(archive: Archive, call: CompletePath) -> PathCompletions:
    """Return paths that start with a text, or with it as titles are usually written."""
    ranges = {_starting_with(archive, spelling) for spelling in _spellings(call.prefix)}
    per_range = _MAX_READ_ENTRIES if call.pages_only else call.limit
    ids = sorted({number for some in ranges for number in some[:per_range]})
    total = sum(map(len, ranges))
    if not call.pages_only:
        return PathCompletions([archive.path_by_id(number) for number in ids[: call.limit]], total)
    pages = [entry.path for number in ids if is_page((entry := archive.entry_by_id(number)).mime_type)]
    return PathCompletions(pages[: call.limit], len(pages) if len(ids) == total else None)


def _spellings(prefix: str) -> list[str]:
    plain = [prefix, prefix.replace(" ", "_")]
    return [*plain, *(text[:1].upper() + text[1:] for text in plain)]


def _starting_with(archive: Archive, prefix: str) -> range:
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

"""List the entries of an archive by namespace or folder, and complete paths."""

from __future__ import annotations

import bisect
from array import array
from itertools import islice
from typing import TYPE_CHECKING

from cachetools import LRUCache

from openzim_mcp import errors
from openzim_mcp.calls.archive import ArticleRows, EntryRow, EntryRows, PathCompletions
from openzim_mcp.text import safe_line
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.reading.resolve import ARTICLE_NAMESPACES, prefix_spellings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.calls.archive import CompletePath, ListArticles, ListEntries
    from openzim_mcp.worker.zim import Archive

_MAX_READ_ENTRIES = 1000
_MAX_SCANNED_ENTRIES = 100_000
"""How many entries are read to find the articles among them: about half a second."""
_DOCUMENT_TYPES = {"text/plain", "application/pdf", "application/epub+zip"}
"""Types of articles that are not pages."""
_MAX_KEPT_LISTS = 8
_article_ids: LRUCache[tuple[str, str], array[int]] = LRUCache(_MAX_KEPT_LISTS)
"""The numbers of the articles of a namespace or folder, by the identity of the archive and that name."""


def list_entries(archive: Archive, call: ListEntries) -> EntryRows:
    """Return some entries of a namespace or folder."""
    name, ids = find_namespace(archive, call.namespace)
    page = ids[call.offset : call.offset + call.limit]
    return EntryRows(name, [archive.entry_by_id(number) for number in page], len(ids))


def list_articles(archive: Archive, call: ListArticles) -> ArticleRows:
    """Return some articles of a namespace or folder; of a large one, only near its start or near `call.start`."""
    name, ids = find_namespace(archive, call.namespace or archive.content_namespace)
    if len(ids) <= _MAX_SCANNED_ENTRIES:
        return _list_counted_articles(archive, call, name, ids)
    scanned = ids[call.start : call.start + _MAX_SCANNED_ENTRIES]
    articles = list(islice(_articles(archive, scanned), call.offset, call.offset + call.limit))
    stop = articles[-1][0] - ids.start + 1 if len(articles) == call.limit else call.start + len(scanned)
    if call.offset and not articles:
        raise errors.OutOfRange(
            f"offset={call.offset} is too far into {name!r}, which has {len(ids)} entries.",
            hint="mode='walk' lists the articles of a large archive to the end.",
        )
    total = archive.counts["articles"] if name == archive.content_namespace else None
    return ArticleRows(name, [row for _, row in articles], total, stop, stop >= len(ids))


def _list_counted_articles(archive: Archive, call: ListArticles, name: str, ids: range) -> ArticleRows:
    key = (str(archive.identity), name)
    numbers = _article_ids.get(key)
    if numbers is None:
        front = archive.front_articles()
        listed = (number for number, _ in _articles(archive, ids) if not front or number in front)
        numbers = _article_ids[key] = array("L", listed)
    first = bisect.bisect_left(numbers, ids.start + call.start) + call.offset
    shown = numbers[first : first + call.limit]
    done = first + call.limit >= len(numbers)
    stop = len(ids) if done else shown[-1] - ids.start + 1
    return ArticleRows(name, [archive.entry_by_id(number) for number in shown], len(numbers), stop, done)


def _articles(archive: Archive, ids: Iterable[int]) -> Iterator[tuple[int, EntryRow]]:
    for number in ids:
        row = archive.entry_by_id(number)
        if row.redirect_to is None and (is_page(row.mime_type) or row.mime_type in _DOCUMENT_TYPES):
            yield number, row


def find_namespace(archive: Archive, requested: str) -> tuple[str, range]:
    """Return a namespace and the numbers of its entries; `requested` may also name a folder, as in `C/questions`."""
    namespaces = archive.namespaces
    path = requested.strip().strip("/")
    letter, _, folder = path.partition("/")
    letter = letter.upper() if len(letter) == 1 else letter
    for namespace in (letter, ARTICLE_NAMESPACES.get(letter, letter)):
        if namespace in namespaces and not folder:
            return namespace, namespaces[namespace]
        if namespace in namespaces and (ids := _ids_in_folder(archive, namespace, folder)):
            return f"{namespace}/{folder}", ids
    content = archive.content_namespace
    if content in namespaces and path and (ids := _ids_in_folder(archive, content, path)):
        return f"{content}/{path}", ids
    raise errors.NamespaceNotFound(
        f"{archive.name!r} has no namespace or folder {safe_line(requested, 100)!r}.",
        hint="Use one of available_namespaces; articles are in the first of C and A that is there.",
        available_namespaces=[safe_line(name, 10) for name in namespaces],
    )


def _ids_in_folder(archive: Archive, namespace: str, folder: str) -> range:
    prefix = f"{folder}/" if archive.has_new_scheme else f"{namespace}/{folder}/"
    return _ids_with_prefix(archive, archive.namespaces[namespace], prefix)


def _ids_with_prefix(archive: Archive, ids: range, prefix: str) -> range:
    """Return the entries whose paths start with a prefix; paths are sorted by their bytes."""
    first = prefix.encode(errors="replace")

    def key(number: int) -> bytes:
        return archive.path_by_id(number).encode()

    start = bisect.bisect_left(ids, first, key=key)
    stop = bisect.bisect_left(ids, first + b"\xff", key=key)  # no text contains this byte
    return ids[start:stop]


def complete_path(archive: Archive, call: CompletePath) -> PathCompletions:
    """Return paths that start with a text, or with it as paths are usually written."""
    ranges = {_ids_starting_with(archive, spelling) for spelling in prefix_spellings(call.prefix)}
    max_per_range = _MAX_READ_ENTRIES if call.pages_only else call.limit
    ids = sorted({number for ids in ranges for number in ids[:max_per_range]})
    total = sum(map(len, ranges))
    if not call.pages_only:
        return PathCompletions([archive.path_by_id(number) for number in ids[: call.limit]], total)
    pages = [entry.path for number in ids if is_page((entry := archive.entry_by_id(number)).mime_type)]
    return PathCompletions(pages[: call.limit], len(pages) if len(ids) == total else None)


def _ids_starting_with(archive: Archive, prefix: str) -> range:
    """Return the entries whose paths start with a text, which may contain a namespace or not."""
    letter, slash, path = prefix.partition("/")
    if not archive.has_new_scheme:
        if slash and letter in archive.namespaces:
            return _ids_with_prefix(archive, archive.namespaces[letter], prefix)
        return _ids_with_prefix(archive, archive.content, f"{archive.content_namespace}/{prefix}")
    ids = _ids_with_prefix(archive, archive.content, prefix)
    if not ids and slash and letter in ARTICLE_NAMESPACES:
        return _ids_with_prefix(archive, archive.content, path)
    return ids

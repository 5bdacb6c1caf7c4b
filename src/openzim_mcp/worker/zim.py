"""One open archive: libzim's reader; libzim's exceptions are translated here and nowhere else."""

from __future__ import annotations

import bisect
import contextlib
import heapq
import itertools
import struct
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache
from libzim.reader import Archive as ZimArchive
from libzim.reader import set_cluster_cache_max_size
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher

from openzim_mcp import errors
from openzim_mcp.calls.archive import EntryRow, MeasureImportance
from openzim_mcp.text import safe_line
from openzim_mcp.worker import importance, link_index
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.index_postings import PostingIndex
from openzim_mcp.worker.sorted_paths import SortedPaths, landmark_numbers
from openzim_mcp.zimfile import NotAZim, ZimFile, stat_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from mmap import mmap

    from libzim.reader import Entry as ZimEntry

    from openzim_mcp.zimfile import EntryRecord, Identity

MAX_REDIRECTS = 10
_MAX_RANDOM_TRIES = 50
_BESIDE_CONTENT = ("M", "W", "X")
"""The namespaces of archives since 2021 that hold metadata, well-known entries and indexes."""
_CACHED_FREQUENCIES = 20_000
_IMPORTANCE_RETRY_SECONDS = 5
_ARTICLE_LIST = "listing/titleOrdered/v1"
_FULLTEXT_INDEX = "X/fulltext/xapian"
_SAMPLED_ENTRIES = 16
_NO_MEMORY = ("not enough memory", "needed memory", "too much memory")
"""What zstd and lzma say; libzim passes it on as any other error."""
_MIN_LANDMARKED_ENTRIES = 100_000
_MAX_COMPARED_ENTRIES = 50_000
_serial_numbers = itertools.count()
_CLUSTER_CACHE_BYTES = 16 << 20
"""What libzim keeps of unpacked clusters by default, for all archives of the process."""
_LARGE_CLUSTER_CACHE_BYTES = 24 << 20
"""Enough for the pages of a few searches, which often come from the same clusters; in memory, it takes 60 MB."""
_LARGE_CACHE_MEMORY_MIB = 1024
"""The memory limit that leaves room for it: a cluster keeps 8 MB (zstd) to 64 MB (lzma) for its decompressor."""


@dataclass(frozen=True)
class Item:
    """The path, title, type and size of an entry, without its content."""

    path: str
    title: str
    mime_type: str
    size: int


class Page(NamedTuple):
    """A page with its content."""

    path: str
    content: bytes


@dataclass(frozen=True)
class TitleMatch:
    """The title of an entry, and the path and title of its target: a redirect's, else its own."""

    title: str
    target: str
    target_title: str
    is_redirect: bool


class ClosedArchive(NamedTuple):
    """An archive that need not be open, and what opens it."""

    identity: Identity
    open: Callable[[], Archive]


class OtherTexts(NamedTuple):
    """Texts that are not in the index of an archive: how many there are, and how many of them have a word."""

    size: int
    frequency: Callable[[str], int]


def out_of_memory(name: str) -> errors.OutOfMemory:
    """Return the error for a call that reached the memory limit of the worker."""
    return errors.OutOfMemory(
        f"Reading {name!r} takes more memory than a worker may have.",
        hint="It may be damaged or hostile; if you trust it, raise OPENZIM_MCP_WORKER__MEMORY_MIB.",
    )


def enlarge_cluster_cache(memory_mib: int) -> None:
    """Let libzim keep more unpacked clusters, if the memory limit of the process allows it."""
    if memory_mib >= _LARGE_CACHE_MEMORY_MIB:
        set_cluster_cache_max_size(_LARGE_CLUSTER_CACHE_BYTES)


def reduce_cluster_cache() -> None:
    """Let libzim keep as many unpacked clusters as by default, and drop the others."""
    set_cluster_cache_max_size(_CLUSTER_CACHE_BYTES)


class Archive:
    """An open archive, addressed by the number or the path of its entries."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        self.name = name
        self.serial = next(_serial_numbers)
        self._parts = parts
        self._frequencies: LRUCache[str, int] = LRUCache(_CACHED_FREQUENCIES)
        self._importance: bytes | mmap = b""
        self._in_degrees: memoryview | None = None
        self.other_texts: OtherTexts | None = None
        """What is known of texts that the archive's own index does not have."""
        self._importance_due = 0.0
        with self._translated_errors():
            self.identity = stat_parts(parts).identity
            ZimFile(parts).prefetch_entries()
            self._zim = ZimArchive(parts[0])
            self._landmarks = self._read_landmarks()
        if self._landmarks:
            with contextlib.suppress(errors.ArchiveUnusable):
                _ = self.paths_are_titles  # read now, beside the landmarks

    @contextlib.contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (MemoryError, RuntimeError, ValueError, LookupError, OSError) as error:
            if isinstance(error, MemoryError) or any(text in str(error) for text in _NO_MEMORY):
                raise out_of_memory(self.name) from error
            reason = safe_line(str(error).replace(self._parts[0], self.name), 200)
            raise errors.ArchiveUnusable(
                f"{self.name!r} is damaged: {reason}",
                hint="Check it with zim_health and download it again if the checksum is wrong.",
            ) from error

    @property
    def file_name(self) -> str:
        """The name as results show it."""
        return f"{self.name}.zim"

    @cached_property
    def uuid(self) -> str:
        """The archive's own identifier."""
        with self._translated_errors():
            return str(self._zim.uuid)

    @property
    def is_multipart(self) -> bool:
        """Whether the archive is split over several files."""
        return bool(self._zim.is_multipart)

    @property
    def has_new_scheme(self) -> bool:
        """Whether paths carry no namespace (archives made since 2021)."""
        return bool(self._zim.has_new_namespace_scheme)

    @property
    def has_checksum(self) -> bool:
        """Whether the file carries an MD5 of itself."""
        return bool(self._zim.has_checksum)

    @property
    def checksum(self) -> str:
        """The MD5 that the file carries, in hexadecimal."""
        with self._translated_errors():
            return str(self._zim.checksum)

    @cached_property
    def has_fulltext_index(self) -> bool:
        """Whether full-text search can work."""
        with self._translated_errors():
            return bool(self._zim.has_fulltext_index)

    @cached_property
    def has_title_index(self) -> bool:
        """Whether suggestions can work."""
        with self._translated_errors():
            return bool(self._zim.has_title_index)

    @property
    def entry_count(self) -> int:
        """How many entries there are in all namespaces; unlike `counts`, it is known without reading one."""
        return int(self._zim.all_entry_count)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Entries of all namespaces, of the content, and the articles and media among them."""
        with self._translated_errors():
            zim = self._zim
            return {
                "all_entries": zim.all_entry_count,
                "entries": zim.entry_count,
                "articles": zim.article_count,
                "media": zim.media_count,
            }

    @property
    def main_path(self) -> str | None:
        """The path of the main page, redirects followed; None if there is none, or a redirect without target."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if self._zim.has_main_entry:
                return str(_target(self._zim.main_entry).path)
        return None

    def random_path(self) -> str:
        """Return the path of a random article; an entry that leads nowhere is left for another."""
        for _ in range(_MAX_RANDOM_TRIES):
            with self._translated_errors():
                entry = self._zim.get_random_entry()
            with contextlib.suppress(RuntimeError, ValueError, LookupError):
                return str(_target(entry).path)
        raise errors.RedirectLoop(
            f"Random entries of {self.name!r} redirect in a circle, or more than {MAX_REDIRECTS} times.",
            hint="Search for an article, or browse.",
        )

    def metadata(self) -> dict[str, bytes]:
        """Every metadata value, by the archive's own keys; one that cannot be read is left out."""
        with self._translated_errors():
            keys = self._zim.metadata_keys
        values = {}
        for key in keys:
            with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
                values[key] = bytes(self._zim.get_metadata(key))
        return values

    def metadata_text(self, key: str) -> str:
        """Return one metadata value as text, or an empty string."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return bytes(self._zim.get_metadata(key)).decode(errors="replace")
        return ""

    def illustration(self, size: int, max_bytes: int) -> bytes:
        """Return the illustration of the archive, of `size` pixels; empty if there is none, or only a larger file."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if self._zim.has_illustration(size):
                item = self._zim.get_illustration_item(size)
                return bytes(item.content) if item.size <= max_bytes else b""
        return b""

    @cached_property
    def languages(self) -> str:
        """The codes of the archive's languages, as in its metadata: `eng`, `ara,jpn`, or empty."""
        return self.metadata_text("Language")

    @cached_property
    def namespaces(self) -> dict[str, range]:
        """Each namespace with the numbers of its entries."""
        return ZimFile(self._parts).namespaces()

    @property
    def content_namespace(self) -> str:
        """The namespace of the articles."""
        return "C" if self.has_new_scheme else "A"

    @property
    def content(self) -> range:
        """The numbers of the entries in the namespace of the articles."""
        return self.namespaces.get(self.content_namespace, range(0))

    def front_articles(self) -> frozenset[int]:
        """Return the numbers of the entries that the archive lists as its articles; empty if it has no such list."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            for number in self.namespaces.get("X", range(0)):
                entry = self._zim._get_entry_by_id(number)  # noqa: SLF001  libzim has no other way
                if entry.path == _ARTICLE_LIST and not entry.is_redirect:
                    content = bytes(entry.get_item().content)
                    return frozenset(number for (number,) in struct.iter_unpack("<I", content))
        return frozenset()

    @cached_property
    def content_prefix(self) -> str:
        """What the paths of the articles start with: nothing, or their namespace in archives made before 2021."""
        return "" if self.has_new_scheme else f"{self.content_namespace}/"

    @cached_property
    def _sampled_entries(self) -> list[tuple[str, str]]:
        """The paths and titles of a few entries."""
        numbers: Sequence[int] = [number for number in self._landmarks if number in self.content] or self.content
        numbers = numbers[:: max(1, len(numbers) // _SAMPLED_ENTRIES)]
        return [
            (self.path_by_id(number).removeprefix(self.content_prefix), self.title_by_id(number)) for number in numbers
        ]

    @cached_property
    def paths_are_titles(self) -> bool:
        """Whether most paths are titles with underscores, as in a wiki."""
        alike = [path.replace("_", " ") == title for path, title in self._sampled_entries]
        return sum(alike) * 2 > len(alike)

    @cached_property
    def path_separators(self) -> tuple[str, ...]:
        """What separates the words of a path that is a title."""
        return ("_", " ") if any(" " in path for path, _ in self._sampled_entries) else ("_",)

    @cached_property
    def _sorted_paths(self) -> SortedPaths:
        zim = self._zim  # with `self`, the two would be a cycle, and a closed archive would keep its memory
        return SortedPaths(lambda number: zim._get_entry_by_id(number).path, self.content, self._landmarks)  # noqa: SLF001

    def _read_landmarks(self) -> dict[int, str]:
        """Return the paths of some entries of a large archive, by number; none if one of them is damaged."""
        if self.entry_count < _MIN_LANDMARKED_ENTRIES:
            return {}
        get_entry = self._zim._get_entry_by_id  # noqa: SLF001
        with contextlib.suppress(RuntimeError, ValueError, LookupError):
            return {number: str(get_entry(number).path) for number in landmark_numbers(self.entry_count)}
        return {}

    @property
    def has_landmarks(self) -> bool:
        """Whether the archive is large, so that some of its paths are kept for bisections."""
        return bool(self._landmarks)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Let the system read the start of some pages of a large archive at once, in few requests, where it can."""
        if not self._landmarks:
            return
        with contextlib.suppress(NotAZim), self._translated_errors():
            paths = [path for path in paths if path]
            file = ZimFile(self._parts)
            header = file.header()
            for path in paths:
                file.prefetch_records(header, self._sorted_paths.range_around(path))
            entries = (self._zim.get_entry_by_path(path) for path in paths if self._zim.has_entry_by_path(path))
            file.prefetch_content(header, [entry._index for entry in entries])  # noqa: SLF001

    def name_by_id(self, number: int) -> str:
        """Return what the path of the entry with that number says, as a title."""
        return self.path_by_id(number).removeprefix(self.content_prefix).replace("_", " ")

    def match_by_id(self, number: int) -> TitleMatch | None:
        """Return the entry with that number, and its target; None if it has none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return _title_match(self._zim._get_entry_by_id(number))  # noqa: SLF001
        return None

    def most_important(self, numbers: range, count: int) -> list[int]:
        """Return the numbers of the most important of some entries; the first, if nothing is known of them."""
        self._load_importance()
        compared = numbers[:_MAX_COMPARED_ENTRIES]
        if not self._importance and self._in_degrees is None:
            return list(numbers[:count])
        return heapq.nlargest(count, compared, key=self._importance_level)

    def entries_by_prefix(self, prefix: str, within: range | None = None) -> range:
        """Return the numbers of the entries of the content whose paths start with a prefix, or of some of them."""
        with self._translated_errors():
            return self._sorted_paths.find_prefix(self.content_prefix + prefix, within)

    @cached_property
    def article_titles(self) -> list[tuple[str, str]]:
        """Path and title of every entry of the content that is not a redirect."""
        return list(self._read_article_titles())

    def _read_article_titles(self) -> Iterator[tuple[str, str]]:
        for number in self.content:
            with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
                entry = self._zim._get_entry_by_id(number)  # noqa: SLF001  libzim has no other way
                if not entry.is_redirect:
                    yield str(entry.path), safe_line(entry.title, 500)

    def path_by_id(self, number: int) -> str:
        """Return the path of the entry with that number."""
        with self._translated_errors():
            return str(self._zim._get_entry_by_id(number).path)  # noqa: SLF001

    def title_by_id(self, number: int) -> str:
        """Return the title of the entry with that number."""
        with self._translated_errors():
            return str(self._zim._get_entry_by_id(number).title)  # noqa: SLF001

    def entry_by_id(self, number: int) -> EntryRow:
        """Return the entry with that number; if it is damaged, `error` says so."""
        path = title = f"#{number}"
        try:
            with self._translated_errors():
                entry = self._zim._get_entry_by_id(number)  # noqa: SLF001
                path, title = self._full_path(entry), safe_line(entry.title, 500)
                if not entry.is_redirect:
                    return EntryRow(path, title, entry.get_item().mimetype)
                target = _target(entry)
                return EntryRow(path, title, target.get_item().mimetype, redirect_to=target.path)
        except errors.ArchiveUnusable:
            return EntryRow(path, title, None, error="this entry is damaged, or redirects in a circle or to nothing")

    def find_entry(self, path: str) -> Item | None:
        """Return the item at exactly that path, redirects followed, or None."""
        with self._translated_errors():
            entry = self._entry_at(path)
            return self._item(entry) if entry else None

    def _entry_at(self, path: str) -> ZimEntry | None:
        """Return the entry at a path; `M/Title` and the like are beside the content, where libzim finds no paths."""
        if self._zim.has_entry_by_path(path):
            return self._zim.get_entry_by_path(path)
        letter, _, name = path.partition("/")
        ids = self.namespaces.get(letter) if self.has_new_scheme and name and letter in _BESIDE_CONTENT else None
        if not ids:
            return None
        number = ids[0] + bisect.bisect_left(ids, name.encode(), key=lambda number: self.path_by_id(number).encode())
        return self._zim._get_entry_by_id(number) if number in ids and self.path_by_id(number) == name else None  # noqa: SLF001

    def _full_path(self, entry: ZimEntry) -> str:
        """Return the path by which an entry is read: beside the content, with its namespace."""
        number = entry._index  # noqa: SLF001
        letters = _BESIDE_CONTENT if self.has_new_scheme else ()
        letter = next((letter for letter in letters if number in self.namespaces.get(letter, ())), None)
        return f"{letter}/{entry.path}" if letter else str(entry.path)

    def _item(self, entry: ZimEntry) -> Item:
        try:
            target = _target(entry)
        except ValueError as error:
            raise errors.RedirectLoop(
                f"{entry.path!r} in {self.name!r} redirects in a circle, or more than {MAX_REDIRECTS} times.",
                hint="The archive was made so; search for the article by another title.",
            ) from error
        return Item(self._full_path(target), safe_line(target.title, 500), _mime_type(target), target.get_item().size)

    def read_content(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return the content at the path of an `Item`, or a range of it."""
        with self._translated_errors():
            entry = self._entry_at(path) or self._zim.get_entry_by_path(path)
            return bytes(entry.get_item().content[start:stop])

    def read_page(self, number: int, max_bytes: int) -> Page | None:
        """Return the entry with that number and its content; None if it is damaged, a redirect, or larger."""
        with contextlib.suppress(errors.OpenZimMcpArchiveError), self._translated_errors():
            entry = self._zim._get_entry_by_id(number)  # noqa: SLF001
            if not entry.is_redirect and (item := entry.get_item()).size <= max_bytes:
                return Page(str(entry.path), bytes(item.content))
        return None

    def read_if_present(self, path: str) -> bytes | None:
        """Return the content at a path, redirects followed; None if there is no entry."""
        item = self.find_entry(path)
        return self.read_content(item.path) if item else None

    def find_by_title(self, title: str) -> Item | None:
        """Return the item with exactly that title, redirects followed, or None."""
        with self._translated_errors():
            if not self._zim.has_entry_by_title(title):
                return None
            return self._item(self._zim.get_entry_by_title(title))

    def look_up(self, *, title: str | None = None, path: str | None = None) -> TitleMatch | None:
        """Return the entry with exactly that title or path, and its target; None also if it has no target."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if title is not None:
                entry = self._zim.get_entry_by_title(title) if self._zim.has_entry_by_title(title) else None
            else:
                entry = self._zim.get_entry_by_path(path) if self._zim.has_entry_by_path(path) else None
            if entry is not None:
                return _title_match(entry)
        return None

    def importance(self, path: str) -> float:
        """Return how important an article is, 0 to 1, by the links and redirects that lead to it; 0 if not known."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            self._load_importance()
            return self._importance_level(int(self._zim.get_entry_by_path(path)._index)) / importance.MAX_LEVEL  # noqa: SLF001
        return 0.0

    def _importance_level(self, number: int) -> float:
        """Return the level of an entry, 0 to 255: the higher one of its links and its redirects."""
        by_redirects = self._importance[number] if self._importance else 0
        by_links = importance.level(self._in_degrees[number]) if self._in_degrees is not None else 0.0
        return max(by_redirects, by_links)

    def _load_importance(self) -> None:
        """Load what is known of the importance of entries, every few seconds until jobs have kept all of it."""
        if time.monotonic() < self._importance_due:
            return
        self._importance_due = time.monotonic() + _IMPORTANCE_RETRY_SECONDS
        entries = self.entry_count
        if self._in_degrees is None:
            self._in_degrees = link_index.load_in_degrees(self.identity, entries)
        if self._importance:
            return
        if entries < MeasureImportance.min_entries:
            self._importance = importance.compute_levels((target for _, target in self.redirects()), entries)
        else:
            self._importance = importance.load_levels(self.identity, entries) or b""

    def redirects(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of all redirects and of the entries that they lead to; damaged ones are left out."""
        get_entry = self._zim._get_entry_by_id  # noqa: SLF001
        for number in range(self._zim.all_entry_count):
            with contextlib.suppress(RuntimeError, ValueError, LookupError):
                entry = get_entry(number)
                if entry.is_redirect:
                    yield number, entry.get_redirect_entry()._index  # noqa: SLF001

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[EntryRecord]:
        """Yield the records of all entries, or of some of them, by number; damaged ones are left out."""
        with self._translated_errors():
            yield from ZimFile(self._parts).records(start, stop)

    def number_of(self, path: str) -> int | None:
        """Return the number of the entry at the path of an `Item`; None if there is none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            entry = self._entry_at(path)
            return None if entry is None else int(entry._index)  # noqa: SLF001
        return None

    def target_number(self, path: str) -> int | None:
        """Return the number of the entry at a path, redirects followed; None if there is none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if self._zim.has_entry_by_path(path):
                return int(_target(self._zim.get_entry_by_path(path))._index)  # noqa: SLF001
        return None

    def title_of(self, path: str) -> str:
        """Return the title of the entry at a path."""
        with self._translated_errors():
            return str(self._zim.get_entry_by_path(path).title)

    def name_of(self, path: str) -> str:
        """Return the title of the entry at a path, for comparing: from the path, where paths are titles."""
        if self.paths_are_titles:
            return path.removeprefix(self.content_prefix).replace("_", " ")
        return self.title_of(path)

    def mime_type_of(self, path: str) -> str:
        """Return the type of the content at a path; empty if it cannot be read."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return _mime_type(_target(self._zim.get_entry_by_path(path)))
        return ""

    def find_entries(self, paths: Iterable[str]) -> list[Item]:
        """Return the items at some paths, without those that cannot be read."""
        items = []
        for path in paths:
            with contextlib.suppress(errors.OpenZimMcpArchiveError):
                item = self.find_entry(path)
                if item:
                    items.append(item)
        return items

    @cached_property
    def _suggestions(self) -> SuggestionSearcher:
        return SuggestionSearcher(self._zim)

    @cached_property
    def _searcher(self) -> Searcher:
        return Searcher(self._zim)

    def suggest_paths(self, text: str, limit: int) -> list[str]:
        """Return the paths of entries with a title, or a word of it, that starts with the text. Asks an index."""
        with self._translated_errors():
            return list(self._suggestions.suggest(text).getResults(0, limit))

    def search_paths(self, words: str, limit: int) -> list[str]:
        """Return the paths of articles that contain all the words, the best first. Asks an index."""
        if not self.has_fulltext_index:
            return []
        with self._translated_errors():
            return list(self._searcher.search(Query().set_query(words)).getResults(0, limit))

    def frequency(self, words: str) -> int:
        """Return how many articles contain the words; for several words it is an estimate. Asks an index.

        If there are texts that this index does not have, they are counted for a single word.
        """
        count = self._indexed_frequency(words)
        return max(count, self.other_texts.frequency(words)) if self.other_texts and " " not in words else count

    @property
    def text_count(self) -> int:
        """How many texts the frequencies of words refer to."""
        articles = self.counts["articles"]
        return max(articles, self.other_texts.size) if self.other_texts else articles

    def _indexed_frequency(self, words: str) -> int:
        """Return how many articles the archive's own index finds with the words."""
        if not self.has_fulltext_index:
            return 0
        count = self._frequencies.get(words)
        if count is None:
            with self._translated_errors():
                count = int(self._searcher.search(Query().set_query(words)).getEstimatedMatches())
            self._frequencies[words] = count
        return count

    def read_fulltext_index(self, max_bytes: int) -> bytes:
        """Return the full-text index as it is in the archive; empty if there is none, or a larger one."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            entry = self._entry_at(_FULLTEXT_INDEX)
            item = entry.get_item() if entry else None
            return bytes(item.content) if item and item.size <= max_bytes else b""
        return b""

    @cached_property
    def posting_index(self) -> PostingIndex | None:
        """The full-text index, to read its lists of articles; None if it is of before 2021 or another format."""
        if not (self.has_fulltext_index and self.has_new_scheme):
            return None
        with contextlib.suppress(errors.ArchiveUnusable, NotAZim, NotReadable), self._translated_errors():
            entry = self._entry_at(_FULLTEXT_INDEX)
            file = ZimFile(self._parts, keeps_open=True)
            place = file.content_range(entry._index) if entry else None  # noqa: SLF001
            return PostingIndex(lambda at, size: file.read(place.start + at, size)) if place else None
        return None

    def probe_indexes(self, words: Sequence[str]) -> None:
        """Search each index for some words, so that a damaged one fails now."""
        for word in words:
            if self.has_title_index:
                self.suggest_paths(word, 5)
            if self.has_fulltext_index:
                self.search_paths(word, 5)


def _target(entry: ZimEntry) -> ZimEntry:
    """Follow redirects; libzim itself would follow a loop for ever."""
    for _ in range(MAX_REDIRECTS):
        if not entry.is_redirect:
            return entry
        entry = entry.get_redirect_entry()
    raise ValueError("redirects in a circle, or more than ten times")


def _title_match(entry: ZimEntry) -> TitleMatch:
    target = _target(entry)
    return TitleMatch(safe_line(entry.title, 500), target.path, safe_line(target.title, 500), bool(entry.is_redirect))


def _mime_type(entry: ZimEntry) -> str:
    return safe_line(str(entry.get_item().mimetype).partition(";")[0].lower(), 100)

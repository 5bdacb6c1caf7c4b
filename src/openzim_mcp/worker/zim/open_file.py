"""An open ZIM file: its header, counts, metadata and namespaces."""

from __future__ import annotations

import contextlib
import itertools
from functools import cached_property, partial
from typing import TYPE_CHECKING

from libzim.reader import Archive as ZimArchive

from openzim_mcp import errors
from openzim_mcp.worker.zim.libzim_errors import translated_errors
from openzim_mcp.zimfile import ZimFile, stat_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.zim.libzim_errors import ErrorTranslator
    from openzim_mcp.zimfile import EntryRecord

_serial_numbers = itertools.count()


class OpenFile:
    """A file that libzim has opened, or the first of the parts that it is split into."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        self.name = name
        self.serial = next(_serial_numbers)
        self._parts = parts
        # With a method of `self`, the two would be a cycle, and a closed archive would keep its memory.
        self._translated_errors: ErrorTranslator = partial(translated_errors, name, parts[0])
        with self._translated_errors():
            self.identity = stat_parts(parts).identity
            ZimFile(parts, keeps_open=True).prefetch_entries()
            self._zim = ZimArchive(parts[0])

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

    @cached_property
    def content_prefix(self) -> str:
        """What the paths of the articles start with: nothing, or their namespace in archives made before 2021."""
        return "" if self.has_new_scheme else f"{self.content_namespace}/"

    def records(self, start: int = 0, stop: int | None = None) -> Iterator[EntryRecord]:
        """Yield the records of all entries, or of some of them, by number; damaged ones are left out."""
        with self._translated_errors():
            yield from ZimFile(self._parts).records(start, stop)

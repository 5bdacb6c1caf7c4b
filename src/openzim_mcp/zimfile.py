"""A ZIM file on disk: its parts, its identity, its header and its checksum.

Plain file reads, no libzim: nothing in a file can crash this.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import os
import struct
import time
import weakref
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, NewType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Identity = NewType("Identity", str)
"""Identifies one state of a file and changes with it; opaque: it is compared, hashed and stored only."""

_HEADER = struct.Struct("<IHH16sIIQQQQIIQ")
_MAGIC_NUMBER = 0x044D495A
_MAGIC_BYTES = 4
_MAJOR_VERSIONS = (5, 6)
_CHECKSUM_BYTES = 16
_POINTER_BYTES = 8
_DIRENT_NAMESPACE_OFFSET = 3
_RECORD = struct.Struct("<H6xI")
"""The number of the type of an entry, and that of its cluster or, of a redirect, of its target."""
_PLACED_RECORD = struct.Struct("<H6xII")
"""The same, with the number of the content in its cluster."""
_PATH_OFFSET, _REDIRECT_PATH_OFFSET = 16, 12
_MAX_PATH_BYTES = 65_536
_MAX_TYPE_BYTES = 65_536
_RECORDS_AT_ONCE = 4096
_MAX_RECORDS_BYTES = 4 << 20
_REDIRECT, _FIRST_MARK = 0xFFFF, 0xFFFD
"""Numbers of types from the mark on are of redirects and of entries without content."""
_MAX_RECORD_BYTES = 1024
_MIN_PREFETCHED_BYTES, _MAX_PREFETCHED_CLUSTER_BYTES = 64 << 10, 2 << 20
_DEPTH_MARGIN = 1.15
_COMPRESSION_MASK, _UNCOMPRESSED, _HAS_LONG_OFFSETS = 0x0F, (0, 1), 0x10
"""In the first byte of a cluster."""
_WRITE_IDLE_SECONDS = 60
_READ_BYTES = 1 << 20
_LANDMARKS = 1024
_MAX_PREFETCHED_BYTES = 128 << 20
"""A disk reads as much in the time of a hundred seeks; libzim would seek a thousand times."""


class FileState(NamedTuple):
    """A file as the file system describes it now; `modified` is in seconds since the epoch."""

    identity: Identity
    size: int
    modified: float


def stat_parts(parts: Sequence[str]) -> FileState:
    """Return the present state of a file, given as its parts."""
    stats = [os.stat(part) for part in parts]
    state = ",".join(f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}" for stat in stats)
    digest = hashlib.blake2b(state.encode(), digest_size=16).hexdigest()
    modified = max(stat.st_mtime_ns for stat in stats) / 1e9
    return FileState(Identity(digest), sum(stat.st_size for stat in stats), modified)


@dataclass(frozen=True)
class ArchiveFile:
    """One archive of the library.

    `name` is unique and has no `.zim`; `path` is where the scan came across it, `parts` are its files, with links
    resolved; a `problem` says why it cannot be opened.
    """

    name: str
    path: str
    parts: tuple[str, ...]
    identity: Identity
    size: int
    modified: float
    uuid: str = ""
    problem: str | None = None

    @property
    def file_name(self) -> str:
        """The name as results show it."""
        return f"{self.name}.zim"

    @property
    def display_path(self) -> str:
        """The path as results show it: without its directory."""
        return f"...{self.file_name}"


@dataclass(frozen=True)
class Header:
    """The fields of a ZIM header that are read without libzim."""

    uuid: str
    entry_count: int
    path_pointers: int
    cluster_pointers: int
    type_list: int
    checksum_offset: int | None

    @property
    def file_size(self) -> int | None:
        """The size of the complete file, if the header has it."""
        return None if self.checksum_offset is None else self.checksum_offset + _CHECKSUM_BYTES


class EntryRecord(NamedTuple):
    """The record of an entry: a redirect has no type, and the number of its target in place of that of its cluster."""

    number: int
    namespace: str
    path: bytes
    mime_type: str | None
    place: int


class Place(NamedTuple):
    """The cluster that a content is in, and its number there."""

    cluster: int
    number: int


class RecordBlock(NamedTuple):
    """The records of entries that stand beside each other, as they are in the file, and where each starts in it."""

    first_entry: int
    offsets: Sequence[int]
    raw: bytes

    def path(self, entry: int) -> str | None:
        """Return the path of an entry, without its namespace; None if its record is damaged."""
        start = self.offsets[entry - self.first_entry]
        is_redirect = self.raw[start : start + 2] == _REDIRECT.to_bytes(2, "little")
        path_start = start + (_REDIRECT_PATH_OFFSET if is_redirect else _PATH_OFFSET)
        end = self.raw.find(b"\0", path_start)
        return self.raw[path_start:end].decode(errors="replace") if end >= 0 else None


def landmark_numbers(entries: int) -> range:
    """Return the numbers of the entries, spread evenly, whose records libzim reads when it opens a file."""
    return range(0, entries, max(1, entries // _LANDMARKS))


class NotAZim(Exception):
    """The file does not start with a ZIM header that can be read; the message says why."""


class ZimFile:
    """Random access to a file in one or more parts.

    With `keeps_open` its parts stay open as long as it is used: the system reads ahead in what is read in sequence.
    """

    def __init__(self, parts: Sequence[str], *, keeps_open: bool = False) -> None:
        self._parts = parts
        self._open_parts = [open(part, "rb", buffering=0) for part in parts] if keeps_open else []  # noqa: SIM115
        for file in self._open_parts:
            weakref.finalize(self, file.close)
        sizes = [os.stat(part).st_size for part in parts]
        self._ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        self.size = self._ends[-1]

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes: fewer only at the end of the file."""
        content = bytearray()
        while length > len(content) and offset + len(content) < self.size:
            position = offset + len(content)
            part = bisect.bisect_right(self._ends, position)
            with self._opened(part) as file:
                file.seek(position - (self._ends[part - 1] if part else 0))
                chunk = file.read(length - len(content))
            if not chunk:
                break
            content += chunk
        return bytes(content)

    def _opened(self, part: int) -> contextlib.AbstractContextManager[BinaryIO]:
        if self._open_parts:
            return contextlib.nullcontext(self._open_parts[part])
        return open(self._parts[part], "rb")

    def prefetch(self, offset: int, length: int) -> None:
        """Let the system read a part of the file in few large requests, where it can; return at once."""
        if not hasattr(os, "posix_fadvise"):
            return
        start = 0
        for part, end in enumerate(self._ends):
            first, last = max(offset, start), min(offset + length, end)
            if first < last:
                with self._opened(part) as file:
                    for chunk in range(first, last, _READ_BYTES):  # Linux ignores what is beyond a request's size
                        length = min(_READ_BYTES, last - chunk)
                        os.posix_fadvise(file.fileno(), chunk - start, length, os.POSIX_FADV_WILLNEED)
            start = end

    def header(self) -> Header:
        """Return the header, or raise `NotAZim`."""
        raw = self.read(0, _HEADER.size)
        if not self.size:
            raise NotAZim("the file is empty (0 bytes)")
        if len(raw) < _MAGIC_BYTES or struct.unpack_from("<I", raw)[0] != _MAGIC_NUMBER:
            raise NotAZim("not a ZIM file: the first bytes are something else")
        if len(raw) < _HEADER.size:
            raise NotAZim(f"incomplete: {self.size} bytes are less than a ZIM header")
        _, major, _, uuid, entries, _, path_pointers, _, cluster_pointers, mime_list, _, _, checksum_offset = (
            _HEADER.unpack(raw)
        )
        if major not in _MAJOR_VERSIONS:
            raise NotAZim(f"ZIM format version {major} is not supported")
        return Header(
            uuid=uuid.hex(),
            entry_count=entries,
            path_pointers=path_pointers,
            cluster_pointers=cluster_pointers,
            type_list=mime_list,
            checksum_offset=checksum_offset if mime_list >= _HEADER.size else None,
        )

    def read_namespace(self, header: Header, entry: int) -> str:
        """Return the namespace letter of an entry, or NUL where the file is damaged."""
        offset = self._entry_offset(header, entry)
        return "\0" if offset is None else self.read(offset + _DIRENT_NAMESPACE_OFFSET, 1).decode("latin-1") or "\0"

    def _entry_offset(self, header: Header, entry: int) -> int | None:
        """Return where the record of an entry is, or None where the file is damaged."""
        pointer = self.read(header.path_pointers + _POINTER_BYTES * entry, _POINTER_BYTES)
        offset: int | None = struct.unpack("<Q", pointer)[0] if len(pointer) == _POINTER_BYTES else None
        return offset

    def _entry_offsets(self, header: Header, entries: range) -> list[int]:
        """Return where the records of some entries are; fewer where the file ends too early."""
        pointers = self.read(header.path_pointers + _POINTER_BYTES * entries.start, _POINTER_BYTES * len(entries))
        return [offset for (offset,) in struct.iter_unpack("<Q", pointers[: len(pointers) // 8 * 8])]

    def namespaces(self) -> dict[str, range]:
        """Return each namespace with the numbers of its entries.

        Entries are ordered by namespace. The content has nearly all of them, so its end is looked for from the end of
        the list on, in growing steps.
        """
        header = self.header()
        ranges: dict[str, range] = {}
        start = 0
        while start < header.entry_count:
            letter = self.read_namespace(header, start)
            high, step = header.entry_count, 1
            low = max(start + 1, high - step)
            while low > start + 1 and self.read_namespace(header, low - 1) != letter:
                high, step = low - 1, step * 2
                low = max(start + 1, high - step)
            stop = bisect.bisect_left(
                range(header.entry_count),
                True,
                low,
                high,
                key=lambda entry: self.read_namespace(header, entry) != letter,
            )
            ranges.setdefault(letter, range(start, stop))
            start = stop
        return ranges

    def records(self, first_entry: int = 0, stop: int | None = None) -> Iterator[EntryRecord]:
        """Yield the records of all entries, or of some of them, by number; damaged ones are left out."""
        header = self.header()
        types = self._mime_types(header)
        stop = header.entry_count if stop is None else min(stop, header.entry_count)
        for start in range(first_entry, stop, _RECORDS_AT_ONCE):
            offsets = self._entry_offsets(header, range(start, min(start + _RECORDS_AT_ONCE, stop)))
            first, last = min(offsets, default=0), max(offsets, default=0)
            are_near = last - first <= _MAX_RECORDS_BYTES
            near = self.read(first, last - first + _MAX_RECORD_BYTES) if are_near else b""
            for number, offset in enumerate(offsets, start):
                record = self._record(number, near, offset - first, types) if are_near else None
                record = record or self._record(number, self.read(offset, _MAX_PATH_BYTES), 0, types)
                if record is not None:
                    yield record

    def _mime_types(self, header: Header) -> list[str]:
        listed = self.read(header.type_list, _MAX_TYPE_BYTES).partition(b"\0\0")[0]
        return [name.decode(errors="replace") for name in listed.split(b"\0")]

    def _record(self, number: int, raw: bytes, start: int, types: Sequence[str]) -> EntryRecord | None:
        """Return the record at a position; None if it is damaged, or not all of it is there."""
        if start + _PATH_OFFSET > len(raw):
            return None
        mime_type, place = _RECORD.unpack_from(raw, start)
        path_start = start + (_PATH_OFFSET if mime_type != _REDIRECT else _REDIRECT_PATH_OFFSET)
        path_end = raw.find(b"\0", path_start)
        if path_end < 0 or len(types) <= mime_type < _REDIRECT:
            return None
        namespace = chr(raw[start + _DIRENT_NAMESPACE_OFFSET])
        name = None if mime_type == _REDIRECT else types[mime_type]
        return EntryRecord(number, namespace, raw[path_start:path_end], name, place)

    def read_block(self, header: Header, entries: range) -> RecordBlock | None:
        """Return the records of some entries, read at once; None if they do not stand beside each other."""
        offsets = self._entry_offsets(header, entries)
        if len(offsets) < len(entries):
            return None
        first, last = min(offsets), max(offsets)
        if last - first > _MAX_RECORDS_BYTES:
            return None
        raw = self.read(first, last - first + _MAX_RECORD_BYTES)
        return RecordBlock(entries.start, array("I", [offset - first for offset in offsets]), raw)

    def prefetch_records(self, header: Header, entries: range) -> None:
        """Prefetch the records of some entries that stand beside each other."""
        self.prefetch(header.path_pointers + _POINTER_BYTES * entries.start, _POINTER_BYTES * len(entries))
        first, last = (self._entry_offset(header, entry) for entry in (entries[0], entries[-1]))
        if first is not None and last is not None and 0 <= last - first <= _READ_BYTES:
            self.prefetch(first, last - first + _MAX_RECORD_BYTES)

    def prefetch_content(self, header: Header, entries: Sequence[int]) -> None:
        """Prefetch the clusters of some entries, in the order of the file, as far as these probably stand in them.

        A cluster is unpacked from its start, so what is behind an entry is not needed. How many contents a cluster has
        is not known without unpacking it: about as many as the highest number among the entries says.
        """
        depths: dict[int, int] = {}
        for place in filter(None, (self._place_of(header, entry) for entry in entries)):
            depths[place.cluster] = max(depths.get(place.cluster, 0), place.number + 1)
        most = max(depths.values(), default=1) * (1 + 1 / max(1, len(depths)))
        rows = ((*self._cluster_bounds(header, cluster), depth / most) for cluster, depth in depths.items())
        for start, stop, share in sorted(rows):
            self.prefetch(start, min(stop - start, int(share * _DEPTH_MARGIN * (stop - start)) + _MIN_PREFETCHED_BYTES))

    def _cluster_bounds(self, header: Header, cluster: int) -> tuple[int, int]:
        """Return where a cluster starts and about where it ends, at most as far as is worth prefetching."""
        raw = self.read(header.cluster_pointers + _POINTER_BYTES * cluster, 2 * _POINTER_BYTES)
        if len(raw) < 2 * _POINTER_BYTES:
            return 0, 0
        start, stop = struct.unpack("<QQ", raw)
        return start, min(max(start, stop), start + _MAX_PREFETCHED_CLUSTER_BYTES)

    def _place_of(self, header: Header, entry: int) -> Place | None:
        """Return where the content of an entry is; None for a redirect, and where the file is damaged."""
        offset = self._entry_offset(header, entry)
        record = b"" if offset is None else self.read(offset, _PLACED_RECORD.size)
        if len(record) < _PLACED_RECORD.size:
            return None
        mime_type, cluster, number = _PLACED_RECORD.unpack(record)
        return Place(cluster, number) if mime_type < _FIRST_MARK else None

    def content_range(self, entry: int) -> range | None:
        """Return where the content of an entry stands in the file; None if it is compressed, or a redirect."""
        header = self.header()
        place = self._place_of(header, entry)
        if place is None:
            return None
        (start,) = struct.unpack("<Q", self._read_all(header.cluster_pointers + _POINTER_BYTES * place.cluster, 8))
        (mark,) = self._read_all(start, 1)
        if mark & _COMPRESSION_MASK not in _UNCOMPRESSED:
            return None
        size, code = (8, "<QQ") if mark & _HAS_LONG_OFFSETS else (4, "<II")
        first, last = struct.unpack(code, self._read_all(start + 1 + size * place.number, 2 * size))
        return range(start + 1 + first, start + 1 + last)

    def _read_all(self, offset: int, length: int) -> bytes:
        raw = self.read(offset, length)
        if len(raw) < length:
            raise NotAZim("it ends too early")
        return raw

    def prefetch_entries(self) -> None:
        """Prefetch what libzim reads when it opens the file: the pointers to all records, and some of these.

        The records that it reads one after the other are prefetched at once; all of them, if they are not too many.
        """
        with contextlib.suppress(NotAZim):
            header = self.header()
            first = self._entry_offset(header, 0) if header.entry_count else None
            last = self._entry_offset(header, header.entry_count - 1) if header.entry_count else None
            if first is None or last is None or last <= first:
                return
            self.prefetch(header.path_pointers, _POINTER_BYTES * header.entry_count)
            if last - first <= _MAX_PREFETCHED_BYTES:
                self.prefetch(first, last - first)
                return
            for offset in (self._entry_offset(header, number) for number in landmark_numbers(header.entry_count)):
                if offset is not None:
                    self.prefetch(offset, _MAX_RECORD_BYTES)


class HeaderCheck(NamedTuple):
    """The UUID in a header, and why the file cannot be opened; `is_growing` if it may become complete by itself."""

    uuid: str = ""
    problem: str | None = None
    is_growing: bool = False


def check_header(parts: Sequence[str], modified: float) -> HeaderCheck:
    """Check the header and the size of a file that was last modified at that time."""
    try:
        file = ZimFile(parts)
        header = file.header()
    except NotAZim as problem:
        return HeaderCheck(problem=str(problem))
    except OSError as error:
        return HeaderCheck(problem=f"cannot be read: {error.strerror or 'input/output error'}")
    expected = header.file_size
    if expected is None or file.size >= expected:
        return HeaderCheck(header.uuid)
    if abs(time.time() - modified) < _WRITE_IDLE_SECONDS:
        growing = f"still being written: {file.size} of {expected} bytes so far"
        return HeaderCheck(header.uuid, growing, is_growing=True)
    return HeaderCheck(header.uuid, f"incomplete: {file.size} of {expected} bytes")


def read_uuid(parts: Sequence[str]) -> str:
    """Return the UUID in the header of a file; empty if it cannot be read."""
    try:
        return ZimFile(parts).header().uuid
    except (OSError, NotAZim):
        return ""


def checksum_matches(parts: Sequence[str], report: Callable[[int, int], None]) -> bool | None:
    """Compare the file with its own MD5 checksum; None if it has none.

    `report` is called with the number of bytes read so far and the total.
    """
    checksum_offset = ZimFile(parts).header().checksum_offset
    if checksum_offset is None:
        return None
    digest = hashlib.md5(usedforsecurity=False)
    expected = bytearray()
    position = 0
    for part in parts:
        with open(part, "rb", buffering=0) as file:
            while chunk := file.read(_READ_BYTES):
                content = chunk[: max(0, checksum_offset - position)]
                digest.update(content)
                expected += chunk[len(content) :]
                position += len(chunk)
                report(min(position, checksum_offset), checksum_offset)
    return digest.digest() == bytes(expected[:_CHECKSUM_BYTES])

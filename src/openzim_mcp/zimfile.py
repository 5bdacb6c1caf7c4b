"""An archive as it lies on disk: its parts, its identity, and what its first bytes promise.

Plain file reads, no libzim: nothing in a file can crash this.
"""

from __future__ import annotations

import bisect
import hashlib
import os
import struct
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Identity = tuple[tuple[int, int, int, int], ...]
"""Device, inode, size and modification time of each part: it changes when the file does."""

_HEADER = struct.Struct("<IHH16sIIQQQQIIQ")
_MAGIC = 0x044D495A
_MAJOR_VERSIONS = (5, 6)
_CHECKSUM_BYTES = 16
_DIRENT_NAMESPACE = 3
_SETTLED_SECONDS = 60
_CHUNK = 1 << 20


def identify(parts: Sequence[str]) -> Identity:
    """Return the present identity of a file, given as its parts."""
    stats = (os.stat(part) for part in parts)
    return tuple((s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in stats)


@dataclass(frozen=True)
class ArchiveFile:
    """One archive of the library.

    `name` is unique and has no `.zim`; `path` is where it was seen, `parts` are the real files behind it; a `problem`
    says why it cannot be opened.
    """

    name: str
    path: str
    parts: tuple[str, ...]
    identity: Identity
    problem: str | None = None

    @property
    def size(self) -> int:
        """Bytes over all parts."""
        return sum(size for _, _, size, _ in self.identity)

    @property
    def modified(self) -> float:
        """Time of the newest part, in seconds since the epoch."""
        return max((mtime for *_, mtime in self.identity), default=0) / 1e9

    @property
    def shown(self) -> str:
        """The name as results show it."""
        return f"{self.name}.zim"

    @property
    def redacted(self) -> str:
        """The path as results show it: without its directory."""
        return f"...{self.shown}"

    def to_wire(self) -> dict[str, Any]:
        """Return what a worker needs to open this archive."""
        return {"name": self.name, "parts": self.parts}


@dataclass(frozen=True)
class Header:
    """The fields of a ZIM header that are read without libzim."""

    uuid: str
    entry_count: int
    path_pointers: int
    checksum_at: int | None

    @property
    def promised_size(self) -> int | None:
        """The size of the complete file, where the header tells."""
        return None if self.checksum_at is None else self.checksum_at + _CHECKSUM_BYTES


class NotAZim(Exception):
    """The bytes do not start a ZIM file that can be read; the message says why."""


class RawFile:
    """Random access over the parts of one file."""

    def __init__(self, parts: Sequence[str]) -> None:
        self._parts = parts
        sizes = [os.stat(part).st_size for part in parts]
        self._ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
        self.size = self._ends[-1]

    def read(self, offset: int, length: int) -> bytes:
        """Return up to `length` bytes: fewer only at the end of the file."""
        found = bytearray()
        while length > len(found) and offset + len(found) < self.size:
            at = offset + len(found)
            part = bisect.bisect_right(self._ends, at)
            with open(self._parts[part], "rb") as file:
                file.seek(at - (self._ends[part - 1] if part else 0))
                piece = file.read(length - len(found))
            if not piece:
                break
            found += piece
        return bytes(found)

    def header(self) -> Header:
        """Return the header, or raise `NotAZim`."""
        raw = self.read(0, _HEADER.size)
        if not self.size:
            raise NotAZim("the file is empty (0 bytes)")
        if len(raw) < 4 or struct.unpack_from("<I", raw)[0] != _MAGIC:  # noqa: PLR2004
            raise NotAZim("not a ZIM file: the first bytes are something else")
        if len(raw) < _HEADER.size:
            raise NotAZim(f"truncated: {self.size} bytes are less than a ZIM header")
        _, major, _, uuid, entries, _, path_pointers, _, _, mime_list, _, _, checksum_at = _HEADER.unpack(raw)
        if major not in _MAJOR_VERSIONS:
            raise NotAZim(f"ZIM format version {major} is not supported")
        return Header(
            uuid=uuid.hex(),
            entry_count=entries,
            path_pointers=path_pointers,
            checksum_at=checksum_at if mime_list >= _HEADER.size else None,
        )

    def namespace_of(self, header: Header, entry: int) -> str:
        """Return the namespace letter of an entry, or NUL where the file is damaged."""
        pointer = self.read(header.path_pointers + 8 * entry, 8)
        if len(pointer) < 8:  # noqa: PLR2004
            return "\0"
        return self.read(struct.unpack("<Q", pointer)[0] + _DIRENT_NAMESPACE, 1).decode("latin-1") or "\0"


def find_problem(parts: Sequence[str], modified: float) -> str | None:
    """Return why a file cannot be opened, or None when its header and size are sound."""
    try:
        raw = RawFile(parts)
        promised = raw.header().promised_size
    except NotAZim as problem:
        return str(problem)
    except OSError as error:
        return f"cannot be read: {error.strerror or 'input/output error'}"
    if promised is None or raw.size >= promised:
        return None
    if time.time() - modified < _SETTLED_SECONDS:
        return f"still being written: {raw.size} of {promised} bytes so far"
    return f"truncated: {raw.size} of {promised} bytes"


def checksum_matches(parts: Sequence[str], report: Callable[[int, int], None]) -> bool | None:
    """Compare the file with the MD5 that it carries; None if it carries none.

    `report` is called with the bytes done and in all; what it raises ends the work.
    """
    checksum_at = RawFile(parts).header().checksum_at
    if checksum_at is None:
        return None
    digest = hashlib.md5(usedforsecurity=False)
    expected = bytearray()
    done = 0
    for part in parts:
        with open(part, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                content = chunk[: max(0, checksum_at - done)]
                digest.update(content)
                expected += chunk[len(content) :]
                done += len(chunk)
                report(min(done, checksum_at), checksum_at)
    return digest.digest() == bytes(expected[:_CHECKSUM_BYTES])

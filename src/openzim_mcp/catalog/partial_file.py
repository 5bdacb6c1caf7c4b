"""A partial download (`NAME.zim.part`): hashed while it grows, renamed when its checksum matches.

If the process ends, the file stays and the next process resumes it. `NAME.zim.part.json` says what its bytes belong to.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import hashlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import msgspec

from openzim_mcp import errors, files
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNK_BYTES = 1 << 20
_MAX_PENDING_CHUNKS = 16
_SYNC_BYTES = 32 << 20
_SPARE_BYTES = 16 << 20


@dataclass(frozen=True)
class ResumeInfo:
    """What the bytes of a partial file belong to: the SHA-256 of the whole file, if known, and its URL and validator.

    A validator (RFC 9110) is the ETag or Last-Modified of the file on that server.
    """

    sha256: str | None
    url: str
    validator: str


class _BackgroundHash:
    """A SHA-256 that is computed in another thread, at most some chunks behind."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._executor = concurrent.futures.ThreadPoolExecutor(1, "hash")
        self._pending: collections.deque[concurrent.futures.Future[None]] = collections.deque()

    def update(self, chunk: bytes) -> None:
        if len(self._pending) >= _MAX_PENDING_CHUNKS:
            self._pending.popleft().result()
        self._pending.append(self._executor.submit(self._digest.update, chunk))

    def hexdigest(self) -> str:
        while self._pending:
            self._pending.popleft().result()
        return self._digest.hexdigest()

    def close(self) -> None:
        self._executor.shutdown(cancel_futures=True)


class PartialFile:
    """The downloaded part of a file; `with` opens and locks it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.path = f"{target}.part"
        self.size = 0
        self.resumed = False
        self._resume_info_path = f"{self.path}.json"
        self._hash = _BackgroundHash()
        self._sync_executor = concurrent.futures.ThreadPoolExecutor(1, "sync")
        self._synced_size = 0
        self._sync_result = self._sync_executor.submit(lambda: None)
        self.resume_info = self._load_resume_info()

    def __enter__(self) -> Self:
        try:
            self._file = open(self.path, "r+b" if os.path.exists(self.path) else "w+b", buffering=0)
        except OSError as error:
            raise self._not_writable(error) from None
        if not files.try_lock(self._file.fileno()):
            self._file.close()
            raise errors.DownloadFailed(f"Another process is downloading {self.name}.")
        self.size = os.fstat(self._file.fileno()).st_size
        self.resumed = self.size > 0
        return self

    def __exit__(self, *_: object) -> None:
        self._hash.close()
        self._sync_executor.shutdown()
        self._file.close()
        if not self.size:
            for path in (self.path, self._resume_info_path):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    @property
    def name(self) -> str:
        """The name of the complete file."""
        return os.path.basename(self.target)

    def _load_resume_info(self) -> ResumeInfo | None:
        try:
            with open(self._resume_info_path, "rb") as file:
                return msgspec.json.decode(file.read(), type=ResumeInfo)
        except (OSError, ValueError, msgspec.MsgspecError):
            return None

    def save_resume_info(self, resume_info: ResumeInfo) -> None:
        """Write what the bytes will belong to, before the first of them is written."""
        if resume_info == self.resume_info:
            return
        try:
            # Readable for others: in a shared directory another user may resume the download.
            files.write_atomic(self._resume_info_path, msgspec.json.encode(resume_info), mode=0o644)
        except OSError as error:
            raise self._not_writable(error) from None
        self.resume_info = resume_info

    def hash_existing(self, report: Callable[[int], None]) -> None:
        """Hash the bytes of an earlier download; `report` is called with the number of bytes so far."""
        hashed = 0
        for chunk in self._read_chunks():
            self._hash.update(chunk)
            hashed += len(chunk)
            report(hashed)

    def append(self, chunk: bytes) -> None:
        """Add bytes at the end."""
        try:
            self._write_all(chunk)
            self._sync_in_background()
        except OSError as error:
            raise self._not_writable(error) from None
        self._hash.update(chunk)

    def _sync_in_background(self) -> None:
        """Flush to disk while the download continues: `finish` has less to wait for, and a power loss costs less."""
        if abs(self.size - self._synced_size) >= _SYNC_BYTES and self._sync_result.done():
            # The system reports a write error once only, to the first sync after it.
            self._sync_result.result()
            self._synced_size = self.size
            self._sync_result = self._sync_executor.submit(os.fsync, self._file.fileno())

    def _write_all(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            written = self._file.write(view)
            self.size += written
            view = view[written:]

    def restart(self) -> None:
        """Delete all bytes, because they belong to another file."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self.resumed = False
        self._reset_hash()

    def _reset_hash(self) -> None:
        self._hash.close()
        self._hash = _BackgroundHash()

    def sha256(self) -> str:
        """Return the SHA-256 of all bytes so far."""
        return self._hash.hexdigest()

    def rehash(self, report: Callable[[int], None]) -> str:
        """Return the SHA-256 after pieces were rewritten."""
        self._reset_hash()
        self.hash_existing(report)
        return self.sha256()

    def find_wrong_pieces(self, length: int, algorithm: str, hashes: tuple[str, ...]) -> list[int]:
        """Return the numbers of the pieces whose hash does not match."""
        chunks = self._read_chunks(length)
        digests = (hashlib.new(algorithm, chunk, usedforsecurity=False).hexdigest() for chunk in chunks)
        pairs = enumerate(zip(digests, hashes, strict=False))
        return [number for number, (digest, expected) in pairs if digest != expected]

    def rewrite(self, offset: int, piece: bytes) -> None:
        """Replace the bytes at an offset."""
        self._file.seek(offset)
        self._file.write(piece)
        self._file.seek(self.size)

    def _read_chunks(self, length: int = _CHUNK_BYTES) -> Iterator[bytes]:
        self._file.seek(0)
        while chunk := self._file.read(length):
            yield chunk

    def check_space(self, total: int) -> None:
        """Raise `NotEnoughSpace` if the missing bytes do not fit on the disk."""
        check_space(os.path.dirname(self.target), total - self.size, self.name)

    def finish(self) -> None:
        """Flush the complete file to disk and rename it."""
        try:
            self._sync_result.result()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self.path, self.target)
            files.sync_directory(os.path.dirname(self.target))
        except OSError as error:
            raise self._not_writable(error) from None
        with contextlib.suppress(OSError):
            os.unlink(self._resume_info_path)

    def _not_writable(self, error: OSError) -> errors.FileNotWritable:
        kept_note = f" The downloaded {format_size(self.size)} are kept." if self.size else ""
        return errors.FileNotWritable(f"{self.name} cannot be written: {error.strerror}.{kept_note}")


def check_space(directory: str, needed: int, name: str) -> None:
    """Raise `NotEnoughSpace` if that many bytes do not fit into a directory."""
    free = shutil.disk_usage(directory or ".").free
    if needed + _SPARE_BYTES > free:
        raise errors.NotEnoughSpace(
            f"{name} needs {format_size(needed)} of free space; {format_size(free)} are free.",
            hint="Free some space, choose another directory with --dir, or a smaller flavour.",
            wanted=needed,
            free=free,
        )


def partial_size(target: str) -> int:
    """Return how many bytes of a file an earlier download has left."""
    try:
        return os.stat(f"{target}.part").st_size
    except OSError:
        return 0


def is_in_progress(path: str) -> bool:
    """Whether another process is downloading a partial file."""
    try:
        with open(path, "r+b") as file:
            return not files.try_lock(file.fileno())
    except OSError:
        return False

"""A file that is being got: `NAME.zim.part` beside its place, hashed as it grows, moved there when it is right.

Whatever ends the process, what was written stays, and the next one goes on from there. A note beside it,
`NAME.zim.part.json`, says what the bytes belong to.
"""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from openzim_mcp import errors, files
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CHUNK = 1 << 20
_AHEAD = 16
_SPARE = 16 << 20
_SYNCED = 32 << 20


@dataclass(frozen=True)
class Note:
    """What the bytes of a part belong to: the SHA-256 of the whole if it is known, and its mark on the server."""

    sha256: str | None = None
    url: str = ""
    mark: str = ""


class _Hash:
    """A SHA-256 that is made in a thread of its own, a few chunks behind."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "hash")
        self._pending: collections.deque[concurrent.futures.Future[None]] = collections.deque()

    def update(self, chunk: bytes) -> None:
        if len(self._pending) >= _AHEAD:
            self._pending.popleft().result()
        self._pending.append(self._thread.submit(self._digest.update, chunk))

    def hexdigest(self) -> str:
        while self._pending:
            self._pending.popleft().result()
        return self._digest.hexdigest()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)


class Part:
    """The part of a file that is here; open it with `with`, which locks it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.path = f"{target}.part"
        self.size = 0
        self.resumed = False
        self._note_path = f"{self.path}.json"
        self._hash = _Hash()
        self._disk = concurrent.futures.ThreadPoolExecutor(1, "disk")
        self._synced = 0
        self._syncing = self._disk.submit(lambda: None)
        self.note = self._read_note()

    def __enter__(self) -> Self:
        try:
            self._file = open(self.path, "r+b" if os.path.exists(self.path) else "w+b", buffering=0)
        except OSError as error:
            raise self.unwritable(error) from None
        if not files.try_lock(self._file.fileno()):
            self._file.close()
            raise errors.DownloadFailed(f"{self.name} is being downloaded by another process already.")
        self.size = os.fstat(self._file.fileno()).st_size
        self.resumed = self.size > 0
        return self

    def __exit__(self, *_: object) -> None:
        self._hash.close()
        self._disk.shutdown()
        self._file.close()
        if not self.size:
            for path in (self.path, self._note_path):
                with contextlib.suppress(OSError):
                    os.unlink(path)

    @property
    def name(self) -> str:
        """The name that the file will have."""
        return os.path.basename(self.target)

    def _read_note(self) -> Note | None:
        try:
            with open(self._note_path, encoding="utf-8") as file:
                kept: dict[str, Any] = json.load(file)
            return Note(kept["sha256"], str(kept["url"]), str(kept["mark"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def remember(self, note: Note) -> None:
        """Write down what the bytes belong to, before there are any."""
        if note == self.note:
            return
        try:
            # Readable for others: in a shared directory another user may continue the download.
            files.write_atomic(self._note_path, json.dumps(asdict(note)), mode=0o644)
        except OSError as error:
            raise self.unwritable(error) from None
        self.note = note

    def recall(self, report: Callable[[int], None]) -> None:
        """Hash what is here already."""
        done = 0
        for chunk in self._chunks():
            self._hash.update(chunk)
            done += len(chunk)
            report(done)

    def add(self, chunk: bytes) -> None:
        """Append bytes."""
        try:
            self._write(chunk)
            self._sync()
        except OSError as error:
            raise self.unwritable(error) from None
        self._hash.update(chunk)

    def _sync(self) -> None:
        """Let the disk work while the network does: it has to in the end, and a loss of power then costs little."""
        if abs(self.size - self._synced) >= _SYNCED and self._syncing.done():
            # Its failure is told once, to whoever asks first.
            self._syncing.result()
            self._synced = self.size
            self._syncing = self._disk.submit(os.fsync, self._file.fileno())

    def _write(self, chunk: bytes) -> None:
        view = memoryview(chunk)
        while view:
            written = self._file.write(view)
            self.size += written
            view = view[written:]

    def restart(self) -> None:
        """Throw away what is here, because it belongs to something else."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0
        self.resumed = False
        self._renew_hash()

    def _renew_hash(self) -> None:
        self._hash.close()
        self._hash = _Hash()

    def sha256(self) -> str:
        """Return the SHA-256 of what is here."""
        return self._hash.hexdigest()

    def rehash(self, report: Callable[[int], None]) -> str:
        """Return it after what is here has been mended."""
        self._renew_hash()
        self.recall(report)
        return self.sha256()

    def wrong_pieces(self, length: int, algorithm: str, hashes: tuple[str, ...]) -> list[int]:
        """Return the numbers of the pieces that are not as they should be."""
        found = (hashlib.new(algorithm, piece, usedforsecurity=False).hexdigest() for piece in self._chunks(length))
        return [number for number, (have, want) in enumerate(zip(found, hashes, strict=False)) if have != want]

    def mend(self, offset: int, piece: bytes) -> None:
        """Write a piece in place of a wrong one."""
        self._file.seek(offset)
        self._file.write(piece)
        self._file.seek(self.size)

    def _chunks(self, length: int = _CHUNK) -> Iterator[bytes]:
        self._file.seek(0)
        while chunk := self._file.read(length):
            yield chunk

    def check_space(self, total: int) -> None:
        """Raise `NotEnoughSpace` when what is missing does not fit on the disk."""
        check_space(os.path.dirname(self.target), total - self.size, self.name)

    def finish(self) -> None:
        """Make sure that the file is on the disk, and give it its name."""
        try:
            self._syncing.result()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self.path, self.target)
            files.sync_directory(os.path.dirname(self.target))
        except OSError as error:
            raise self.unwritable(error) from None
        with contextlib.suppress(OSError):
            os.unlink(self._note_path)

    def unwritable(self, error: OSError) -> errors.FileNotWritable:
        """Return an error of the disk as a sentence."""
        kept = f" The {self.size:,} bytes that came are kept." if self.size else ""
        return errors.FileNotWritable(f"{self.name} cannot be written: {error.strerror}.{kept}")


def check_space(directory: str, wanted: int, name: str) -> None:
    """Raise `NotEnoughSpace` when so many bytes do not fit into a directory."""
    free = shutil.disk_usage(directory or ".").free
    if wanted + _SPARE > free:
        raise errors.NotEnoughSpace(
            f"{name} needs {format_size(wanted)} more, and {format_size(free)} are free.",
            hint="Make room, choose another directory with --dir, or a smaller flavour.",
            wanted=wanted,
            free=free,
        )


def part_size(target: str) -> int:
    """Return how much of a file is here from an earlier attempt."""
    try:
        return os.stat(f"{target}.part").st_size
    except OSError:
        return 0

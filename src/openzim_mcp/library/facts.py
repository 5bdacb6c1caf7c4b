"""What is known of each archive, by the identity of its file.

Cheap facts are kept in memory. Expensive ones are also kept on disk, in the cache directory, for other processes of
this user: `archives/IDENTITY/NAME.json`, beside the index of `worker/search/passage_index.py` and the words of
`worker/search/vocabulary.py`. A fact belongs to one
state of a file: when the file changes, its identity changes, and the facts of its old state are not used any more.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

import msgspec
from cachetools import LRUCache

from openzim_mcp import __version__, errors, files
from openzim_mcp.calls.archive import Description  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from openzim_mcp.zimfile import ArchiveFile, HeaderCheck, Identity

Fact = TypeVar("Fact")
Scope = Literal["archive", "index"]

_FACT_TTL_SECONDS = 30 * 24 * 3600
"""Facts expire, as a disk may lose bits without changing the identity of a file."""
MAX_BYTES_ON_DISK = 4_000_000_000
"""No index is built while all of them and the other facts take more."""
_MAX_ARCHIVES_ON_DISK = 3000
_MAX_SLOW_ENTRIES = 1000
_MAX_CRASHED_ENTRIES = 200
_MAX_SLOW_CALLS = 2
_SLOW_PAUSE_SECONDS = 30
_CRASH = "index_crash"
_DESCRIPTION = "description"
_FACT_SUFFIX = ".json"


def _software() -> str:
    """Return the versions that a crash may depend on."""
    return f"openzim-mcp {__version__}, libzim {importlib.metadata.version('libzim')}"


@dataclass(frozen=True)
class Incident:
    """Why an archive, or only its search index, is quarantined."""

    scope: Scope
    reason: str
    is_timeout: bool


@dataclass
class ArchiveFacts:
    """What is known of one state of a file."""

    header: HeaderCheck | None = None
    description: Description | None = None
    unreadable: errors.OpenZimMcpError | None = None
    """Why opening it failed."""
    incidents: dict[Scope, Incident] | None = None
    """What is quarantined; None until the disk was asked."""
    slow_entries: LRUCache[str, bool] = field(default_factory=lambda: LRUCache(_MAX_SLOW_ENTRIES))
    """The entries whose reading took longer than a call may."""
    crashed_entries: LRUCache[str, bool] = field(default_factory=lambda: LRUCache(_MAX_CRASHED_ENTRIES))
    """The entries that ended a worker when they were read."""
    slow_calls: int = 0
    """How many calls, one after the other, waited for the disk until their deadline."""
    paused_until: float = 0.0
    """When the archive is asked again after several of these, by the monotonic clock."""
    saved: dict[str, object] = field(default_factory=dict)
    """Facts that are on disk too, in case the disk cannot be written."""

    @property
    def is_new(self) -> bool:
        """Whether nobody has opened it yet, as far as is known."""
        return self.description is None and self.unreadable is None


class Crash(msgspec.Struct, frozen=True):
    """A crash of a search index, and the versions of the software that crashed: others may do better."""

    reason: str
    software: str


class SavedDescription(msgspec.Struct, frozen=True):
    """A description, and the version of the software that made it: the next one may see more."""

    version: str
    description: Description


class _Saved(msgspec.Struct, Generic[Fact], frozen=True):
    """A fact on disk, with the UUID of its archive and the time when it was written."""

    uuid: str
    saved_at: float
    fact: Fact


def archive_too_slow(archive: ArchiveFile, reason: str) -> errors.ArchiveTooSlow:
    """Return the error for an archive on a disk that does not answer in time."""
    return errors.ArchiveTooSlow(
        f"{archive.name!r} is on a slow disk: {reason}.",
        hint="Ask again: what has been read stays in memory. `openzim-mcp doctor` measures the disk.",
        archive=archive.file_name,
    )


class FactStore:
    """The facts of all archives."""

    def __init__(self, directory: str | None = None, *, keeps_descriptions: bool = True) -> None:
        self._directory = directory or files.archives_directory()
        self._keeps_descriptions = keeps_descriptions
        self._facts: dict[Identity, ArchiveFacts] = {}

    def of(self, identity: Identity) -> ArchiveFacts:
        """Return the facts of a file in this state."""
        facts = self._facts.get(identity)
        if facts is None:
            facts = self._facts[identity] = ArchiveFacts()
        return facts

    def retain(self, identities: Collection[Identity]) -> None:
        """Drop the facts of all other files, except incidents: the directory of a file may become readable again."""
        for identity in list(self._facts):
            if identity not in identities and not self._facts[identity].incidents:
                self._facts.pop(identity, None)

    def incidents(self, archive: ArchiveFile) -> dict[Scope, Incident]:
        """Return what of an archive is quarantined; a crash of its index may have happened in another process."""
        facts = self.of(archive.identity)
        if facts.incidents is None:
            crash = self.load(archive, _CRASH, Crash)
            is_known = crash is not None and crash.software == _software()
            facts.incidents = {"index": Incident("index", crash.reason, is_timeout=False)} if crash and is_known else {}
        return facts.incidents

    def quarantine(self, archive: ArchiveFile, scope: Scope, reason: str, *, is_timeout: bool) -> None:
        """Quarantine an archive, or only its search index, until its file changes."""
        self.incidents(archive)[scope] = Incident(scope, reason, is_timeout)
        if scope == "index" and not is_timeout:
            self.save(archive, _CRASH, Crash(reason, _software()))

    def clear_timeouts(self, archive: ArchiveFile) -> None:
        """Lift a quarantine for a timeout, as the disk may have been asleep; one for a crash stays."""
        self.of(archive.identity).slow_entries.clear()
        incidents = self.incidents(archive)
        for scope in [scope for scope, incident in incidents.items() if incident.is_timeout]:
            del incidents[scope]

    def clear_incidents(self, archive: ArchiveFile) -> None:
        """Lift every quarantine of an archive, to check it again."""
        facts = self.of(archive.identity)
        facts.incidents = {}
        facts.slow_entries.clear()
        facts.crashed_entries.clear()
        facts.saved.pop(_CRASH, None)
        with contextlib.suppress(OSError):
            os.unlink(self._path(archive, _CRASH))

    def mark_slow(self, archive: ArchiveFile, entry: str) -> None:
        """Do not read an entry again until the archive is checked or its file changes."""
        self.of(archive.identity).slow_entries[entry] = True

    def mark_crashed(self, archive: ArchiveFile, entry: str) -> None:
        """Leave an entry out of calls until the archive is checked or its file changes: reading it ended a worker."""
        self.of(archive.identity).crashed_entries[entry] = True

    def note_slow_disk(self, archive: ArchiveFile) -> None:
        """Count a call that waited for the disk until its deadline; after several, leave the archive alone for a while.

        Slowness is not damage: nothing is quarantined.
        """
        facts = self.of(archive.identity)
        facts.slow_calls += 1
        if facts.slow_calls >= _MAX_SLOW_CALLS:
            facts.paused_until = time.monotonic() + _SLOW_PAUSE_SECONDS

    def note_reply(self, archive: ArchiveFile) -> None:
        """Record that an archive has answered a call in time."""
        facts = self.of(archive.identity)
        facts.slow_calls, facts.paused_until = 0, 0.0

    def require_open(self, archive: ArchiveFile, *, asks_index: bool, entry: str | None = None) -> None:
        """Raise `ArchiveQuarantined` if the archive is quarantined, or for a call to the index if that is.

        Raise `EntryTooSlow` for a call about an entry that took too long before.
        """
        if entry in self.of(archive.identity).slow_entries:
            raise errors.entry_too_slow(archive.name, safe_line(entry or "", 200))
        facts = self.of(archive.identity)
        if time.monotonic() < facts.paused_until:
            raise archive_too_slow(archive, f"the last {facts.slow_calls} calls waited for its disk in vain")
        incidents = self.incidents(archive)
        incident = incidents.get("archive") or (incidents.get("index") if asks_index else None)
        if incident is None:
            return
        subject = "The search index of" if incident.scope == "index" else "Archive"
        raise errors.ArchiveQuarantined(
            f"{subject} {archive.name!r} is quarantined: earlier, {incident.reason}.",
            hint="Replace the file with a valid copy; it is opened again as soon as it changes. "
            "zim_health says whether its checksum matches.",
            archive=archive.file_name,
            scope=incident.scope,
        )

    def load_descriptions(self, archives: Iterable[ArchiveFile]) -> None:
        """Take the descriptions of archives from disk that are not in memory yet."""
        for archive in archives if self._keeps_descriptions else ():
            facts = self.of(archive.identity)
            saved = self.load(archive, _DESCRIPTION, SavedDescription) if facts.description is None else None
            if saved and saved.version == __version__:
                facts.description = saved.description

    def save_descriptions(self, descriptions: Iterable[tuple[ArchiveFile, Description]]) -> None:
        """Keep the descriptions of archives in memory and, if that is wanted and possible, on disk."""
        for archive, description in descriptions:
            self.of(archive.identity).description = description
            if self._keeps_descriptions:
                self._write(archive, _DESCRIPTION, SavedDescription(__version__, description))
        self.remove_old()

    def load(self, archive: ArchiveFile, name: str, kind: type[Fact]) -> Fact | None:
        """Return a fact from disk if it has not expired, else from memory."""
        with contextlib.suppress(OSError, msgspec.DecodeError), open(self._path(archive, name), "rb") as file:
            saved = msgspec.json.decode(file.read(), type=_Saved[kind])  # type: ignore[valid-type]
            if saved.uuid == archive.uuid and time.time() - saved.saved_at < _FACT_TTL_SECONDS:
                return saved.fact
        fact = self.of(archive.identity).saved.get(name)
        return fact if isinstance(fact, kind) else None

    def save(self, archive: ArchiveFile, name: str, fact: object) -> None:
        """Save a fact in memory and, if possible, on disk."""
        self.of(archive.identity).saved[name] = fact
        self._write(archive, name, fact)
        self.remove_old()

    def _write(self, archive: ArchiveFile, name: str, fact: object) -> None:
        saved = _Saved(archive.uuid, time.time(), fact)
        with contextlib.suppress(OSError):
            files.write_atomic(self._path(archive, name), msgspec.json.encode(saved))

    def _path(self, archive: ArchiveFile, name: str) -> str:
        return os.path.join(self._directory, archive.identity, f"{name}{_FACT_SUFFIX}")

    def bytes_on_disk(self) -> int:
        """Return the size of all facts and indexes on disk."""
        paths = (os.path.join(folder, name) for folder, _, names in os.walk(self._directory) for name in names)
        total = 0
        for path in paths:
            with contextlib.suppress(OSError):
                total += os.path.getsize(path)
        return total

    def remove_indexes(self, archive: ArchiveFile) -> str | None:
        """Remove the indexes of an archive from disk, but not its facts; return why that failed, if it did."""
        try:
            with os.scandir(os.path.join(self._directory, archive.identity)) as entries:
                for entry in entries:
                    if not entry.name.endswith(_FACT_SUFFIX):
                        os.unlink(entry.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"cannot be removed: {error.strerror or 'input/output error'}"
        return None

    def remove_old(self) -> None:
        """Remove expired facts and indexes from disk, and the oldest if there are too many archives."""
        by_age: list[tuple[float, str]] = []
        with contextlib.suppress(OSError), os.scandir(self._directory) as entries:
            by_age = sorted((entry.stat().st_mtime, entry.path) for entry in entries if entry.is_dir())
        oldest = time.time() - _FACT_TTL_SECONDS
        for number, (modified, path) in enumerate(reversed(by_age)):
            if number >= _MAX_ARCHIVES_ON_DISK or modified < oldest:
                shutil.rmtree(path, ignore_errors=True)

"""What differs between two scans of the directories, reported once and only when it is stable."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import uris
from openzim_mcp.library.names import newest_editions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openzim_mcp.library.scan import ScanResult
    from openzim_mcp.zimfile import ArchiveFile, Identity

_WRITE_IDLE_SECONDS = 60
# The identity of an archive's file, and why it cannot be opened.
_FileState = tuple["Identity", str | None]
_ABSENT = ((), "absent")


@dataclass(frozen=True)
class Changes:
    """The canonical URIs of changed resources, and directories that became unreadable or readable again."""

    uris: tuple[str, ...] = ()
    list_changed: bool = False
    """Whether a readable archive was added or removed."""
    unreadable_directories: tuple[str, ...] = ()
    """With the reason."""
    recovered_directories: tuple[str, ...] = ()


class ChangeDetector:
    """Compares each scan with what was announced before.

    A change is announced when two scans in a row agree on it; until then `pending` is true, and the next scan should
    come soon. A file that is being written is announced when it is complete, or was not modified for a minute.
    """

    def __init__(self, listing: ScanResult) -> None:
        self.pending = False
        self._last = _file_states(listing)
        self._announced = {name: state for name, state in self._last.items() if state is not None}
        self._unreadable = _unreadable_directories(listing)

    def update(self, listing: ScanResult) -> Changes:
        """Return the changes to announce after a scan."""
        states = _file_states(listing)
        complete = {name for name, state in states.items() if state is not None}
        removed = self._announced.keys() - states.keys()
        changed = {name for name in complete | removed if _state_of(states, name) != _state_of(self._announced, name)}
        stable = {name for name in changed if _state_of(states, name) == _state_of(self._last, name)}
        self.pending = stable != changed
        self._last = states
        before, self._unreadable = self._unreadable, _unreadable_directories(listing)
        return Changes(
            *self._announce(stable),
            unreadable_directories=tuple(f"{name}: {reason}" for name, reason in sorted(self._unreadable - before)),
            recovered_directories=tuple(sorted(dict(before).keys() - dict(self._unreadable).keys())),
        )

    def _announce(self, names: set[str]) -> tuple[tuple[str, ...], bool]:
        """Set what is announced of these archives; return the changed URIs, and whether the list changed."""
        if not names:
            return (), False
        before = self._announced
        self._announced = {name: state for name, state in before.items() if name not in names}
        self._announced |= {name: state for name in names if (state := self._last.get(name)) is not None}
        aliases = _aliases(before).items() ^ _aliases(self._announced).items()
        changed_uris = {
            uris.canonical_uri(uris.archive_uri(name)) for name in [*names, *(alias for alias, _ in aliases)]
        }
        return (uris.LIST_URI, *sorted(changed_uris)), _readable(before) != _readable(self._announced)


def _state_of(states: Mapping[str, _FileState | None], name: str) -> object:
    return states.get(name, _ABSENT)


def _file_states(listing: ScanResult) -> dict[str, _FileState | None]:
    """Return the state of each archive, None while its file is being written."""
    now = time.time()
    return {
        archive.name: None if _is_being_written(archive, now) else (archive.identity, archive.problem)
        for archive in listing.archives
    }


def _is_being_written(archive: ArchiveFile, now: float) -> bool:
    if archive.problem is None:
        return False
    return archive.problem.startswith("still") or abs(now - archive.modified) < _WRITE_IDLE_SECONDS


def _readable(states: Mapping[str, _FileState]) -> set[str]:
    return {name for name, (_, problem) in states.items() if problem is None}


def _aliases(states: Mapping[str, _FileState]) -> dict[str, tuple[str, _FileState]]:
    """Return the newest edition for each name without a date."""
    return {alias: (name, states[name]) for alias, name in newest_editions(states).items()}


def _unreadable_directories(listing: ScanResult) -> set[tuple[str, str]]:
    return {(refusal.name, refusal.reason) for refusal in listing.rejected if refusal.is_directory}

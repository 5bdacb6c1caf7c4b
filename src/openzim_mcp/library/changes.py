"""What has changed between two looks at the directories, told once and only when it has come to rest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import uris
from openzim_mcp.library.scan import newest_editions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openzim_mcp.library.scan import Listing
    from openzim_mcp.zimfile import ArchiveFile, Identity

_SETTLED_SECONDS = 60
_State = tuple["Identity", str | None]
"""What an archive is taken for: its file, and why that cannot be opened."""


@dataclass(frozen=True)
class Changes:
    """What to tell: the keys of the addresses that lead to something else now, and the directories lost and found.

    `list_changed` says whether archives that can be read came or went.
    """

    keys: tuple[str, ...] = ()
    list_changed: bool = False
    lost: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


class Watch:
    """Compares each look at the directories with what was told before.

    A change counts when two looks in a row agree on it; until then the watch is `unsettled`, and should look again
    soon. A file that is still being written counts when it is complete, or has not moved for a minute.
    """

    def __init__(self, listing: Listing) -> None:
        self.unsettled = False
        self._seen = _states(listing)
        self._told = {name: state for name, state in self._seen.items() if state is not None}
        self._unreadable = _unreadable(listing)

    def look(self, listing: Listing) -> Changes:
        """Return what is to be told now."""
        seen = _states(listing)
        moved = {name for name in self._told.keys() | seen.keys() if _of(seen, name) != _of(self._told, name)}
        moved -= {name for name, state in seen.items() if state is None}
        settled = {name for name in moved if _of(seen, name) == _of(self._seen, name)}
        self.unsettled = settled != moved
        self._seen = seen
        unreadable, self._unreadable = self._unreadable, _unreadable(listing)
        return Changes(
            *self._tell(settled),
            lost=tuple(sorted(self._unreadable - unreadable)),
            found=tuple(sorted(unreadable - self._unreadable)),
        )

    def _tell(self, names: set[str]) -> tuple[tuple[str, ...], bool]:
        """Take these archives for what they are now; return the keys that this concerns, and whether the list does."""
        if not names:
            return (), False
        before = self._told
        self._told = {name: state for name, state in before.items() if name not in names}
        self._told |= {name: state for name in names if (state := self._seen.get(name)) is not None}
        aliases = _aliases(before).items() ^ _aliases(self._told).items()
        keys = {uris.key(uris.of_archive(name)) for name in [*names, *(alias for alias, _ in aliases)]}
        return (uris.FILES, *sorted(keys)), _readable(before) != _readable(self._told)


_GONE = ((), "gone")


def _of(states: Mapping[str, _State | None], name: str) -> object:
    return states.get(name, _GONE)


def _states(listing: Listing) -> dict[str, _State | None]:
    """Return what each archive is, or None while it is being written."""
    now = time.time()
    return {
        archive.name: None if _is_growing(archive, now) else (archive.identity, archive.problem)
        for archive in listing.archives
    }


def _is_growing(archive: ArchiveFile, now: float) -> bool:
    if archive.problem is None:
        return False
    return archive.problem.startswith("still") or abs(now - archive.modified) < _SETTLED_SECONDS


def _readable(states: Mapping[str, _State]) -> set[str]:
    return {name for name, (_, problem) in states.items() if problem is None}


def _aliases(states: Mapping[str, _State]) -> dict[str, tuple[str, _State]]:
    """Return what each name without a date stands for."""
    return {alias: (name, states[name]) for alias, name in newest_editions(states).items()}


def _unreadable(listing: Listing) -> set[str]:
    return {f"{refusal.name}: {refusal.reason}" for refusal in listing.refused if refusal.is_directory}

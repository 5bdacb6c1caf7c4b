"""Verdicts on whole files, kept on disk: what one process found out, the others of this user know.

A verdict belongs to one state of a file, and is not believed for ever: a disk may lose bits without the file changing.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any

from openzim_mcp import files
from openzim_mcp.zimfile import NotAZim, RawFile

if TYPE_CHECKING:
    from openzim_mcp.zimfile import ArchiveFile

_BELIEVED_SECONDS = 30 * 24 * 3600
_MOST = 1000


class Verdicts:
    """The file of verdicts; without a place for it nothing is kept, and nothing fails."""

    def __init__(self, path: str | None = None) -> None:
        self._path = path or os.path.join(files.cache_directory(), "verdicts.json")

    def recall(self, archive: ArchiveFile) -> bool | None:
        """Return what is known of this state of a file."""
        known = self._read()
        if not any(key.startswith(_state(archive)) for key in known):
            return None
        found = known.get(_key(archive))
        return bool(found["valid"]) if found else None

    def keep(self, archive: ArchiveFile, *, valid: bool) -> None:
        """Remember a verdict, and forget those that are old or too many."""
        known = self._read() | {_key(archive): {"valid": valid, "at": time.time()}}
        newest = sorted(known.items(), key=lambda row: row[1]["at"])[-_MOST:]
        with contextlib.suppress(OSError):
            files.write_atomic(self._path, json.dumps(dict(newest)))

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, encoding="utf-8") as file:
                rows = json.load(file)
            oldest = time.time() - _BELIEVED_SECONDS
            return {key: row for key, row in rows.items() if row["at"] > oldest}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}


def _state(archive: ArchiveFile) -> str:
    return ",".join(":".join(map(str, part)) for part in archive.identity)


def _key(archive: ArchiveFile) -> str:
    """Return what names this state of a file, and the archive in it."""
    try:
        uuid = RawFile(archive.parts).header().uuid
    except (OSError, NotAZim):
        uuid = ""
    return f"{_state(archive)}/{uuid}"

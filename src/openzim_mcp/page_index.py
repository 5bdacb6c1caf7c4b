"""The index of an archive's pages: what a job finds on them, in an SQLite file in the cache.

The job `ScanPages` writes it, once for each state of a file: `archives/IDENTITY/pages.sqlite`, beside the facts. It
reads each page once and hands its bytes to collectors (`worker/jobs/page_scan.py`); each has tables of its own here.
The rows of the collectors and how far the job is are committed together, so that a job that was ended goes on where it
was, and every process can read what is known so far.

    properties    name, value      version, uuid, done, of, state
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from openzim_mcp import files
from openzim_mcp.calls import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.zimfile import Identity

VERSION = 1
_FILE_NAME = "pages.sqlite"
_BUSY_SECONDS = 5
"""How long one who reads waits while the job commits, and the job for one who reads."""
_PROPERTIES = "CREATE TABLE IF NOT EXISTS properties (name TEXT PRIMARY KEY, value) WITHOUT ROWID;"


class PageIndexState(Struct, frozen=True):
    """How many of the pages have been read, and whether all that follows is done too."""

    is_complete: bool
    done: int
    of: int


def index_path(identity: Identity) -> str:
    """Return where the index of a file in this state is, or would be."""
    return os.path.join(files.archives_directory(), identity, _FILE_NAME)


@contextlib.contextmanager
def opened(identity: Identity) -> Iterator[sqlite3.Connection | None]:
    """Give the index of a file for reading, complete or not; None if there is none, or of another version."""
    path = index_path(identity)
    if not os.path.exists(path):
        yield None
        return
    uri = f"{Path(path).absolute().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, timeout=_BUSY_SECONDS, uri=True)) as database:
        database.execute("PRAGMA trusted_schema=OFF")
        yield database if read_property(database, "version") == VERSION else None


def open_for_writing(identity: Identity, schema: str) -> sqlite3.Connection:
    """Open the index of a file, with the tables of `schema`; a damaged one, or one of another version, is removed.

    Raise `OSError` or `sqlite3.Error` if it cannot be written.
    """
    path = index_path(identity)
    with contextlib.suppress(sqlite3.DatabaseError):
        database = _connect(path, schema)
        if read_property(database, "version") == VERSION:
            return database
        database.close()
    for suffix in ("", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)
    database = _connect(path, schema)
    write_property(database, "version", VERSION)
    return database


def _connect(path: str, schema: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    database.executescript(f"PRAGMA synchronous=NORMAL; {_PROPERTIES} {schema}")
    return database


def lock_path(identity: Identity) -> str:
    """Return the file that the process which writes the index has locked."""
    return f"{index_path(identity)}.lock"


def is_being_written(identity: Identity) -> bool:
    """Return whether a process is writing the index of a file now."""
    with contextlib.suppress(OSError), open(lock_path(identity), "rb+") as lock:
        return not files.try_lock(lock.fileno())
    return False


def read_property(database: sqlite3.Connection, name: str) -> object:
    """Return a property of an index; None if it has no such property."""
    row = database.execute("SELECT value FROM properties WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None


def write_property(database: sqlite3.Connection, name: str, value: str | int) -> None:
    """Set a property of an index."""
    database.execute("INSERT OR REPLACE INTO properties VALUES (?, ?)", (name, value))


def read_state(identity: Identity) -> PageIndexState | None:
    """Return how far the index of a file is; None if it has not been started, or cannot be read."""
    with contextlib.suppress(sqlite3.Error, OSError), opened(identity) as database:
        return None if database is None else read_state_of(database)
    return None


def read_state_of(database: sqlite3.Connection) -> PageIndexState | None:
    """Return how far an open index is; None if it has not been started."""
    done, of = (read_property(database, name) for name in ("done", "of"))
    if not isinstance(done, int) or not isinstance(of, int):
        return None
    return PageIndexState(read_property(database, "state") == "complete", done, of)

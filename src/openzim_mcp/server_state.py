"""The servers over HTTP that run on this machine: each writes a file, by which commands of the same user find it.

What a file says is checked before it is believed: it belongs to this user, the process exists, and the server responds.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import stat
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from openzim_mcp import files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TIMEOUT_SECONDS = 1.0
_MAX_FILE_BYTES = 64 * 1024
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_HTTP_OK = 200


class ServerState(msgspec.Struct, frozen=True):
    """A running server: `address` is where it listens, `url` begins its links, `directories` are what it serves."""

    pid: int
    address: str
    url: str
    directories: list[str]


@contextlib.contextmanager
def recorded_server(address: str, url: str, directories: Sequence[str | os.PathLike[str]]) -> Iterator[None]:
    """Record this process as a server while the block runs; without a directory for that, do nothing."""
    state = ServerState(os.getpid(), address, url, [os.path.realpath(path) for path in directories])
    path = os.path.join(_directory(), f"{state.pid}.json")
    with contextlib.suppress(OSError):
        os.makedirs(_directory(), mode=0o700, exist_ok=True)
        if _is_own(_directory()):
            files.write_atomic(path, msgspec.json.encode(state))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def find_server(directories: Sequence[str | os.PathLike[str]]) -> ServerState | None:
    """Return a server on this machine that serves all of these directories and files, and responds."""
    wanted = [os.path.realpath(path) for path in directories]
    for state in running_servers():
        if all(any(_is_inside(path, served) for served in state.directories) for path in wanted) and responds(state):
            return state
    return None


def running_servers() -> Iterator[ServerState]:
    """Yield what is recorded of processes that exist, the newest first."""
    try:
        names = [os.path.join(_directory(), name) for name in os.listdir(_directory()) if name.endswith(".json")]
        paths = sorted(names, key=os.path.getmtime, reverse=True)
    except OSError:
        return
    for path in paths:
        with contextlib.suppress(OSError, msgspec.DecodeError):
            if _is_own(path) and os.path.getsize(path) <= _MAX_FILE_BYTES:
                with open(path, "rb") as file:
                    state = msgspec.json.decode(file.read(), type=ServerState)
                if _exists(state.pid):
                    yield state


def _directory() -> str:
    return os.path.join(files.runtime_directory(), "servers")


def _is_own(path: str) -> bool:
    """Whether only this user can have written a file or directory."""
    if os.name != "posix":
        return True
    status = os.lstat(path)
    return status.st_uid == os.getuid() and not status.st_mode & _OTHERS_MAY_WRITE


def _exists(pid: int) -> bool:
    if os.name != "posix" or pid <= 0:
        return pid > 0
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return False  # of another user: the number was given to another process
    return True


def _is_inside(path: str, directory: str) -> bool:
    return path == directory or path.startswith(os.path.join(directory, ""))


def responds(state: ServerState) -> bool:
    """Whether a server responds."""
    parts = urlsplit(state.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        return response.status == _HTTP_OK and response.read(4) == b"ok\n"
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

"""Files that the package writes: the cache directory, atomic writes, locks."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import warnings

# On Windows a locked byte cannot be read through another handle, so the lock is on a byte that no file reaches
# (`filelock` locks the first one).
_LOCKED_BYTE = 1 << 40


def cache_directory() -> str:
    """Return the directory of this user's cache; it may not exist yet."""
    import platformdirs  # noqa: PLC0415  most commands need no cache

    return platformdirs.user_cache_dir("openzim-mcp", appauthor=False)


def library_directory() -> str:
    """Return the default directory for downloaded archives; it may not exist yet."""
    import platformdirs  # noqa: PLC0415  most commands name a directory

    # A directory of its own: on Windows the cache is inside the data directory.
    return os.path.join(platformdirs.user_data_dir("openzim-mcp", appauthor=False), "library")


def runtime_directory() -> str:
    """Return the directory of what this user's running programs record; it may not exist yet."""
    import platformdirs  # noqa: PLC0415

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a system without a runtime directory has one in the temporary directory
        return platformdirs.user_runtime_dir("openzim-mcp", appauthor=False)


def archives_directory() -> str:
    """Return the directory of what is known of archives: one below it for each identity, with facts and indexes."""
    return os.path.join(cache_directory(), "archives")


def words_path(identity: str) -> str:
    """Return where the record of the words of an archive is kept."""
    return os.path.join(archives_directory(), identity, "words")


def write_atomic(path: str, data: str | bytes, *, mode: int = 0o600) -> None:
    """Write a file in one step: a reader sees the old content or the new, never a part of it.

    Missing directories are created. If it fails (`OSError`), the old file is unchanged.
    """
    directory, name = os.path.split(os.path.abspath(path))
    os.makedirs(directory, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=directory, prefix=f".{name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def try_lock(descriptor: int) -> bool:
    """Lock an open file against other processes until it is closed; return False if another process has locked it.

    A file system without locks counts as locked successfully.
    """
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl  # noqa: PLC0415

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass
    return True


def sync_directory(directory: str) -> None:
    """Make renames in a directory survive a power loss, where the system can (not on Windows)."""
    if os.name != "posix":
        return
    descriptor = os.open(directory or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

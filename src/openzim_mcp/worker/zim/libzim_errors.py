"""libzim's exceptions, translated here and nowhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

ErrorTranslator = Callable[[], AbstractContextManager[None]]
"""`translated_errors` of one archive."""

_NO_MEMORY = ("not enough memory", "needed memory", "too much memory")
"""What zstd and lzma say; libzim passes it on as any other error."""


def out_of_memory(name: str) -> errors.OutOfMemory:
    """Return the error for a call that reached the memory limit of the worker."""
    return errors.OutOfMemory(
        f"Reading {name!r} takes more memory than a worker may have.",
        hint="It may be damaged or hostile; if you trust it, raise OPENZIM_MCP_WORKER__MEMORY_MIB.",
    )


@contextlib.contextmanager
def translated_errors(name: str, path: str) -> Iterator[None]:
    """Raise what libzim raises in the block as an error about the archive of that name and file."""
    try:
        yield
    except (MemoryError, RuntimeError, ValueError, LookupError, OSError) as error:
        if isinstance(error, MemoryError) or any(text in str(error) for text in _NO_MEMORY):
            raise out_of_memory(name) from error
        reason = safe_line(str(error).replace(path, name), 200)
        raise errors.ArchiveUnusable(
            f"{name!r} is damaged: {reason}",
            hint="Check it with zim_health and download it again if the checksum is wrong.",
        ) from error

"""Trying out an archive: whether it opens, what it is, whether its indexes answer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.library.quarantine import asks_index

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive

_TRIES = 5
_SAMPLE = 50
_LARGEST = 4 << 20


@dataclass(frozen=True)
class Condition:
    """What an archive that opens says of itself."""

    has_checksum: bool
    checksum: str | None
    has_fulltext_index: bool
    has_title_index: bool
    uuid: str
    is_multipart: bool
    articles: int


def try_opening(archive: Archive) -> Condition:
    """Open an archive and read its first and last entries."""
    for numbers in archive.namespaces.values():
        archive.path_at(numbers[0])
        archive.path_at(numbers[-1])
    return Condition(
        has_checksum=archive.has_checksum,
        checksum=archive.checksum if archive.has_checksum else None,
        has_fulltext_index=archive.has_fulltext_index,
        has_title_index=archive.has_title_index,
        uuid=archive.uuid,
        is_multipart=archive.is_multipart,
        articles=archive.counts["articles"],
    )


def try_reading(archive: Archive) -> int:
    """Read entries from all over the archive, and return how many; a damaged part fails here."""
    numbers = archive.content
    some = numbers[:: max(1, len(numbers) // _SAMPLE)][:_SAMPLE]
    for number in some:
        with contextlib.suppress(errors.RedirectLoop):
            item = archive.find(archive.path_at(number))
            if item and item.size <= _LARGEST:
                archive.read(item.path)
    return len(some)


@asks_index
def try_indexes(archive: Archive) -> bool:
    """Ask the indexes for words from titles all over the archive; a damaged index fails here."""
    numbers = max(archive.namespaces.values(), key=len, default=range(0))
    some = numbers[:: max(1, len(numbers) // _TRIES)][:_TRIES]
    words = [word for number in some for word in archive.entry_at(number).title.split()[:1]]
    archive.try_indexes(words or ["a"])
    return True

"""Build the index of an archive's passages; `worker/search/passage_index.py` describes it."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from openzim_mcp import errors, files
from openzim_mcp.calls.archive import PassageIndexResult
from openzim_mcp.worker.readers import read_document
from openzim_mcp.worker.search.fulltext import text_paths
from openzim_mcp.worker.search.passage_index import IndexWriter, TooLarge, index_path
from openzim_mcp.worker.zim import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.calls.archive import BuildPassageIndex

_MAX_ENTRY_BYTES = 16 << 20
"""A larger entry is data rather than a text to read."""


def build_passage_index(
    parts: Sequence[str], _job: BuildPassageIndex, report: Callable[[int, int], None]
) -> PassageIndexResult:
    """Read all texts of an archive and index their passages, unless another process is doing that."""
    archive = Archive(os.path.basename(parts[0]).partition(".zim")[0], parts)
    path = index_path(archive.identity)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.lock", "wb") as lock:
            if not files.try_lock(lock.fileno()):
                return PassageIndexResult(None)
            with IndexWriter(path, archive.uuid) as writer:
                return _write_index(writer, archive, report)
    except (OSError, sqlite3.Error) as error:
        raise errors.FileNotWritable(f"The index of {archive.name!r} cannot be written: {error}.") from error


def _write_index(writer: IndexWriter, archive: Archive, report: Callable[[int, int], None]) -> PassageIndexResult:
    try:
        skipped = _add_pages(writer, archive, report)
    except TooLarge:
        writer.clear()
        return PassageIndexResult("too_large", text_bytes=writer.text_bytes, index_bytes=writer.finish("too_large"))
    size = writer.finish("complete")
    return PassageIndexResult("complete", writer.passages, writer.text_bytes, size, skipped)


def _add_pages(writer: IndexWriter, archive: Archive, report: Callable[[int, int], None]) -> int:
    """Add all pages that can be read, and return how many cannot."""
    counts = archive.counts
    total = counts["articles"] or counts["entries"]
    skipped = 0
    for number, path in enumerate(text_paths(archive)):
        report(min(number, total), total)
        try:
            item = archive.find_entry(path)
            if item and item.size <= _MAX_ENTRY_BYTES:
                writer.add_page(item.path, item.title, read_document(archive, item))
        except (errors.OpenZimMcpArchiveError, UnicodeError):
            skipped += 1
    return skipped

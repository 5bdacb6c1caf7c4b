"""Importance: count the redirects that lead to each entry of a large archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.archive import ImportanceResult
from openzim_mcp.worker import importance
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import stat_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openzim_mcp.calls.archive import MeasureImportance


def measure_importance(
    parts: Sequence[str], _job: MeasureImportance, report: Callable[[int, int], None]
) -> ImportanceResult:
    """Walk all entries, count the redirects, and keep the levels in the cache."""
    identity = stat_parts(parts).identity
    archive = Archive("archive", parts)
    entries = archive.entry_count
    redirects = 0

    def targets() -> Iterator[int]:
        nonlocal redirects
        for number, target in archive.redirects():
            redirects += 1
            report(number, entries)
            yield target

    levels = importance.compute_levels(targets(), entries)
    try:
        importance.save_levels(identity, levels)
    except OSError as error:
        return ImportanceResult(entries, redirects, f"cannot be kept: {error.strerror or 'input/output error'}")
    return ImportanceResult(entries, redirects)

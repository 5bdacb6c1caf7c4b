"""Results of calls that are kept: a row per call, with the result of each archive that was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cachetools import TTLCache

from openzim_mcp.calls import encode_call

if TYPE_CHECKING:
    from openzim_mcp.calls import Call, Result
    from openzim_mcp.config import CacheSettings
    from openzim_mcp.zimfile import Identity

_MAX_BYTES = 64 << 20


@dataclass
class _Row:
    """The results of one call, by the identity of the archive's file, and their encoded size."""

    results: dict[Identity, Any] = field(default_factory=dict)
    size: int = 0


class ResultCache:
    """Keeps results until they are old, too many or too large; none outlives a change of its archive's file.

    The limit counts calls, not archives: a question to 300 archives takes one row.
    """

    def __init__(self, settings: CacheSettings) -> None:
        self._rows: TTLCache[tuple[str, bytes], _Row] = TTLCache(
            settings.max_size if settings.enabled else 0, settings.ttl_seconds
        )
        self.hits = 0
        self.misses = 0

    def get(self, call: Call[Result], identity: Identity) -> Result | None:
        """Return the kept result of a call on an archive."""
        row = self._rows.get((call.function, encode_call(call)))
        result: Result | None = row.results.get(identity) if row else None
        self.hits += result is not None
        self.misses += result is None
        return result

    def put(self, call: Call[Result], identity: Identity, result: object, size: int) -> None:
        """Keep a result whose encoding has that size."""
        if not self._rows.maxsize:
            return
        row = self._rows.setdefault((call.function, encode_call(call)), _Row())
        if identity not in row.results:  # two callers may have asked at once
            row.size += size
        row.results[identity] = result
        while len(self._rows) > 1 and sum(row.size for row in self._rows.values()) > _MAX_BYTES:
            self._rows.popitem()

    def drop(self, identity: Identity) -> None:
        """Drop all results of an archive: they would be others now, though its file has not changed."""
        for row in self._rows.values():
            row.results.pop(identity, None)

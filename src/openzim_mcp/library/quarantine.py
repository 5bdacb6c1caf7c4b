"""Archives that made a worker crash or hang: closed until their file changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from openzim_mcp import errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.zimfile import ArchiveFile, Identity

Scope = Literal["archive", "index"]
SCOPE_ATTRIBUTE = "quarantine_scope"
_Call = TypeVar("_Call", bound="Callable[..., Any]")


def asks_index(function: _Call) -> _Call:
    """Mark a service call that asks an index: if it crashes, the rest of the archive stays open."""
    setattr(function, SCOPE_ATTRIBUTE, "index")
    return function


@dataclass(frozen=True)
class Incident:
    """What happened, and to which state of the file."""

    identity: Identity
    scope: Scope
    reason: str
    too_slow: bool


class Quarantine:
    """The incidents of each archive, forgotten when its file changes."""

    def __init__(self) -> None:
        self._incidents: dict[tuple[str, ...], dict[Scope, Incident]] = {}

    def of(self, archive: ArchiveFile) -> dict[Scope, Incident]:
        """Return what still holds for this state of the file."""
        known = self._incidents.get(archive.parts, {})
        current = {scope: incident for scope, incident in known.items() if incident.identity == archive.identity}
        if known and not current:
            del self._incidents[archive.parts]
        return current

    def add(self, archive: ArchiveFile, scope: Scope, reason: str, *, too_slow: bool = False) -> None:
        """Close the archive, or only its index."""
        incident = Incident(archive.identity, scope, reason, too_slow)
        self._incidents[archive.parts] = self.of(archive) | {scope: incident}

    def forgive_slowness(self, archive: ArchiveFile) -> None:
        """Reopen what was only too slow: a sleeping disk may be awake now. What crashed stays closed."""
        current = self.of(archive)
        if current:
            self._incidents[archive.parts] = {s: i for s, i in current.items() if not i.too_slow}

    def check(self, archive: ArchiveFile, scope: Scope) -> None:
        """Refuse a call that would go the same way."""
        current = self.of(archive)
        incident = current.get("archive") or (current.get("index") if scope == "index" else None)
        if incident is None:
            return
        what = "The search index of" if incident.scope == "index" else "Archive"
        raise errors.ArchiveQuarantined(
            f"{what} {archive.name!r} is closed: earlier, {incident.reason}.",
            hint="Replace the file with a sound copy; it is opened again as soon as it changes. "
            "zim_health tells whether its checksum is right.",
            archive=archive.shown,
            scope=incident.scope,
        )

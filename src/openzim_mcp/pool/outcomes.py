"""What a call brings from many archives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic

from openzim_mcp import errors
from openzim_mcp.calls import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.zimfile import ArchiveFile

ProgressCallback = Callable[[int, int], Awaitable[None]]
"""Called with the steps done and in all."""


@dataclass(frozen=True)
class Outcomes(Generic[Result]):
    """What a call brought from many archives, by their names: results, and why the others failed."""

    results: dict[str, Result]
    errors: dict[str, errors.OpenZimMcpError]


@dataclass
class Collected(Generic[Result]):
    """What the archives of a call have brought so far."""

    archives: Sequence[ArchiveFile]
    progress: ProgressCallback | None
    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, errors.OpenZimMcpError] = field(default_factory=dict)

    async def add(self, archive: ArchiveFile, attempt: Awaitable[Result]) -> None:
        """Add the result of an archive, or its error."""
        try:
            self.results[archive.name] = await attempt
        except errors.OpenZimMcpError as error:
            self.failures[archive.name] = error
        if self.progress:
            await self.progress(len(self.results) + len(self.failures), len(self.archives))

    def outcomes(self) -> Outcomes[Result]:
        """Return everything in the order of the archives; those that are missing have an error."""
        too_late = errors.OpenZimMcpArchiveError("It did not answer before the deadline.")
        names = [archive.name for archive in self.archives]
        return Outcomes(
            {name: self.results[name] for name in names if name in self.results},
            {name: self.failures.get(name, too_late) for name in names if name not in self.results},
        )

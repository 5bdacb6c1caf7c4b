"""How far a long call has come, for a client that asked to be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openzim_mcp.pool.jobs import Listener


@dataclass
class Tally:
    """Counts the parts of a call that are done."""

    listener: Listener | None
    total: int
    done: int = 0

    async def step(self) -> None:
        """Count one more."""
        self.done += 1
        if self.listener:
            await self.listener(self.done, self.total)

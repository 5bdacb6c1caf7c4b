"""Looks at the directories again and again, and has what changed announced."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import anyio

from openzim_mcp import errors
from openzim_mcp.library.changes import Watch
from openzim_mcp.protocol.errors import foreseen

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend
    from openzim_mcp.protocol.subscriptions import Subscriptions

log = logging.getLogger(__name__)

_REST_SECONDS = 0.5
"""A change that stays the same for so long is one."""


async def watch(backend: Backend, subscriptions: Subscriptions) -> None:
    """Look every few seconds; once more in between if something has just moved."""
    watching = Watch(await backend.scan())
    while True:
        await anyio.sleep(backend.settings.watch_interval_seconds)
        await _look(watching, backend, subscriptions)
        if watching.unsettled:
            await anyio.sleep(_REST_SECONDS)
            await _look(watching, backend, subscriptions)


async def _look(watching: Watch, backend: Backend, subscriptions: Subscriptions) -> None:
    with contextlib.suppress(errors.OpenZimMcpError), foreseen("Watching the directories"):
        changes = watching.look(await backend.scan())
        for directory in changes.lost:
            log.warning("%s; it is looked for every few seconds", directory)
        for directory in changes.found:
            log.info("%s: this is over", directory)
        await subscriptions.announce(changes)

"""Scan the directories periodically and publish what changed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio

from openzim_mcp.library.changes import ChangeDetector

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openzim_mcp.app.app import App
    from openzim_mcp.library.changes import Changes

log = logging.getLogger(__name__)

_CONFIRM_SECONDS = 0.5


async def watch(app: App, publish: Callable[[Changes], Awaitable[None]], is_watching: anyio.Event) -> None:
    """Scan at the configured interval; once more shortly after a change, to see whether it is stable.

    `is_watching` is set after the first scan: changes from then on are published.
    """
    detector = ChangeDetector(await app.scan())
    is_watching.set()
    while True:
        await anyio.sleep(app.settings.watch_interval_seconds)
        await _publish_changes(detector, app, publish)
        if detector.pending:
            await anyio.sleep(_CONFIRM_SECONDS)
            await _publish_changes(detector, app, publish)


async def _publish_changes(detector: ChangeDetector, app: App, publish: Callable[[Changes], Awaitable[None]]) -> None:
    try:
        changes = detector.update(await app.scan())
        for directory in changes.unreadable_directories:
            log.warning("%s", directory)
        for directory in changes.recovered_directories:
            log.info("%s: directory is readable again", directory)
        await publish(changes)
    except Exception:
        # One failed scan must not stop the server, nor the scans after it.
        log.exception("watching the directories failed")

"""Whether this server can serve: the health of its archives, checked at most once a second for all who ask."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import anyio

from openzim_mcp.app import health
from openzim_mcp.http.errors import ErrorResponse

if TYPE_CHECKING:
    from openzim_mcp.app.app import App

_CHECK_SECONDS = 1.0
_TIMEOUT_SECONDS = 2.0


class Readiness:
    """The result of the last check, which `zim_health` would give too."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._error: ErrorResponse | None = None
        self._checked_at = -_CHECK_SECONDS
        self._checking = anyio.Lock()

    async def check(self) -> ErrorResponse | None:
        """Return why this server cannot serve, or None if it can."""
        async with self._checking:
            if time.monotonic() - self._checked_at >= _CHECK_SECONDS:
                self._error = await self._check_archives()
                self._checked_at = time.monotonic()
            return self._error

    async def _check_archives(self) -> ErrorResponse | None:
        with anyio.move_on_after(_TIMEOUT_SECONDS):
            problem = await health.serving_problem(self._app)
            return ErrorResponse(503, problem, retry_after=_CHECK_SECONDS) if problem else None
        return ErrorResponse(503, "The directories of the archives do not respond.", retry_after=_TIMEOUT_SECONDS)

"""Progress of a tool call: what its work reports and, until it reports something, that it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_Result = TypeVar("_Result")
_SIGN_OF_LIFE_SECONDS = 1.0


class ProgressReporter:
    """Passes on the progress of one call, whose numbers have to rise."""

    def __init__(self, send: Callable[[float, float | None], Awaitable[None]]) -> None:
        self._send = send
        self._has_reported = False

    async def report(self, done: int, total: int) -> None:
        """Pass on what the work reports."""
        self._has_reported = True
        await self._send(done, total)

    async def run(self, work: Awaitable[_Result]) -> _Result:
        """Return the result of some work, with a sign of life for every second that it goes on without a report."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send_signs_of_life)
                result = await work
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as failures:  # the group has wrapped the error of the work
            raise failures.exceptions[0] from None
        return result

    async def _send_signs_of_life(self) -> None:
        """Send numbers that rise and stay below 1: the work may still report that it has done 1 of some."""
        seconds = 0
        while not self._has_reported:
            await anyio.sleep(_SIGN_OF_LIFE_SECONDS)
            seconds += 1
            if not self._has_reported:
                await self._send(seconds / (seconds + 10), None)

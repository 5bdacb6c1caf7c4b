"""A record of every call: who asked for what, how long it took, how it ended; never what was asked."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import mcp_types as types

from openzim_mcp.app.caller import caller_of
from openzim_mcp.logs import FIELDS
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

log = logging.getLogger("openzim_mcp.calls")

_LONGEST_NAME = 100


class Counter(Protocol):
    """Counts calls."""

    def count(self, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Take note of a call."""
        ...


class Record:
    """Writes a line for each request of a client, and has it counted."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Serve a message and record it."""
        if ctx.request_id is None:
            return await call_next(ctx)
        start = time.perf_counter()
        outcome = "failed"
        try:
            result = await call_next(ctx)
        except anyio.get_cancelled_exc_class():
            outcome = "cancelled"
            raise
        else:
            outcome = _outcome(result)
            return result
        finally:
            self._note(ctx, outcome, time.perf_counter() - start)

    def _note(self, context: ServerRequestContext[Any, Any], outcome: str, seconds: float) -> None:
        tool, archive = _about(context)
        self._counter.count(context.method, tool, outcome, seconds)
        caller = caller_of(context)
        fields = {
            "request": caller.request_id,
            "client": caller.client,
            "tool": tool,
            "archive": archive,
            "ms": round(seconds * 1000, 1),
            "outcome": outcome,
        }
        log.info(context.method, extra={FIELDS: {name: value for name, value in fields.items() if value != ""}})
        log.debug("asked: %s", safe_line(str(context.params), 2000))


def _outcome(result: HandlerResult) -> str:
    """Return "ok", or the kind of an error that a tool has told its client."""
    told = None
    if isinstance(result, types.CallToolResult) and result.is_error:
        told = result.structured_content or {}
    elif isinstance(result, dict) and result.get("isError"):
        told = result.get("structuredContent") or {}
    return "ok" if told is None else str(told.get("operation", "error"))


def _about(context: ServerRequestContext[Any, Any]) -> tuple[str, str]:
    """Return the tool and the archive that a call names, as far as they can be told without trusting it."""
    params = context.params or {}
    if context.method != "tools/call":
        return "", ""
    given = params.get("arguments")
    archive = given.get("zim_file_path") if isinstance(given, dict) else None
    name = os.path.basename(str(archive).replace("\\", "/")) if archive else ""
    return safe_line(str(params.get("name", "")), _LONGEST_NAME), safe_line(name, _LONGEST_NAME)

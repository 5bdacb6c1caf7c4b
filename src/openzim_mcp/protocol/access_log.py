"""Log and count every request: client, tool, archive, duration and outcome, never its arguments."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Protocol

import anyio
import mcp_types as types

from openzim_mcp.logs import FIELDS
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult

    from openzim_mcp.protocol.context import RequestContext

log = logging.getLogger("openzim_mcp.calls")

_MAX_NAME_CHARS = 100
_MAX_PARAMS_CHARS = 2000


class RequestCounter(Protocol):
    """Metrics of requests."""

    def count(self, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Count one request."""
        ...


class AccessLog:
    """Middleware that writes one line per request."""

    def __init__(self, counter: RequestCounter) -> None:
        self._counter = counter

    async def __call__(self, ctx: RequestContext, call_next: CallNext) -> HandlerResult:
        """Handle a message; log it if it is a request."""
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
            self._log_request(ctx, outcome, time.perf_counter() - start)

    def _log_request(self, context: RequestContext, outcome: str, seconds: float) -> None:
        tool, archive = _tool_and_archive(context)
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
        log.info(
            "%s",
            safe_line(context.method, _MAX_NAME_CHARS),
            extra={FIELDS: {name: value for name, value in fields.items() if value != ""}},
        )
        log.debug("parameters: %s", safe_line(str(context.params), _MAX_PARAMS_CHARS))


def _outcome(result: HandlerResult) -> str:
    """Return "ok", or the `operation` code of a tool's error."""
    error = None
    if isinstance(result, types.CallToolResult) and result.is_error:
        error = result.structured_content or {}
    elif isinstance(result, dict) and result.get("isError"):
        error = result.get("structuredContent") or {}
    return "ok" if error is None else str(error.get("operation", "error"))


def _tool_and_archive(context: RequestContext) -> tuple[str, str]:
    """Return the names of the tool and the archive of a call whose arguments were not validated yet."""
    params = context.params or {}
    if context.method != "tools/call":
        return "", ""
    arguments = params.get("arguments")
    archive = arguments.get("zim_file_path") if isinstance(arguments, dict) else None
    name = os.path.basename(str(archive).replace("\\", "/")) if archive else ""
    return safe_line(str(params.get("name", "")), _MAX_NAME_CHARS), safe_line(name, _MAX_NAME_CHARS)

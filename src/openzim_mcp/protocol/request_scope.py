"""Run each request on behalf of its client, and only for as long as somebody waits for the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
from mcp import MCPError
from mcp.server.streamable_http import REQUEST_CANCELLED

from openzim_mcp.pool.fair_queue import queued_as
from openzim_mcp.protocol.context import caller_of

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult

    from openzim_mcp.protocol.context import RequestContext

_MAX_METHOD_CHARS = 100


async def run_for_client(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
    """Handle a message; a request is cancelled when its client disconnects, as its response could not be sent.

    The protocol versions with `initialize` ask that a lost connection is not taken for a cancellation, because a client
    may resume the stream. No stream can be resumed here: nothing would ever read the response.
    """
    if ctx.request_id is None:
        return await call_next(ctx)
    if len(ctx.method) > _MAX_METHOD_CHARS:  # the SDK's error would repeat it
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found")
    caller = caller_of(ctx)
    queue_path = (caller.client, id(ctx.session.client_params), caller.request_id or ctx.request_id)
    with queued_as(queue_path), caller.recipient.cancel_when_gone():
        return await call_next(ctx)
    raise MCPError(REQUEST_CANCELLED, "The client disconnected.")

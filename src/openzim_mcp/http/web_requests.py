"""A request to the API or the page: limited, fair to other clients, and ended when nobody waits for the response."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import anyio

from openzim_mcp import addresses, errors
from openzim_mcp.app.caller import get_caller
from openzim_mcp.http.bodies import BodyTooLarge, Replay, read_body
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.exchange import ByteBudget, Exchange
from openzim_mcp.http.middleware import client_key
from openzim_mcp.logs import FIELDS
from openzim_mcp.pool.fair_queue import queued_as
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openzim_mcp.app.caller import Caller
    from openzim_mcp.http.shutdown import Shutdown

log = logging.getLogger("openzim_mcp.calls")

MAX_BODY_BYTES = 64 * 1024
_MAX_KIND_CHARS = 100
_TOO_LARGE = ErrorResponse(413, f"The body of a request may have up to {MAX_BODY_BYTES} bytes.")
_ENDING = "The server is shutting down; send the request again in a moment."
_UNREAD = "Too many answers to this client have not been read; read them first."


class WebMiddleware:
    """Serve a request of the API or the page on behalf of its client."""

    def __init__(self, app: ASGIApp, shutdown: Shutdown, unread: ByteBudget) -> None:
        self._app = app
        self._shutdown = shutdown
        self._unread = unread

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; a large response is counted until the client has read it."""
        try:
            body = await read_body(scope, receive, MAX_BODY_BYTES)
        except BodyTooLarge:
            await _TOO_LARGE(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def send_response(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        exchange = Exchange(send_response, self._unread, client_key(scope))
        try:
            with self._shutdown.request(is_stream=False) as ending:
                await self._serve(scope, receive, exchange, body)
            if ending.cancelled_caught:
                await exchange.fail(scope, receive, None, _ENDING)
            elif exchange.is_refused:
                await exchange.fail(scope, receive, None, _UNREAD)
        finally:
            exchange.discard()
            _log_request(scope, status, time.perf_counter() - start)

    async def _serve(self, scope: Scope, receive: Receive, exchange: Exchange, body: bytes) -> None:
        caller = get_caller(scope)
        queue_path = (caller.client, None, caller.request_id)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_leave_on_disconnect, receive, caller)
            with queued_as(queue_path), caller.recipient.cancel_when_gone():
                try:
                    await self._app(scope, Replay(receive, body).receive, exchange.send)
                    await exchange.finish()
                except errors.OpenZimMcpError as error:
                    # The response has begun, so that its end is missing: the connection is closed.
                    log.warning("a response was not completed: %s", error.message)
            tasks.cancel_scope.cancel()


async def _leave_on_disconnect(receive: Receive, caller: Caller) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    caller.recipient.leave()


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    """Write a line per request: which endpoint or kind of page, never what was asked for; status 0 if nobody waited."""
    segments = 4 if addresses.is_api(scope["path"]) else 2
    kind = "/".join(scope["path"].split("/")[:segments])
    caller = get_caller(scope)
    fields = {"request": caller.request_id, "client": caller.client, "ms": round(seconds * 1000, 1), "status": status}
    log.info("%s %s", scope["method"], safe_line(kind, _MAX_KIND_CHARS), extra={FIELDS: fields})

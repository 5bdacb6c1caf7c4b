"""Session ids that begin with the name of the replica that has the session, so that a proxy can find the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.http.concurrency import SESSION_ID

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Replica:
    """Puts a name in front of the session ids that leave, and takes it off those that come."""

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._prefix = f"{name}-".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(k, self._prefix + v if k.lower() == SESSION_ID else v) for k, v in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        own = [(k, v.removeprefix(self._prefix) if k == SESSION_ID else v) for k, v in scope["headers"]]
        await self._app({**scope, "headers": own}, receive, named)

"""Telling clients what has changed: one bus, a leg for the handshake revisions and one for 2026-07-28.

In the handshake revisions a connection subscribes to resources one by one and hears of the list unasked. Its pump is
the handler of `notifications/initialized`: the SDK runs that in the connection's own task group and cancels it when the
connection ends, which cleans up. In 2026-07-28 a request is the stream, and the SDK serves it.
"""

from __future__ import annotations

import dataclasses
import logging
import re
import weakref
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openzim_mcp import uris as addresses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

    from openzim_mcp.library.changes import Changes

log = logging.getLogger(__name__)

_SEND_SECONDS = 5.0
_MOST = 1000
_LONGEST = 8192
_URI = re.compile(r"[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)


@dataclass
class _Connection:
    """A connection of a handshake revision: what it wants to hear of, and what it has not been told yet."""

    uris: set[str] = field(default_factory=set)
    pending: dict[ServerEvent, None] = field(default_factory=dict)
    wake: anyio.Event = field(default_factory=anyio.Event)
    is_served: bool = False
    is_dropped: bool = False

    def offer(self, event: ServerEvent) -> None:
        """Take note of an event; one that waits to be told already is not told twice."""
        if not self.is_dropped and (not isinstance(event, ResourceUpdated) or event.uri in self.uris):
            self.pending[event] = None
            self.wake.set()


class _Impatient:
    """A session whose client must take a message in time."""

    def __init__(self, session: ServerSession, seconds: float) -> None:
        self._session = session
        self._seconds = seconds

    async def send_notification(
        self, notification: types.ServerNotification, related_request_id: types.RequestId | None = None
    ) -> None:
        with anyio.fail_after(self._seconds):
            await self._session.send_notification(notification, related_request_id)


class Subscriptions:
    """Who wants to hear of what, over all connections."""

    def __init__(self, *, send_seconds: float = _SEND_SECONDS) -> None:
        self._seconds = send_seconds
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._connections: dict[int, _Connection] = {}
        # Clients spell a URI in ways of their own, and are told of it in the same.
        self._spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._waits = 0

    @property
    def connections(self) -> int:
        """How many connections of the handshake revisions there are."""
        return len(self._connections)

    @property
    def subscriptions(self) -> int:
        """How many addresses all clients wait for."""
        return self._waits

    def close(self) -> None:
        """End the streams of 2026-07-28; their clients are told that it is the end."""
        self._streams.close()

    async def announce(self, changes: Changes) -> None:
        """Tell everyone who wants to hear of it; nobody is waited for."""
        if changes.list_changed:
            await self._bus.publish(ResourcesListChanged())
        for key in changes.keys:
            for uri in list(self._spellings.get(key, ())):
                await self._bus.publish(ResourceUpdated(uri))

    async def subscribe(
        self, context: ServerRequestContext[Any], params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Let a connection hear of a resource; it need not exist yet."""
        connection = self._connection(context)
        if params.uri not in connection.uris:
            _check([*connection.uris, params.uri])
            connection.uris.add(params.uri)
            self._count([params.uri], 1)
        connection.is_dropped = False
        return types.EmptyResult()

    async def unsubscribe(
        self, context: ServerRequestContext[Any], params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Let a connection hear of a resource no longer."""
        connection = self._connection(context)
        if params.uri in connection.uris:
            connection.uris.remove(params.uri)
            self._count([params.uri], -1)
        return types.EmptyResult()

    async def serve(self, context: ServerRequestContext[Any], _params: types.NotificationParams | None) -> None:
        """Tell a connection of a handshake revision what it wants to hear, until it ends."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.client_params is None:
            return
        connection = self._connection(context)
        if connection.is_served:
            return
        connection.is_served = True
        stop = self._bus.subscribe(connection.offer)
        try:
            await self._pump(connection, context.session)
        finally:
            stop()
            self._forget(id(context.session.client_params))

    async def listen(
        self, context: ServerRequestContext[Any], params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of 2026-07-28."""
        uris = params.notifications.resource_subscriptions or []
        _check(uris)
        session = cast("ServerSession", _Impatient(context.session, self._seconds))
        self._count(uris, 1)
        try:
            return await self._streams(dataclasses.replace(context, session=session), params)
        except TimeoutError:
            log.warning("a subscriber that did not take a message in %g s was dropped", self._seconds)
            raise MCPError(types.INTERNAL_ERROR, "The stream was ended: its messages were not taken.") from None
        finally:
            self._count(uris, -1)

    async def _pump(self, connection: _Connection, session: ServerSession) -> None:
        while True:
            await connection.wake.wait()
            connection.wake = anyio.Event()
            while connection.pending:
                event = next(iter(connection.pending))
                del connection.pending[event]
                try:
                    with anyio.fail_after(self._seconds):
                        await _send(session, event)
                except TimeoutError:
                    self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        """Tell a client that takes nothing no more, until it subscribes again."""
        log.warning("a subscriber that did not take a message in %g s was dropped", self._seconds)
        connection.is_dropped = True
        self._count(connection.uris, -1)
        connection.uris.clear()
        connection.pending.clear()

    def _connection(self, context: ServerRequestContext[Any]) -> _Connection:
        """Return what is known of a connection; its handshake is an object that lives as long as it does."""
        handshake = context.session.client_params
        if handshake is None:
            raise MCPError(
                types.INVALID_REQUEST, "Subscriptions need a connection that lasts; this one has no session."
            )
        connection = self._connections.get(id(handshake))
        if connection is None:
            connection = self._connections[id(handshake)] = _Connection()
            weakref.finalize(handshake, self._forget, id(handshake)).atexit = False
        return connection

    def _forget(self, number: int) -> None:
        connection = self._connections.pop(number, None)
        if connection is not None:
            self._count(connection.uris, -1)

    def _count(self, uris: Iterable[str], step: int) -> None:
        """Note that one client more, or one less, waits for these addresses."""
        for uri in uris:
            key = addresses.key(uri)
            self._waits += step
            self._spellings[key][uri] += step
            if not self._spellings[key][uri]:
                del self._spellings[key][uri]
            if not self._spellings[key]:
                del self._spellings[key]


def _check(uris: list[str]) -> None:
    """Refuse what is no URI, and more of them than a client can need."""
    if len(uris) > _MOST:
        raise MCPError(types.INVALID_PARAMS, f"Too many subscriptions; a client may have {_MOST}.")
    for uri in uris:
        if len(uri) > _LONGEST or not _URI.match(uri):
            raise MCPError(types.INVALID_PARAMS, "This is no URI that can be subscribed to.")


async def _send(session: ServerSession, event: ServerEvent) -> None:
    if isinstance(event, ResourceUpdated):
        await session.send_resource_updated(event.uri)
    elif isinstance(event, ResourcesListChanged):
        await session.send_resource_list_changed()

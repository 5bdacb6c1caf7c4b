"""Notify clients of changed resources: one bus for the protocol versions with `initialize` and the stateless one.

In the versions with `initialize` a connection subscribes to resources one by one and is always notified of changes to
the list. Its messages are delivered by the handler of `notifications/initialized`: the SDK runs that in the task group
of the connection and cancels it when the connection ends, which cleans up. In the stateless version the SDK serves a
request that is a stream of notifications.
"""

from __future__ import annotations

import dataclasses
import logging
import re
import weakref
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ResourceUpdated
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openzim_mcp import uris as zim_uris

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ServerEvent

    from openzim_mcp.library.changes import Changes
    from openzim_mcp.protocol.context import RequestContext

log = logging.getLogger(__name__)

_SEND_TIMEOUT_SECONDS = 5.0
_MAX_URIS = 1000
_MAX_URI_CHARS = 8192
_URI = re.compile(r"[a-z][a-z0-9+.-]*:\S", re.IGNORECASE)


@dataclass
class _Connection:
    """A connection with `initialize`: its subscriptions and the events that were not delivered yet."""

    uris: set[str] = field(default_factory=set)
    queue: dict[ServerEvent, None] = field(default_factory=dict)
    has_events: anyio.Event = field(default_factory=anyio.Event)
    is_delivering: bool = False
    is_dropped: bool = False

    def enqueue(self, event: ServerEvent) -> None:
        """Queue an event if the client subscribed to it; one that is queued already is not sent twice."""
        if not self.is_dropped and (not isinstance(event, ResourceUpdated) or event.uri in self.uris):
            self.queue[event] = None
            self.has_events.set()


class _SessionWithTimeout:
    """A session that fails if the client does not read a notification in time."""

    def __init__(self, session: ServerSession, seconds: float) -> None:
        self._session = session
        self._seconds = seconds

    async def send_notification(
        self, notification: types.ServerNotification, related_request_id: types.RequestId | None = None
    ) -> None:
        with anyio.fail_after(self._seconds):
            await self._session.send_notification(notification, related_request_id)


class Subscriptions:
    """The subscriptions of all connections.

    A subscription is confirmed once `is_watching` is set, so that no change after the confirmation is missed.
    """

    def __init__(self, *, is_watching: anyio.Event | None = None, send_timeout: float = _SEND_TIMEOUT_SECONDS) -> None:
        self._is_watching = is_watching
        self._send_timeout = send_timeout
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus)
        self._connections: dict[int, _Connection] = {}
        # Per canonical URI, how often clients subscribed to each way to write it; notifications repeat the client's.
        self._variants: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._subscription_count = 0

    @property
    def connection_count(self) -> int:
        """The number of connections with `initialize`."""
        return len(self._connections)

    @property
    def subscription_count(self) -> int:
        """The number of subscriptions to resources, of all clients."""
        return self._subscription_count

    def close(self) -> None:
        """End the streams of the stateless version; their clients get the response to their request."""
        self._streams.close()

    async def publish(self, changes: Changes) -> None:
        """Queue the notifications for all subscribers, without waiting for any of them."""
        if changes.list_changed:
            await self._bus.publish(ResourcesListChanged())
        for canonical_uri in changes.uris:
            for uri in list(self._variants.get(canonical_uri, ())):
                await self._bus.publish(ResourceUpdated(uri))

    async def subscribe(self, context: RequestContext, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Subscribe a connection to a resource, which need not exist yet."""
        connection = self._connection(context)
        if params.uri not in connection.uris:
            _check_uris([*connection.uris, params.uri])
            connection.uris.add(params.uri)
            self._count([params.uri], 1)
        connection.is_dropped = False
        await self._wait_for_watcher()
        return types.EmptyResult()

    async def unsubscribe(self, context: RequestContext, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Unsubscribe a connection from a resource."""
        connection = self._connection(context)
        if params.uri in connection.uris:
            connection.uris.remove(params.uri)
            self._count([params.uri], -1)
        return types.EmptyResult()

    async def serve_connection(self, context: RequestContext, _params: types.NotificationParams | None) -> None:
        """Send notifications to a connection with `initialize` until it ends."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.client_params is None:
            return
        connection = self._connection(context)
        if connection.is_delivering:
            return
        connection.is_delivering = True
        unsubscribe = self._bus.subscribe(connection.enqueue)
        try:
            await self._deliver(connection, context.session)
        finally:
            unsubscribe()
            self._remove(id(context.session.client_params))

    async def listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of the stateless version."""
        uris = params.notifications.resource_subscriptions or []
        _check_uris(uris)
        session = cast("ServerSession", _SessionWithTimeout(context.session, self._send_timeout))
        self._count(uris, 1)
        try:
            await self._wait_for_watcher()
            return await self._streams(dataclasses.replace(context, session=session), params)
        except TimeoutError:
            self._log_dropped()
            raise MCPError(types.INTERNAL_ERROR, "Stream closed: the client did not read its messages.") from None
        finally:
            self._count(uris, -1)

    async def _wait_for_watcher(self) -> None:
        if self._is_watching is not None:
            await self._is_watching.wait()

    async def _deliver(self, connection: _Connection, session: ServerSession) -> None:
        while True:
            await connection.has_events.wait()
            connection.has_events = anyio.Event()
            while connection.queue:
                event = next(iter(connection.queue))
                del connection.queue[event]
                try:
                    with anyio.fail_after(self._send_timeout):
                        await _send_event(session, event)
                except TimeoutError:
                    self._drop(connection)

    def _drop(self, connection: _Connection) -> None:
        """Send nothing to a client that does not read, until it subscribes again."""
        self._log_dropped()
        connection.is_dropped = True
        self._count(connection.uris, -1)
        connection.uris.clear()
        connection.queue.clear()

    def _log_dropped(self) -> None:
        log.warning("dropped a subscriber that did not read a message within %g s", self._send_timeout)

    def _connection(self, context: RequestContext) -> _Connection:
        # The parameters of `initialize` are an object that lives exactly as long as the connection.
        client_params = context.session.client_params
        if client_params is None:
            raise MCPError(types.INVALID_REQUEST, "Subscriptions need a session; this connection has none.")
        connection = self._connections.get(id(client_params))
        if connection is None:
            connection = self._connections[id(client_params)] = _Connection()
            weakref.finalize(client_params, self._remove, id(client_params)).atexit = False
        return connection

    def _remove(self, connection_id: int) -> None:
        connection = self._connections.pop(connection_id, None)
        if connection is not None:
            self._count(connection.uris, -1)

    def _count(self, uris: Iterable[str], change: int) -> None:
        """Count one subscription to each URI more (`change` is 1) or less (-1)."""
        for uri in uris:
            canonical_uri = zim_uris.canonical_uri(uri)
            self._subscription_count += change
            self._variants[canonical_uri][uri] += change
            if not self._variants[canonical_uri][uri]:
                del self._variants[canonical_uri][uri]
            if not self._variants[canonical_uri]:
                del self._variants[canonical_uri]


def _check_uris(uris: list[str]) -> None:
    """Refuse too many URIs, and strings that are not URIs."""
    if len(uris) > _MAX_URIS:
        raise MCPError(types.INVALID_PARAMS, f"Too many subscriptions; the limit is {_MAX_URIS} per client.")
    for uri in uris:
        if len(uri) > _MAX_URI_CHARS or not _URI.match(uri):
            raise MCPError(types.INVALID_PARAMS, "This is not a URI that can be subscribed to.")


async def _send_event(session: ServerSession, event: ServerEvent) -> None:
    if isinstance(event, ResourceUpdated):
        await session.send_resource_updated(event.uri)
    elif isinstance(event, ResourcesListChanged):
        await session.send_resource_list_changed()

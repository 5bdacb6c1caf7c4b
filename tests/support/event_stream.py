"""A client that reads a stream of events in the background."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2

from support.http_server import McpClient
from support.stdio_server import STATELESS_VERSION, TIMEOUT_SECONDS

UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


@dataclass
class EventStream:
    """One stream, read in its own thread."""

    request: httpx2.Request
    events: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None

    def __enter__(self) -> Self:
        self._changed = threading.Condition()
        self._http = httpx2.Client(timeout=httpx2.Timeout(TIMEOUT_SECONDS, read=None))
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        with self._changed:
            assert self._changed.wait_for(lambda: self.status is not None, TIMEOUT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.wait_for_end()
        self._http.close()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def wait_for_end(self) -> None:
        """Wait until the stream has ended."""
        self._thread.join(TIMEOUT_SECONDS)
        assert self.has_ended

    def wait_for(self, method: str, **params: Any) -> bool:
        """Wait for a notification with these parameters, and remove it and those before it."""
        with self._changed:
            return self._changed.wait_for(lambda: self._take(method, params), TIMEOUT_SECONDS)

    def _take(self, method: str, params: dict[str, Any]) -> bool:
        for index, event in enumerate(self.events):
            if event.get("method") == method and params.items() <= event.get("params", {}).items():
                del self.events[: index + 1]
                return True
        return False

    def _read(self) -> None:
        with contextlib.suppress(httpx2.TransportError, OSError):
            response = self._http.send(self.request, stream=True)
            self._socket = response.extensions["network_stream"].get_extra_info("socket")
            self._add(status=response.status_code)
            for line in response.iter_lines():
                if line.startswith("data:") and line[5:].strip():
                    self._add(event=json.loads(line[5:]))

    def _add(self, status: int | None = None, event: dict[str, Any] | None = None) -> None:
        with self._changed:
            self.status = status or self.status
            self.events += [event] if event else []
            self._changed.notify_all()


def subscribe(client: McpClient, *uris: str) -> EventStream:
    """Subscribe a client to the list of resources and to some resources, as its protocol version does it."""
    if client.version == STATELESS_VERSION:
        notifications = {"resourceSubscriptions": list(uris), "resourcesListChanged": True}
        return EventStream(client.request("subscriptions/listen", {"notifications": notifications}))
    for uri in uris:
        assert client.post("resources/subscribe", {"uri": uri}).status_code == 200
    return EventStream(session_stream(client))


def session_stream(client: McpClient) -> httpx2.Request:
    """Return the request for the event stream of a session."""
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": client.version, "Mcp-Session-Id": client.session}
    sent_headers = {name: value for name, value in (headers | client.headers).items() if value}
    return client.http.build_request("GET", client.url, headers=sent_headers)

"""A client that listens to a stream of events while a test goes on."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2

from support.http_server import McpClient
from support.stdio_server import STATELESS_VERSION

UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


@dataclass
class EventStream:
    """One stream, read in a thread of its own."""

    request: httpx2.Request
    events: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None

    def __enter__(self) -> Self:
        self._told = threading.Condition()
        self._client = httpx2.Client(timeout=httpx2.Timeout(30, read=None))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        with self._told:
            assert self._told.wait_for(lambda: self.status is not None, 20)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.wait()
        self._client.close()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, seconds: float = 10) -> None:
        """Wait for the end of the stream."""
        self._thread.join(seconds)
        assert self.has_ended

    def wait_for(self, method: str, seconds: float = 10, **params: Any) -> bool:
        """Wait for a notification with these parameters, and forget it and those before it."""
        with self._told:
            return self._told.wait_for(lambda: self._take(method, params), seconds)

    def _take(self, method: str, params: dict[str, Any]) -> bool:
        for place, event in enumerate(self.events):
            if event.get("method") == method and params.items() <= event.get("params", {}).items():
                del self.events[: place + 1]
                return True
        return False

    def _listen(self) -> None:
        with contextlib.suppress(httpx2.TransportError, OSError):
            response = self._client.send(self.request, stream=True)
            self._socket = response.extensions["network_stream"].get_extra_info("socket")
            self._note(status=response.status_code)
            for line in response.iter_lines():
                if line.startswith("data:") and line[5:].strip():
                    self._note(event=json.loads(line[5:]))

    def _note(self, status: int | None = None, event: dict[str, Any] | None = None) -> None:
        with self._told:
            self.status = status or self.status
            self.events += [event] if event else []
            self._told.notify_all()


def listening(visit: McpClient, *uris: str) -> EventStream:
    """What a client hears: of the list, and of these resources, in the way of its revision."""
    if visit.revision == STATELESS_VERSION:
        wanted = {"resourceSubscriptions": list(uris), "resourcesListChanged": True}
        return EventStream(visit.request("subscriptions/listen", {"notifications": wanted}))
    for uri in uris:
        assert visit.post("resources/subscribe", {"uri": uri}).status_code == 200
    return EventStream(stream(visit))


def stream(visit: McpClient) -> httpx2.Request:
    """The request for the stream of a session."""
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": visit.revision, "Mcp-Session-Id": visit.session}
    given = {name: value for name, value in (headers | visit.headers).items() if value}
    return visit.http.build_request("GET", visit.url, headers=given)


def settle() -> None:
    """Let the watcher have its first look."""
    time.sleep(0.3)

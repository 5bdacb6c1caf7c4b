"""A queue for the workers that is fair: by client, then by connection, then by request.

Whoever has a thousand calls in the queue gets no more of the workers than somebody with one.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio
from anyio import lowlevel

if TYPE_CHECKING:
    from collections.abc import Iterator

QueuePath = tuple[object, object, object]
"""The client, the connection and the request that a call is made for."""
_Calls = deque[anyio.Event]
_Requests = OrderedDict[object, _Calls]
_Connections = OrderedDict[object, _Requests]

_queue_path: ContextVar[QueuePath] = ContextVar("queue_path", default=("", None, None))


@contextlib.contextmanager
def queued_as(path: QueuePath) -> Iterator[None]:
    """Queue the calls that are made in this block, and in the tasks that it starts, on behalf of a request."""
    token = _queue_path.set(path)
    try:
        yield
    finally:
        _queue_path.reset(token)


class FairSlots:
    """A number of slots; who waits for one is served in turn with the other clients, connections and requests."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._waiting: OrderedDict[object, _Connections] = OrderedDict()

    async def acquire(self) -> None:
        """Take a slot, or wait for one; a cancelled wait leaves the queue."""
        await lowlevel.checkpoint()
        if self._free:
            self._free -= 1
            return
        path, is_next = _queue_path.get(), anyio.Event()
        self._enqueue(path, is_next)
        try:
            await is_next.wait()
        except BaseException:
            if is_next.is_set():
                self.release()
            else:
                self._remove(path, is_next)
            raise

    def release(self) -> None:
        """Pass a slot on to whoever is next."""
        if self._waiting:
            self._pop_next().set()
        else:
            self._free += 1

    def _enqueue(self, path: QueuePath, call: anyio.Event) -> None:
        client, connection, request = path
        requests = self._waiting.setdefault(client, OrderedDict()).setdefault(connection, OrderedDict())
        requests.setdefault(request, deque()).append(call)

    def _pop_next(self) -> anyio.Event:
        client, connections = next(iter(self._waiting.items()))
        connection, requests = next(iter(connections.items()))
        request, calls = next(iter(requests.items()))
        call = calls.popleft()
        # Each level goes on with the others before it comes back to this one.
        requests.move_to_end(request)
        connections.move_to_end(connection)
        self._waiting.move_to_end(client)
        self._prune((client, connection, request))
        return call

    def _remove(self, path: QueuePath, call: anyio.Event) -> None:
        client, connection, request = path
        self._waiting[client][connection][request].remove(call)
        self._prune(path)

    def _prune(self, path: QueuePath) -> None:
        client, connection, request = path
        connections = self._waiting[client]
        requests = connections[connection]
        if not requests[request]:
            del requests[request]
        if not requests:
            del connections[connection]
        if not connections:
            del self._waiting[client]

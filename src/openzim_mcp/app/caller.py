"""The caller of a request: over HTTP one client of many, recorded by the middleware; over stdio the only one."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

    from openzim_mcp.config import Operation
    from openzim_mcp.pool.outcomes import ProgressCallback

_KEY = "openzim_mcp.caller"


class Recipient:
    """Whoever waits for the result of a call; when it is gone, the work for it is cancelled."""

    def __init__(self) -> None:
        self._is_gone = False
        self._scopes: set[anyio.CancelScope] = set()

    def leave(self) -> None:
        """Cancel all work for this recipient, now and later."""
        self._is_gone = True
        for scope in self._scopes:
            scope.cancel()

    @contextlib.contextmanager
    def cancel_when_gone(self) -> Iterator[None]:
        """Run a block while the recipient is there; if it leaves, the block is cancelled and left."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self._is_gone:
                scope.cancel()
            try:
                yield
            finally:
                self._scopes.discard(scope)


@dataclass(frozen=True)
class Caller:
    """Who makes a call: the client that the rate limit charges, its address, and the id of its request in the log.

    `progress` is called while long work goes on. With a `connection`, any object that lives as long as the client's
    connection does, "next page" continues the last answer. A call inside this process has none of these. Over HTTP the
    `recipient` leaves when the connection of the request ends. `charges` are the operations that the call was charged
    for so far, and how often. `base_url` is where browsers reach the page of this server: sources then have links.
    """

    client: str = ""
    request_id: str = ""
    address: str = ""
    base_url: str = ""
    progress: ProgressCallback | None = None
    connection: object = None
    recipient: Recipient = field(default_factory=Recipient, compare=False)
    charges: list[tuple[Operation, int]] = field(default_factory=list, compare=False)


LOCAL = Caller()
"""A call inside this process, as commands make them."""


def set_caller(scope: MutableMapping[str, Any], caller: Caller) -> None:
    """Record the caller of an HTTP request in its ASGI scope."""
    scope.setdefault("state", {})[_KEY] = caller


def get_caller(scope: MutableMapping[str, Any]) -> Caller:
    """Return the caller of an HTTP request."""
    caller: Caller = scope["state"][_KEY]
    return caller

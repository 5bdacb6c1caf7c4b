"""The caller of a request: over HTTP one client of many, recorded by the middleware; over stdio the only one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from openzim_mcp.config import Operation
    from openzim_mcp.pool.pool import ProgressCallback

_KEY = "openzim_mcp.caller"


@dataclass(frozen=True)
class Caller:
    """Who makes a call: the client that the rate limit charges, and the id of its request in the log.

    `progress` is called while long work goes on. With a `connection`, any object that lives as long as the client's
    connection does, "next page" continues the last answer. A call inside this process has none of these. `charges` are
    the operations that the call was charged for so far, and how often.
    """

    client: str = ""
    request_id: str = ""
    progress: ProgressCallback | None = None
    connection: object = None
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

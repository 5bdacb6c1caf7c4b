"""Who a request comes from, as the transport has noted it: over HTTP a client among many, over a pipe the only one."""

from __future__ import annotations

from typing import Any

_CLIENT, _REQUEST = "openzim_mcp.client", "openzim_mcp.request"


def note(scope: Any, *, client: str | None = None, request: str | None = None) -> None:
    """Note who a request comes from, or by which name the log knows it."""
    state = scope.setdefault("state", {})
    state |= {name: value for name, value in ((_CLIENT, client), (_REQUEST, request)) if value is not None}


def client(scope: Any) -> str:
    """Return who an HTTP request comes from."""
    return str(scope.get("state", {}).get(_CLIENT, ""))


def request(scope: Any) -> str:
    """Return the name of an HTTP request in the log."""
    return str(scope.get("state", {}).get(_REQUEST, ""))


def scope_of(context: Any) -> Any:
    """Return what the transport knows of a message; nothing over a pipe."""
    return context.request.scope if context.request is not None else {}

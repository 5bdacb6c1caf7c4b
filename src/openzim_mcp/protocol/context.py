"""The context of a request, as the SDK passes it to every handler, and the caller in it."""

from __future__ import annotations

from typing import Any, TypeAlias

from mcp.server import ServerRequestContext

from openzim_mcp.app.caller import Caller, get_caller

RequestContext: TypeAlias = ServerRequestContext[Any, Any]


def caller_of(context: RequestContext) -> Caller:
    """Return the caller of a message; over stdio there is only one."""
    return get_caller(context.request.scope) if context.request is not None else Caller()

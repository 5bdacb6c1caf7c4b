"""The context of a request, as the SDK passes it to every handler."""

from __future__ import annotations

from typing import Any, TypeAlias

from mcp.server import ServerRequestContext

RequestContext: TypeAlias = ServerRequestContext[Any, Any]

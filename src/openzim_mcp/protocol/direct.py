"""The tools for a caller in the same process: no client, no SDK, no rate limit; errors are raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openzim_mcp.app import health, reading, search
from openzim_mcp.app.arguments import ArchiveArguments, Arguments, parse
from openzim_mcp.app.query import ask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openzim_mcp.app.app import Backend, Markdown, Payload, Picture
    from openzim_mcp.pool.jobs import Listener


@dataclass(frozen=True)
class DirectCall:
    """One call in progress, as the tools see it."""

    backend: Backend
    listener: Listener | None = None
    client: str = ""
    connection: None = None
    """Each call stands alone: none goes on where another ended."""


_TOOLS: dict[str, tuple[type[Arguments], Callable[[Any, Any], Awaitable[Payload | Markdown | Picture]]]] = {
    "zim_query": (ask.QueryArguments, ask.zim_query),
    "zim_search": (search.SearchArguments, search.zim_search),
    "zim_get": (reading.GetArguments, reading.zim_get),
    "zim_get_section": (reading.SectionArguments, reading.zim_get_section),
    "zim_metadata": (ArchiveArguments, health.zim_metadata),
    "zim_health": (ArchiveArguments, health.zim_health),
}


async def run(
    backend: Backend, tool: str, listener: Listener | None = None, /, **arguments: Any
) -> Payload | Markdown | Picture:
    """Run a tool and return its result."""
    model, function = _TOOLS[tool]
    return await function(DirectCall(backend, listener), parse(model, arguments))


async def payload(backend: Backend, tool: str, listener: Listener | None = None, /, **arguments: Any) -> Payload:
    """Run a tool whose result is a payload."""
    found = await run(backend, tool, listener, **arguments)
    assert isinstance(found, dict), tool
    return found

"""Completions of what a user types into a prompt or a template: archive names, and paths within the chosen archive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError

from openzim_mcp import errors, uris
from openzim_mcp.app.caller import caller_of
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive import browse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server import ServerRequestContext

    from openzim_mcp.app.app import Backend

_MOST = 100
_LONGEST_VALUE = 1000
_NOTHING = types.Completion(values=[], total=0, has_more=False)


def _first(values: list[str], total: int | None) -> types.Completion:
    more = total is None or total > min(len(values), _MOST)
    return types.Completion(values=values[:_MOST], total=total, has_more=more)


async def _no_values(_backend: Backend, _value: str, _known: Mapping[str, str]) -> types.Completion:
    return _NOTHING


async def _archives(backend: Backend, value: str, _known: Mapping[str, str]) -> types.Completion:
    """Complete an archive's name: those that begin so first, then those that hold it."""
    names = [archive.name for archive in (await backend.scan()).archives if not archive.problem]
    wanted = value.casefold()
    found = [name for name in names if wanted in name.casefold()]
    found.sort(key=lambda name: not name.casefold().startswith(wanted))
    return _first(found, len(found))


async def _addressed(backend: Backend, value: str, known: Mapping[str, str]) -> types.Completion:
    found = await _archives(backend, value, known)
    return found.model_copy(update={"values": list(map(uris.short_name, found.values))})


async def _pages(backend: Backend, value: str, known: Mapping[str, str]) -> types.Completion:
    return await _paths(backend, value, known.get("zim_file_path"), pages_only=True)


async def _entries(backend: Backend, value: str, known: Mapping[str, str]) -> types.Completion:
    return await _paths(backend, value, known.get("name"), pages_only=False)


async def _paths(backend: Backend, value: str, name: str | None, *, pages_only: bool) -> types.Completion:
    """Complete a path; where it cannot be done there is nothing to offer, which is no error."""
    try:
        archive = await backend.find(name)
        look = {"prefix": value[:_LONGEST_VALUE], "limit": _MOST, "pages_only": pages_only}
        found = await backend.run(browse.beginning_with, archive, **look)
    except errors.OpenZimMcpError:
        return _NOTHING
    return _first(found["paths"], found["total"])


_SOURCES: dict[tuple[str, str], Callable[[Backend, str, Mapping[str, str]], Awaitable[types.Completion]]] = {
    ("research", "topic"): _no_values,
    ("summarize", "zim_file_path"): _archives,
    ("summarize", "entry_path"): _pages,
    ("explore", "zim_file_path"): _archives,
    (uris.ARCHIVE, "name"): _addressed,
    (uris.ENTRY, "name"): _addressed,
    (uris.ENTRY, "path"): _entries,
}
_IN_AN_ARCHIVE = {_pages, _entries}


@dataclass(frozen=True)
class Completions:
    """The completions of a server."""

    backend: Backend

    async def complete(
        self, context: ServerRequestContext[Any], params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Return what the text of an argument may go on to."""
        about = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
        source = _SOURCES.get((about, params.argument.name))
        if source is None:
            what = f"{safe_line(params.argument.name, 100)!r} of {safe_line(about, 200)!r}"
            raise MCPError(types.INVALID_PARAMS, f"There is no argument {what} to complete.")
        if source in _IN_AN_ARCHIVE:
            try:
                await self.backend.limiter.charge(caller_of(context).client, "suggestions")
            except errors.OpenZimMcpRateLimitError:
                return types.CompleteResult(completion=_NOTHING)
        known = (params.context.arguments if params.context else None) or {}
        return types.CompleteResult(completion=await source(self.backend, params.argument.value, known))

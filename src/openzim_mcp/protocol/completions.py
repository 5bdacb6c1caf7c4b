"""Completion of the arguments of prompts and resource templates: archive names, and paths in the chosen archive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mcp_types as types
from mcp import MCPError

from openzim_mcp import errors, uris
from openzim_mcp.app.app import App
from openzim_mcp.calls.archive import CompletePath
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from openzim_mcp.protocol.context import RequestContext

# Completes a value, given the arguments that the user has filled in already.
Completer = Callable[[App, str, Mapping[str, str]], Awaitable[types.Completion]]

_MAX_VALUES = 100
_MAX_PREFIX_CHARS = 1000
_NO_VALUES = types.Completion(values=[], total=0, has_more=False)


def _completion(values: list[str], total: int | None) -> types.Completion:
    has_more = total is None or total > min(len(values), _MAX_VALUES)
    return types.Completion(values=values[:_MAX_VALUES], total=total, has_more=has_more)


async def _complete_free_text(_app: App, _value: str, _arguments: Mapping[str, str]) -> types.Completion:
    return _NO_VALUES


async def _complete_archive_name(app: App, value: str, _arguments: Mapping[str, str]) -> types.Completion:
    """List the names that start with the value, then those that contain it."""
    text = value.casefold()
    names = [archive.name for archive in await app.usable_archives()]
    matches = [name for name in names if text in name.casefold()]
    matches.sort(key=lambda name: not name.casefold().startswith(text))
    return _completion(matches, len(matches))


async def _complete_name_in_uri(app: App, value: str, arguments: Mapping[str, str]) -> types.Completion:
    completion = await _complete_archive_name(app, value, arguments)
    return completion.model_copy(update={"values": list(map(uris.name_in_uri, completion.values))})


async def _complete_article_path(app: App, value: str, arguments: Mapping[str, str]) -> types.Completion:
    return await _complete_path(app, value, arguments.get("zim_file_path"), pages_only=True)


async def _complete_entry_path(app: App, value: str, arguments: Mapping[str, str]) -> types.Completion:
    return await _complete_path(app, value, arguments.get("name"), pages_only=False)


async def _complete_path(app: App, value: str, name: str | None, *, pages_only: bool) -> types.Completion:
    """Complete a path; an archive that is missing or unreadable has no completions, which is not an error."""
    try:
        archive = await app.find_archive(name)
        call = CompletePath(value[:_MAX_PREFIX_CHARS], _MAX_VALUES, pages_only=pages_only)
        completions = await app.workers.call(archive, call)
    except errors.OpenZimMcpError:
        return _NO_VALUES
    return _completion(completions.paths, completions.total)


COMPLETERS: dict[tuple[str, str], Completer] = {
    ("research", "topic"): _complete_free_text,
    ("summarize", "zim_file_path"): _complete_archive_name,
    ("summarize", "entry_path"): _complete_article_path,
    ("explore", "zim_file_path"): _complete_archive_name,
    (uris.ARCHIVE_TEMPLATE, "name"): _complete_name_in_uri,
    (uris.ENTRY_TEMPLATE, "name"): _complete_name_in_uri,
    (uris.ENTRY_TEMPLATE, "path"): _complete_entry_path,
    (uris.TEXT_TEMPLATE, "name"): _complete_name_in_uri,
    (uris.TEXT_TEMPLATE, "path"): _complete_entry_path,
}


@dataclass(frozen=True)
class Completions:
    """The completions of a server."""

    app: App

    async def complete(self, context: RequestContext, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Complete the value of an argument; without values if the rate limit is reached."""
        owner = params.ref.name if isinstance(params.ref, types.PromptReference) else params.ref.uri
        completer = COMPLETERS.get((owner, params.argument.name))
        if completer is None:
            argument = f"{safe_line(params.argument.name, 100)!r} of {safe_line(owner, 200)!r}"
            raise MCPError(types.INVALID_PARAMS, f"There is no argument {argument} to complete.")
        try:
            await self.app.charge(caller_of(context), "suggestions")
        except errors.OpenZimMcpRateLimitError:
            return types.CompleteResult(completion=_NO_VALUES)
        arguments = (params.context.arguments if params.context else None) or {}
        return types.CompleteResult(completion=await completer(self.app, params.argument.value, arguments))

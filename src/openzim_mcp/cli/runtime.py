"""Archives at hand for one command: which directories, and the workers that read them."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, TypeVar

import anyio

from openzim_mcp import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.config import Settings

_Result = TypeVar("_Result")
_WORKERS = 2
_HANDBOOK = "No directory is given: this reads the handbook. Name one, or set OPENZIM_MCP_ALLOWED_DIRECTORIES."


def load_command_settings(directories: Sequence[str]) -> Settings:
    """Return the settings of a command: the server's, for other directories if some are given."""
    from openzim_mcp import config  # noqa: PLC0415  help does without it

    given = {"allowed_directories": [os.path.expanduser(path) for path in directories]} if directories else {}
    return config.load_settings(**given, transport="stdio", rate_limit={"enabled": False})


def run_with_archives(
    terminal: Terminal | None, directories: Sequence[str], work: Callable[[App], Awaitable[_Result]]
) -> _Result:
    """Run some work with the archives of the directories at hand; a terminal is told when that is the handbook."""
    settings = load_command_settings(directories)
    if terminal and terminal.is_interactive and not settings.allowed_directories:
        terminal.info(_HANDBOOK)
    # The reader may still be starting when an answer needs none: that it is ended then is no news.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    found = anyio.run(_with_app, settings, work)
    if isinstance(found, errors.OpenZimMcpError):
        raise found
    return found


async def _with_app(settings: Settings, work: Callable[[App], Awaitable[_Result]]) -> _Result | errors.OpenZimMcpError:
    """Return the result or the error; raised from here, it would arrive inside groups of errors."""
    from openzim_mcp.app.app import App  # noqa: PLC0415

    async with App.open(settings, workers=settings.worker.count or _WORKERS) as app:
        try:
            return await work(app)
        except errors.OpenZimMcpError as error:
            return error

"""Run a command's work with an `App`: settings, archives and worker processes."""

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
_WORKER_COUNT = 2
_HANDBOOK_MESSAGE = "No directory given: using the handbook. Add a directory, or set OPENZIM_MCP_ALLOWED_DIRECTORIES."


def load_command_settings(directories: Sequence[str]) -> Settings:
    """Load the settings of a command: those of the server, with these directories if there are any."""
    from openzim_mcp import config  # noqa: PLC0415  --help does not need it

    overrides = {"allowed_directories": [os.path.expanduser(path) for path in directories]} if directories else {}
    return config.load_settings(**overrides, transport="stdio", rate_limit={"enabled": False})


def run_with_archives(
    terminal: Terminal | None, directories: Sequence[str], work: Callable[[App], Awaitable[_Result]]
) -> _Result:
    """Run `work` with an app for the archives in the directories; tell the user if that is the handbook."""
    settings = load_command_settings(directories)
    if terminal and terminal.is_interactive and not settings.allowed_directories:
        terminal.info(_HANDBOOK_MESSAGE)
    # asyncio warns about a worker process that is still starting when a command ends; users need not see that.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    result = anyio.run(_run_with_app, settings, work)
    if isinstance(result, errors.OpenZimMcpError):
        raise result
    return result


async def _run_with_app(
    settings: Settings, work: Callable[[App], Awaitable[_Result]]
) -> _Result | errors.OpenZimMcpError:
    """Return the result or the error; an error raised here would arrive inside an exception group."""
    from openzim_mcp.app.app import App  # noqa: PLC0415

    async with App.open(settings, workers=settings.worker.count or _WORKER_COUNT) as app:
        try:
            return await work(app)
        except errors.OpenZimMcpError as error:
            return error

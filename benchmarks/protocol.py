"""Protocol: CPU of the watcher, delay of notifications, memory after connections, tokens of the tool list."""

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

from openzim_mcp import config, tokens
from openzim_mcp.app.app import App
from openzim_mcp.library.changes import ChangeDetector
from openzim_mcp.library.scan import Scanner
from openzim_mcp.protocol.server import build_server
from openzim_mcp.protocol.subscriptions import Subscriptions

SMALL = ZIMS / "built" / "bare.zim"
THIS = "this project"
PEER = f"openzim-mcp {PEER_VERSION}"


@contextlib.contextmanager
def archive_directory(count: int) -> Iterator[Path]:
    """Create a directory with a number of archives."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            shutil.copyfile(SMALL, Path(folder) / f"archive_en_{number:04}_2026-01.zim")
        yield Path(folder)


def measure_idle_cpu(count: int, seconds: int) -> str:
    """Measure the CPU of idle servers with different watch settings."""
    rows = []
    with archive_directory(count) as folder:
        servers = {
            f"{THIS}, every 5 s": ([*OURS, str(folder)], {}),
            f"{THIS}, every second": ([*OURS, str(folder)], {"WATCH_INTERVAL_SECONDS": "1"}),
            f"{THIS}, switched off": ([*OURS, str(folder)], {"SUBSCRIPTIONS_ENABLED": "false"}),
            f"{PEER}, which does not watch over stdio": ([*peer_command(), str(folder)], {}),
        }
        for name, (command, settings) in servers.items():
            idle = Server.start(command, **settings)
            idle.initialize()
            time.sleep(5)
            before = idle.cpu()
            time.sleep(seconds)
            rows.append([name, f"{(idle.cpu() - before) / seconds / 10:.2f} %"])
            idle.stop()
    return table([f"idle, {count} archives, over {seconds} s", "of one core"], rows)


def measure_scan(count: int) -> str:
    """Measure a scan of the directories, and its comparison with the previous scan."""
    with archive_directory(count) as folder:
        library = Scanner([folder])
        detector = ChangeDetector(library.scan())
        scan_times, update_times = [], []
        for _ in range(30):
            started = time.perf_counter()
            listing = library.scan()
            scan_times.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            detector.update(listing)
            update_times.append((time.perf_counter() - started) * 1000)
    rows = [
        ["scan", f"{median(scan_times):.1f}", f"{max(scan_times):.1f}"],
        ["comparison", f"{median(update_times):.1f}", f"{max(update_times):.1f}"],
    ]
    return table([f"scan of {count} archives", "median ms", "slowest ms"], rows)


def _wait_for(running: Server, method: str, seconds: float) -> float:
    """Return the seconds until a notification arrives."""
    assert running.process.stdout
    started = time.perf_counter()
    while True:
        remaining = seconds - (time.perf_counter() - started)
        if not select.select([running.process.stdout], [], [], max(0.0, remaining))[0]:
            raise RuntimeError(f"no {method} within {seconds} s")
        if json.loads(running.process.stdout.readline()).get("method") == method:
            return time.perf_counter() - started


def measure_notification_delay(runs: dict[int, int]) -> str:
    """Measure the time from a new file to the notification, by watch interval."""
    rows = []
    for interval, count in runs.items():
        with archive_directory(1) as folder:
            running = Server.start([*OURS, str(folder)], WATCH_INTERVAL_SECONDS=str(interval))
            running.initialize()
            delays = []
            for number in range(count):
                time.sleep(1 + interval * (number / count))
                new_file = Path(shutil.copyfile(SMALL, folder.with_suffix(".new")))
                new_file.replace(folder / f"new{number}.zim")
                delays.append(_wait_for(running, "notifications/resources/list_changed", interval + 10))
            rows.append([f"{interval} s", str(count), f"{median(delays):.2f}", f"{max(delays):.2f}", f"{interval + 1}"])
            running.stop()
    return table(["watch interval", "new files", "median s", "slowest s", "allowed s"], rows)


@contextlib.asynccontextmanager
async def _connected(surface: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with create_client_server_memory_streams() as (client, server_streams), anyio.create_task_group() as tasks:
        tasks.start_soon(surface.run, *server_streams, surface.create_initialization_options())
        yield client
        tasks.cancel_scope.cancel()


async def _connect_once(surface: Any) -> None:
    """Connect, subscribe, list the resources and disconnect."""
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


def _resident_mib() -> float:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_connections(steps: list[int]) -> str:
    """Measure memory, connections and subscriptions that remain after many connections."""

    async def run() -> list[list[str]]:
        settings = config.load_settings()
        rows = []
        async with App.open(settings, workers=1) as app:
            subscriptions = Subscriptions()
            surface = build_server(app, subscriptions)
            done = 0
            for step in steps:
                for _ in range(step - done):
                    await _connect_once(surface)
                done = step
                remaining = f"{subscriptions.connection_count} / {subscriptions.subscription_count}"
                rows.append([str(done), f"{_resident_mib():.1f}", remaining])
        return rows

    header = ["connections opened and closed, in process", "resident MB", "connections / subscriptions left"]
    return table(header, anyio.run(run))


def count_tool_tokens() -> str:
    """Estimate the tokens of `tools/list` in both modes."""
    rows = []
    with archive_directory(1) as folder:
        for mode, allowed in (("advanced", 3000), ("simple", 500)):
            counts = []
            for command in (OURS, peer_command()):
                running = Server.start([*command, "--mode", mode, str(folder)])
                running.initialize()
                tools = running.request("tools/list")["result"]["tools"]
                counts.append(tokens.estimate(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))))
                running.stop()
            rows.append([mode, *(f"{count:.0f}" for count in counts), f"{counts[1] / counts[0]:.1f}", str(allowed)])
    return table(["estimated tokens of `tools/list`", THIS, PEER, "times", "allowed"], rows)


def main() -> None:
    """Measure everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=int, default=1000, help="archives to watch")
    parser.add_argument("--seconds", type=int, default=60, help="seconds to measure each idle server")
    parser.add_argument("--new-files", type=int, default=20, help="new files at a watch interval of 1 s")
    options = parser.parse_args()
    body = [
        measure_idle_cpu(options.archives, options.seconds),
        measure_scan(options.archives),
        measure_notification_delay({1: options.new_files, 5: max(1, options.new_files // 4)}),
        measure_connections([10, 100, 500, 1000, 2000]),
        count_tool_tokens(),
    ]
    report("protocol", " ".join(["python benchmarks/protocol.py", *sys.argv[1:]]), "\n\n".join(body))


if __name__ == "__main__":
    main()

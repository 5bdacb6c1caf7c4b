"""Startup time, memory, and CPU of metadata and browsing; compared with an empty server and openzim-mcp from PyPI."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from measure import OURS, PEER_VERSION, Server, largest_archive, median, peer_command, report, table

EMPTY = [sys.executable, str(Path(__file__).parent / "empty_server.py")]


def measure_cold_start(commands: dict[str, list[str]], runs: int) -> str:
    """Measure the servers in turn, so that other load on the machine affects all of them."""
    latencies: dict[str, list[float]] = {name: [] for name in commands}
    cpu_times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            server = Server.start(command)
            latencies[name].append(server.initialize())
            cpu_times[name].append(server.cpu())
            server.stop()
    empty = median(latencies["empty SDK server"])
    rows = [
        [
            name,
            f"{median(latencies[name]):.0f}",
            f"{median(latencies[name]) / empty:.2f}",
            f"{median(cpu_times[name]):.0f}",
        ]
        for name in commands
    ]
    return table(["cold start", "ms to `initialize`", "of the empty server", "CPU ms"], rows)


def measure_memory(commands: dict[str, list[str]], archive: str, namespace: str) -> str:
    """Measure the resident memory of all processes after the start and after 200 different calls."""
    rows = []
    for name, command in commands.items():
        server = Server.start(command)
        server.initialize()
        server.request("tools/list")
        time.sleep(1)
        after_start = server.memory()
        for number in range(100):
            server.call("zim_browse", zim_file_path=archive, namespace=namespace, limit=50, offset=50 * number)
            server.call("zim_metadata", zim_file_path=archive)
        rows.append([name, f"{after_start:.0f}", f"{server.memory():.0f}"])
        server.stop()
    return table(["resident memory, all processes", "MB after start", "MB after 200 calls"], rows)


def measure_cpu(commands: dict[str, list[str]], archive: str, namespace: str, calls: int) -> str:
    """Measure the CPU time per call with the cache off."""
    costs: dict[str, list[float]] = {}
    for name, command in commands.items():
        server = Server.start(command, CACHE__ENABLED="false")
        server.initialize()
        server.call("zim_metadata", zim_file_path=archive)
        server.call("zim_browse", zim_file_path=archive, namespace=namespace, limit=50)
        costs[name] = []
        before = server.cpu()
        for _ in range(calls):
            server.call("zim_metadata", zim_file_path=archive)
        costs[name].append((server.cpu() - before) / calls)
        before = server.cpu()
        for number in range(calls):
            server.call("zim_browse", zim_file_path=archive, namespace=namespace, limit=50, offset=50 * number)
        costs[name].append((server.cpu() - before) / calls)
        server.stop()
    rows = [[name, *(f"{cost:.2f}" for cost in costs_of_server)] for name, costs_of_server in costs.items()]
    ours, peer = costs.values()
    rows.append(["ratio", *(f"{theirs / mine:.1f} times" for mine, theirs in zip(ours, peer, strict=True))])
    return table(["CPU ms per call, cache off", "`zim_metadata`", "`zim_browse` page of 50"], rows)


def main() -> None:
    """Measure everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="cold starts per server")
    parser.add_argument("--calls", type=int, default=200, help="calls per tool")
    options = parser.parse_args()
    archive = largest_archive()
    folder = str(archive.parent)
    servers = {
        "this project": [*OURS, "--mode", "advanced", folder],
        f"openzim-mcp {PEER_VERSION}": [*peer_command(), "--mode", "advanced", folder],
    }
    body = "\n\n".join(
        [
            measure_cold_start({"empty SDK server": EMPTY} | servers, options.runs),
            measure_memory(servers, str(archive), "C"),
            measure_cpu(servers, str(archive), "C", options.calls),
            f"Archive: `{archive.name}`, {archive.stat().st_size / 1e6:.1f} MB.",
        ]
    )
    report("startup", "python benchmarks/startup.py", body)


if __name__ == "__main__":
    main()

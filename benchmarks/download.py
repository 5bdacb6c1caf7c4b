"""Download speed: a file from this machine, hashed and synced, compared with curl."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, median, report, table

_DOWNLOAD_SCRIPT = """
import sys
from openzim_mcp.catalog.client import Client
from openzim_mcp.catalog.download import download_file
from openzim_mcp.catalog.metalink import Source
print("ready", flush=True)
sys.stdin.readline()
url, size, sha256, target = sys.argv[1:]
with Client() as client:
    download_file(client, Source("big.zim", (url,), int(size), sha256), target)
"""


def write_random_file(folder: Path, size: int) -> Path:
    """Write a file of random bytes."""
    path = folder / "big.zim"
    with path.open("wb") as file:
        for _ in range(size >> 20):
            file.write(random.randbytes(1 << 20))
    return path


def time_command(command: list[str], *, wait_until_ready: bool) -> float:
    """Return the seconds that a command takes; if it prints a line when it is ready, counted from then."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    if wait_until_ready:
        process.stdout.readline()
    started = time.perf_counter()
    process.communicate(b"\n")
    seconds = time.perf_counter() - started
    assert process.returncode == 0, command
    return seconds


def compare_with_curl(size: int, rounds: int) -> str:
    """Download one file in turn with curl alone, with curl, sync and sha256sum, and with this project."""
    curl, sha256sum = shutil.which("curl"), shutil.which("sha256sum")
    if not curl or not sha256sum:
        raise SystemExit("curl and sha256sum are required for the comparison")
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        path = write_random_file(folder, size)
        sha256 = subprocess.run([sha256sum, path], capture_output=True, text=True, check=True).stdout.split()[0]
        target = folder / "out"
        server = [sys.executable, str(ROOT / "tests" / "support" / "mirror.py"), str(folder)]
        mirror = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert mirror.stdin
        assert mirror.stdout
        url = f"{mirror.stdout.readline().strip()}/big.zim"
        plain = [curl, "--silent", "--show-error", "--output", str(target), url]
        synced = ["sh", "-c", f'"$@" && sync "{target}"', "sh", *plain]
        hashed = ["sh", "-c", f'"$@" && sha256sum "{target}" && sync "{target}"', "sh", *plain]
        project = [sys.executable, "-c", _DOWNLOAD_SCRIPT, url, str(path.stat().st_size), sha256, str(target)]
        runs: dict[str, Callable[[], float]] = {
            "curl": lambda: time_command(plain, wait_until_ready=False),
            "curl, then sync": lambda: time_command(synced, wait_until_ready=False),
            "curl, then sync and sha256sum": lambda: time_command(hashed, wait_until_ready=False),
            "this project, synced and checked": lambda: time_command(project, wait_until_ready=True),
        }
        durations: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                target.unlink(missing_ok=True)
                os.sync()
                durations[name].append(run())
        mirror.stdin.close()
        mirror.wait(10)
    return _results_table(durations, size)


def _results_table(durations: dict[str, list[float]], size: int) -> str:
    rows = []
    for name, seconds in durations.items():
        shares = [
            median([a / b for a, b in zip(durations[reference], seconds, strict=True)])
            for reference in ("curl", "curl, then sync")
        ]
        rate = median([size / 1e6 / duration for duration in seconds])
        rows.append([name, f"{rate:.0f}", *(f"{share:.0%}" for share in shares)])
    return table(["one file over loopback", "MB/s", "of curl", "of curl, then sync"], rows)


def main() -> None:
    """Measure, and write the section of the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="size of the file")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    body = compare_with_curl(arguments.mib << 20, arguments.rounds)
    note = f"A file of {arguments.mib} MiB, {arguments.rounds} rounds in turn, medians of each round's ratio."
    report("download", "python benchmarks/download.py", f"{body}\n\n{note}")


if __name__ == "__main__":
    main()

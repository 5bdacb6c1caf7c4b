"""Downloading: the rate of a file from this machine, hashed and synced, beside that of curl."""

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

_FETCH = """
import hashlib, sys
from openzim_mcp.catalog.download import download_file
from openzim_mcp.catalog.client import Client
from openzim_mcp.catalog.metalink import Source
print("ready", flush=True)
sys.stdin.readline()
url, size, sha256, target = sys.argv[1:]
with Client() as client:
    download_file(client, Source("big.zim", (url,), int(size), sha256), target)
"""


def make_file(folder: Path, size: int) -> Path:
    """Write a file of random bytes."""
    path = folder / "big.zim"
    with path.open("wb") as file:
        for _ in range(size >> 20):
            file.write(random.randbytes(1 << 20))
    return path


def timed(command: list[str], *, wait: bool) -> float:
    """Return the seconds a command takes, counted from when it says that it is ready if it does."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    if wait:
        process.stdout.readline()
    started = time.perf_counter()
    process.communicate(b"\n")
    took = time.perf_counter() - started
    assert process.returncode == 0, command
    return took


def against_curl(size: int, rounds: int) -> str:
    """Get one file by turns with curl alone, with curl and then sha256sum and sync, and with ours."""
    curl, digest = shutil.which("curl"), shutil.which("sha256sum")
    if not curl or not digest:
        raise SystemExit("curl and sha256sum are needed to compare with")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path = make_file(folder, size)
        sha256 = subprocess.run([digest, path], capture_output=True, text=True, check=True).stdout.split()[0]
        target = folder / "out"
        server = [sys.executable, str(ROOT / "tests" / "support" / "mirror.py"), str(folder)]
        mirror = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert mirror.stdin
        assert mirror.stdout
        url = f"{mirror.stdout.readline().strip()}/big.zim"
        plain = [curl, "--silent", "--show-error", "--output", str(target), url]
        synced = ["sh", "-c", f'"$@" && sync "{target}"', "sh", *plain]
        both = ["sh", "-c", f'"$@" && sha256sum "{target}" && sync "{target}"', "sh", *plain]
        ours = [sys.executable, "-c", _FETCH, url, str(path.stat().st_size), sha256, str(target)]
        runs: dict[str, Callable[[], float]] = {
            "curl": lambda: timed(plain, wait=False),
            "curl, then sync": lambda: timed(synced, wait=False),
            "curl, then sync and sha256sum": lambda: timed(both, wait=False),
            "this project, synced and checked": lambda: timed(ours, wait=True),
        }
        took: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                target.unlink(missing_ok=True)
                os.sync()
                took[name].append(run())
        mirror.stdin.close()
        mirror.wait(10)
    return _rows(took, size)


def _rows(took: dict[str, list[float]], size: int) -> str:
    rows = []
    for name, found in took.items():
        shares = [
            median([a / b for a, b in zip(took[other], found, strict=True)]) for other in ("curl", "curl, then sync")
        ]
        rate = median([size / 1e6 / seconds for seconds in found])
        rows.append([name, f"{rate:.0f}", *(f"{share:.0%}" for share in shares)])
    return table(["one file over loopback", "MB/s", "of curl", "of curl, then sync"], rows)


def main() -> None:
    """Measure, and write the section of the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=512, help="size of the file")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    body = against_curl(given.mib << 20, given.rounds)
    note = f"A file of {given.mib} MiB, {given.rounds} rounds by turns, medians of each round's ratio."
    report("download", "python benchmarks/download.py", f"{body}\n\n{note}")


if __name__ == "__main__":
    main()

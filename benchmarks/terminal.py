"""Terminal commands: time and CPU of a cold start, and of a first answer after a fresh checkout."""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from measure import OURS, PEER_VERSION, ROOT, median, peer_command, report, table

EVAL = ROOT.parent / "shared" / "eval" / "zims"
ARCHIVE = EVAL / "ir_mid.zim"
QUESTION = "what is the temperature of the sun?"


def measure_command(command: list[str], runs: int) -> tuple[float, float]:
    """Return the median seconds and CPU seconds of a command with its child processes."""
    durations, cpu_times = [], []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        durations.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(durations), median(cpu_times)


def measure_commands(runs: int) -> str:
    """Measure our commands, and `--help` of openzim-mcp from PyPI."""
    commands = {
        "`--help`": [*OURS, "--help"],
        f"`--help` of openzim-mcp {PEER_VERSION}": [*peer_command(), "--help"],
        "`ask --help`": [*OURS, "ask", "--help"],
        f"`ask`, {ARCHIVE.name} ({ARCHIVE.stat().st_size / 1e6:.0f} MB, 31,957 articles)": [
            *OURS, "ask", QUESTION, str(ARCHIVE),
        ],
        f"`search`, {ARCHIVE.name}": [*OURS, "search", QUESTION, str(ARCHIVE)],
        f"`verify`, {ARCHIVE.name}": [*OURS, "verify", str(ARCHIVE)],
        "`list`, 14 archives": [*OURS, "list", str(ROOT.parent / "shared" / "zims" / "built")],
    }  # fmt: skip
    rows = []
    for name, command in commands.items():
        seconds, cpu_seconds = measure_command(command, runs)
        rows.append([name, f"{seconds:.2f}", f"{cpu_seconds:.2f}"])
    return table(["command, from a cold start", "seconds", "CPU seconds"], rows)


def measure_fresh_checkout() -> str:
    """Time `make demo`, until its first answer, in a copy of the project that has no environment yet."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".peer", ".git", "*.zim", ".*_cache"))
        started = time.perf_counter()
        setup = subprocess.run(["make", "--silent", ".venv/.ready"], cwd=copy, capture_output=True, check=False)  # noqa: S607
        if setup.returncode:
            raise RuntimeError(setup.stderr.decode())
        setup_seconds = time.perf_counter() - started
        demo_seconds = _seconds_to_first_answer(copy, "Ask a question:")
        started = time.perf_counter()
        ask = subprocess.run(
            [copy / ".venv/bin/openzim-mcp", "ask", "what if an archive makes libzim crash?"],
            capture_output=True,
            check=True,
        )
        assert b"Source:" in ask.stdout
        ask_seconds = time.perf_counter() - started
        rows = [
            ["create the environment, install the packages", f"{setup_seconds:.1f}"],
            ["then `make demo`, to its first answer", f"{demo_seconds:.1f}"],
            ["checkout to first answer", f"{setup_seconds + demo_seconds:.1f}"],
            ["`openzim-mcp ask` after that", f"{ask_seconds:.1f}"],
        ]
    return table(["fresh checkout, packages from an index", "seconds"], rows)


def _seconds_to_first_answer(project: Path, heading: str) -> float:
    """Return the seconds until `make demo` shows the answer below a heading."""
    started = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = ["make", "--silent", "demo"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        lines = iter(process.stdout)
        while not next(lines).startswith(heading):
            pass
        next(lines)
        assert next(lines).strip()
        seconds = time.perf_counter() - started
        process.stdout.read()
    return seconds


def main() -> None:
    """Measure everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs per command")
    options = parser.parse_args()
    body = "\n\n".join([measure_commands(options.runs), measure_fresh_checkout()])
    report("terminal", "python benchmarks/terminal.py", body)


if __name__ == "__main__":
    main()

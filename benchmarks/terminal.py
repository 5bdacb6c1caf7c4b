"""What a person waits for: the help, a first answer on a fresh machine, a question to the largest archive."""

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


def cost(command: list[str], runs: int) -> tuple[float, float]:
    """Return the middle seconds and CPU seconds of a command, children and all."""
    took, used = [], []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        took.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(took), median(used)


def commands(runs: int) -> str:
    """Measure commands, and the help of openzim-mcp from PyPI beside ours."""
    measured = {
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
    for name, command in measured.items():
        seconds, used = cost(command, runs)
        rows.append([name, f"{seconds:.2f}", f"{used:.2f}"])
    return table(["command, from a cold start", "seconds", "CPU seconds"], rows)


def fresh_machine() -> str:
    """Time `make demo` in a copy of the project without an environment, until its first answer."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".peer", ".git", "*.zim", ".*_cache"))
        began = time.perf_counter()
        made = subprocess.run(["make", "--silent", ".venv/.ready"], cwd=copy, capture_output=True, check=False)  # noqa: S607
        if made.returncode:
            raise RuntimeError(made.stderr.decode())
        ready = time.perf_counter() - began
        answer = _first_line(copy, "Ask a question:")
        again = time.perf_counter()
        asked = subprocess.run(
            [copy / ".venv/bin/openzim-mcp", "ask", "what if an archive makes libzim crash?"],
            capture_output=True,
            check=True,
        )
        assert b"Source:" in asked.stdout
        rows = [
            ["environment made and packages installed", f"{ready:.1f}"],
            ["`make demo` then, to its first answer", f"{answer:.1f}"],
            ["from nothing to the first answer", f"{ready + answer:.1f}"],
            ["`openzim-mcp ask` after that", f"{time.perf_counter() - again:.1f}"],
        ]
    return table(["fresh checkout, packages from an index", "seconds"], rows)


def _first_line(project: Path, start: str) -> float:
    """Return the seconds until `make demo` shows the answer that follows a line."""
    began = time.perf_counter()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = ["make", "--silent", "demo"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout
        lines = iter(process.stdout)
        while not next(lines).startswith(start):
            pass
        next(lines)
        assert next(lines).strip()
        took = time.perf_counter() - began
        process.stdout.read()
    return took


def main() -> None:
    """Run all and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs of each command")
    given = parser.parse_args()
    report("terminal", "python benchmarks/terminal.py", "\n\n".join([commands(given.runs), fresh_machine()]))


if __name__ == "__main__":
    main()

"""Shared by the benchmarks: a minimal client, process accounting, the server to compare with, the report."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
ZIMS = ROOT.parent / "shared" / "zims"
PEER = ROOT / "benchmarks" / ".peer"
PEER_VERSION = "3.4.0"
QUIET = {"OPENZIM_MCP_RATE_LIMIT__ENABLED": "false", "OPENZIM_MCP_LOGGING__LEVEL": "WARNING"}
OURS = [str(Path(sys.executable).parent / "openzim-mcp")]


def peer_command() -> list[str]:
    """Return the command of openzim-mcp from PyPI, the server to compare with."""
    return install_command(PEER, "openzim-mcp", [f"openzim-mcp=={PEER_VERSION}"])


def install_command(folder: Path, script: str, *packages: list[str]) -> list[str]:
    """Return a command from PyPI packages; on the first call, install them into their own environment."""
    command = folder / "bin" / script
    if not command.exists():
        candidates = [*map(str, Path.home().glob(".pyenv/versions/3.12*/bin/python")), shutil.which("python3.12")]
        python = next((path for path in candidates if path), sys.executable)
        subprocess.run([python, "-m", "venv", folder], check=True)
        pip: list[str | Path] = [folder / "bin" / "python", "-m", "pip", "install", "--quiet"]
        for names in packages:
            subprocess.run([*pip, *names], check=True, stderr=subprocess.DEVNULL)
    return [str(command)]


def largest_archive() -> Path:
    """Return the largest single-file archive in ../shared/zims."""
    return max(ZIMS.glob("*/*.zim"), key=lambda path: path.stat().st_size)


def process_tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants."""
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from process_tree(int(child))
    except FileNotFoundError:
        return


@dataclass
class Server:
    """A running stdio server and its client."""

    process: subprocess.Popen[bytes]
    started: float
    calls: int = 0

    @classmethod
    def start(cls, command: list[str], **settings: str) -> Self:
        """Start a server."""
        environment = os.environ | QUIET | {f"OPENZIM_MCP_{name}": value for name, value in settings.items()}
        started = time.perf_counter()
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)
        return cls(process, started)

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the response."""
        assert self.process.stdin
        assert self.process.stdout
        self.calls += 1
        self._send({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params or {}})
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self.calls:
                return message
        raise RuntimeError(f"the server exited with code {self.process.wait()}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def initialize(self) -> float:
        """Initialize, and return the milliseconds from the start of the process to the response."""
        client = {"name": "benchmark", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        milliseconds = (time.perf_counter() - self.started) * 1000
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return milliseconds

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return its result; an error result raises."""
        response = self.request("tools/call", {"name": tool, "arguments": arguments})
        result = response.get("result", {})
        if "error" in response or result.get("isError"):
            raise RuntimeError(f"{tool} {arguments}: {response}")
        return result

    def memory(self) -> float:
        """Return the resident memory of all processes, in MiB."""
        pages = [Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in process_tree(self.process.pid)]
        return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu(self) -> float:
        """Return the CPU time of all processes so far, in milliseconds."""
        stats = [
            Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split() for pid in process_tree(self.process.pid)
        ]
        return sum(int(ticks) for stat in stats for ticks in stat[11:15]) * 1000 / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Close the server's input and wait until it exits."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(30)


def median(values: list[float]) -> float:
    """Return the median."""
    return statistics.median(values)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(name: str, command: str, body: str) -> None:
    """Print a section and replace the earlier one in RESULTS.md."""
    python = platform.python_version()
    environment = f"{time.strftime('%Y-%m-%d')}, Python {python}, {os.cpu_count()} cores, {platform.system()}"
    section = f"<!-- {name} -->\n`{command}` ({environment})\n\n{body}\n<!-- end {name} -->"
    text = RESULTS.read_text(encoding="utf-8")
    pattern = re.compile(rf"<!-- {name} -->.*?<!-- end {name} -->", re.DOTALL)
    RESULTS.write_text(pattern.sub(lambda _: section, text), encoding="utf-8")
    print(section)

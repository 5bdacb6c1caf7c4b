"""Clients and tools of others in pinned versions, each installed once into a cache outside the project."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.archives import CACHES

HERE = Path(__file__).parent
CACHE = CACHES / "openzim-mcp" / "clients"
_INSTALL_TIMEOUT_SECONDS = 1800
_OFFLINE_ERRORS = [
    "ENOTFOUND",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ETIMEDOUT",
    "ENETUNREACH",
    "from versions: none",
    "Failed to establish a new connection",
    "Temporary failure in name resolution",
]


@contextmanager
def _exclusive(folder: Path) -> Iterator[None]:
    """Let one process at a time install into a folder."""
    fcntl = pytest.importorskip("fcntl", reason="the clients are installed on POSIX systems only")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(kind: str, pins: bytes, install_commands: Callable[[Path], list[list[str]]]) -> Path:
    """Return the folder for these pinned versions; they are installed if it is new."""
    folder = CACHE / f"{kind}-{hashlib.sha256(pins + sys.version.encode()).hexdigest()[:12]}"
    is_complete = folder / ".ready"
    with _exclusive(folder):
        if not is_complete.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for command in install_commands(folder):
                _run(command, folder)
            is_complete.touch()
    return folder


def _run(command: list[str], folder: Path) -> None:
    process = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_SECONDS, check=False
    )
    output = process.stdout + process.stderr
    if process.returncode and any(error in output for error in _OFFLINE_ERRORS):
        pytest.skip(f"no package registry to install the clients from: {output.strip().splitlines()[-1]}")
    assert process.returncode == 0, output


def python_with(name: str) -> str:
    """Return a Python interpreter with the packages of `python/NAME.lock`."""
    lock = HERE / "python" / f"{name}.lock"

    def install_commands(folder: Path) -> list[list[str]]:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return [
            [sys.executable, "-m", "venv", str(folder)],
            [*pip, "--retries", "1", "--require-hashes", "--requirement", str(lock)],
        ]

    return str(_install(name, lock.read_bytes(), install_commands) / "bin" / "python")


def node_modules() -> Path:
    """Return the folder of the installed Node packages, which include Node in the version that they need."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node and npm are not installed")
    pins = [HERE / "node" / "package.json", HERE / "node" / "package-lock.json"]

    def install_commands(folder: Path) -> list[list[str]]:
        for file in pins:
            shutil.copy(file, folder)
        return [[npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]]

    return _install("node", b"".join(file.read_bytes() for file in pins), install_commands) / "node_modules"

"""Where the judges live: programs of others, in pinned versions, installed once into a cache outside the tree."""

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
_INSTALL_SECONDS = 600
_NO_REGISTRY = [
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
def _alone(folder: Path) -> Iterator[None]:
    """Let one run at a time install into a folder."""
    fcntl = pytest.importorskip("fcntl", reason="the clients are installed on POSIX systems only")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(kind: str, pins: bytes, fill: Callable[[Path], list[list[str]]]) -> Path:
    """Return the folder of what these pins name, after running the commands that fill it if it is new."""
    folder = CACHE / f"{kind}-{hashlib.sha256(pins + sys.version.encode()).hexdigest()[:12]}"
    ready = folder / ".ready"
    with _alone(folder):
        if not ready.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for command in fill(folder):
                _run(command, folder)
            ready.touch()
    return folder


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    said = done.stdout + done.stderr
    if done.returncode and any(sign in said for sign in _NO_REGISTRY):
        pytest.skip(f"no registry to install the clients from: {said.strip().splitlines()[-1]}")
    assert done.returncode == 0, said


def python_with(name: str) -> str:
    """Return a Python interpreter that has what `python/NAME.lock` lists."""
    lock = HERE / "python" / f"{name}.lock"

    def fill(folder: Path) -> list[list[str]]:
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return [
            [sys.executable, "-m", "venv", str(folder)],
            [*pip, "--retries", "1", "--require-hashes", "--requirement", str(lock)],
        ]

    return str(_install(name, lock.read_bytes(), fill) / "bin" / "python")


def node_modules() -> Path:
    """Return the folder of the installed Node packages; Node itself, in the version that they need, is among them."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node and npm are not installed")
    pins = [HERE / "node" / "package.json", HERE / "node" / "package-lock.json"]

    def fill(folder: Path) -> list[list[str]]:
        for file in pins:
            shutil.copy(file, folder)
        return [[npm, "install", "--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=1"]]

    return _install("node", b"".join(file.read_bytes() for file in pins), fill) / "node_modules"

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clients import tools
from support.archives import ISLES, TOWNS, write_zim
from support.http_server import TOKEN, HttpServer
from support.stdio_server import COMMAND, server_environment

ServerParameters = dict[str, Any]
"""How a client reaches a server: `url` and `headers`, or `command`, `args` and `env`."""
ClientConfig = dict[str, Any]
"""What a client script is started with: the parameters of the servers, and the directories of their archives."""
CLIENT_TIMEOUT_SECONDS = 900
_SLOW_BYTES = 40_000_000_000


@dataclass(frozen=True)
class Node:
    """Node and the installed packages."""

    modules: Path
    scripts: Path

    def command(self, program: str) -> str:
        return str(self.modules / ".bin" / program)

    def script(self, name: str) -> str:
        return str(self.scripts / name)

    @property
    def environment(self) -> dict[str, str]:
        """An environment in which the programs find the Node that they need."""
        return os.environ | {"PATH": f"{self.modules / '.bin'}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """Node, with copies of our scripts in a folder where they find the packages."""
    modules, scripts = tools.node_modules(), tmp_path_factory.mktemp("node")
    for file in (tools.HERE / "node").glob("*.mjs"):
        shutil.copy(file, scripts)
    (scripts / "node_modules").symlink_to(modules)
    return Node(modules, scripts)


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archives of all tests, written once."""
    folder = tmp_path_factory.mktemp("archives")
    write_zim(folder / "isles_en_all_2026-01.zim", ISLES)
    write_zim(folder / "towns.zim", TOWNS)
    write_zim(folder / "slow.zim", {"A": "x"}, index=False)
    write_zim(folder / "later.zim", {"A": "x"}, index=False)
    write_zim(folder / "other.zim", TOWNS, metadata={"Title": "Other"})
    return folder


def _lengthen(archive: Path) -> None:
    """Move the checksum so far back that verifying it would take minutes; the file is sparse and takes no space."""
    with archive.open("r+b") as file:
        file.seek(72)  # the position of the checksum in the header
        file.write(_SLOW_BYTES.to_bytes(8, "little"))
        file.truncate(_SLOW_BYTES + 16)


def copy_archives(archives: Path, folder: Path) -> Path:
    """Return a new directory to serve; `staged` beside it holds the archives that a client moves there."""
    for subfolder, name, source in [
        ("zims", "isles_en_all_2026-01", "isles_en_all_2026-01"),
        ("zims", "towns", "towns"),
        ("zims", "slow", "slow"),
        ("staged", "towns", "other"),
        ("staged", "later", "later"),
    ]:
        target = folder / subfolder / f"{name}.zim"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((archives / f"{source}.zim").read_bytes())
    _lengthen(folder / "zims" / "slow.zim")
    return folder / "zims"


def _client_config(directory: Path, simple: ServerParameters, advanced: ServerParameters) -> ClientConfig:
    servers = {"simple": simple, "advanced": advanced}
    return {"servers": servers, "directory": str(directory), "staged": str(directory.parent / "staged")}


@contextmanager
def _serve_http(directory: Path, mode: str) -> Iterator[ServerParameters]:
    settings = {"TOOL_MODE": mode, "WATCH_INTERVAL_SECONDS": "1", "AUTH_TOKEN": TOKEN}
    with HttpServer((directory,), settings) as server:
        yield {"url": server.url, "headers": {"Authorization": f"Bearer {TOKEN}"}}


@pytest.fixture
def directory(tmp_path: Path, archives: Path) -> Path:
    """A directory whose archives the test may change."""
    return copy_archives(archives, tmp_path)


@pytest.fixture
def stdio(directory: Path) -> ClientConfig:
    """Servers that the client starts."""

    def parameters(mode: str) -> ServerParameters:
        arguments = [*COMMAND[1:], "--mode", mode, str(directory)]
        settings = {"WATCH_INTERVAL_SECONDS": "1", "LOGGING__LEVEL": "WARNING"}
        return {"command": COMMAND[0], "args": arguments, "env": server_environment(settings)}

    return _client_config(directory, parameters("simple"), parameters("advanced"))


@pytest.fixture(scope="package")
def shared_http(tmp_path_factory: pytest.TempPathFactory, archives: Path) -> Iterator[ClientConfig]:
    """Servers over HTTP, for clients that change nothing."""
    directory = copy_archives(archives, tmp_path_factory.mktemp("shared"))
    with _serve_http(directory, "simple") as simple, _serve_http(directory, "advanced") as advanced:
        yield _client_config(directory, simple, advanced)


@pytest.fixture
def http(directory: Path, shared_http: ClientConfig) -> Iterator[ClientConfig]:
    """Servers over HTTP; the archives of the advanced one may be changed."""
    with _serve_http(directory, "advanced") as advanced:
        yield _client_config(directory, shared_http["servers"]["simple"], advanced)

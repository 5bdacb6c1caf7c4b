from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clients import workshop
from support.archives import ISLES, TOWNS, write_zim
from support.http_server import TOKEN, HttpServer
from support.stdio_server import COMMAND, server_environment

Place = dict[str, Any]
Visit = dict[str, Any]
_SLOW_BYTES = 40_000_000_000


@dataclass(frozen=True)
class Node:
    """Node, and the programs that are installed beside it."""

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
    """Node, with our scripts in a folder of their own that has the packages beside them, where they are looked for."""
    modules, scripts = workshop.node_modules(), tmp_path_factory.mktemp("node")
    for file in (workshop.HERE / "node").glob("*.mjs"):
        shutil.copy(file, scripts)
    (scripts / "node_modules").symlink_to(modules)
    return Node(modules, scripts)


@pytest.fixture(scope="session")
def pressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archives of every visit, written once."""
    folder = tmp_path_factory.mktemp("pressed")
    write_zim(folder / "isles_en_all_2026-01.zim", ISLES)
    write_zim(folder / "towns.zim", TOWNS)
    write_zim(folder / "slow.zim", {"A": "x"}, index=False)
    write_zim(folder / "later.zim", {"A": "x"}, index=False)
    write_zim(folder / "other.zim", TOWNS, metadata={"Title": "Other"})
    return folder


def _lengthen(archive: Path) -> None:
    """Move the checksum so far away that verifying it would take minutes; the hole takes no room on the disk."""
    with archive.open("r+b") as file:
        file.seek(72)  # where the header says that the checksum is
        file.write(_SLOW_BYTES.to_bytes(8, "little"))
        file.truncate(_SLOW_BYTES + 16)


def stock(folder: Path, pressed: Path) -> Path:
    """Fill and return a directory to serve, with what is to come kept aside in `spare`."""
    for place, name, source in [
        ("zims", "isles_en_all_2026-01", "isles_en_all_2026-01"),
        ("zims", "towns", "towns"),
        ("zims", "slow", "slow"),
        ("spare", "towns", "other"),
        ("spare", "later", "later"),
    ]:
        target = folder / place / f"{name}.zim"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((pressed / f"{source}.zim").read_bytes())
    _lengthen(folder / "zims" / "slow.zim")
    return folder / "zims"


def _told(shelf: Path, simple: Place, advanced: Place) -> Visit:
    """What a client is told: how to reach the server in each mode, and where its archives are."""
    servers = {"simple": simple, "advanced": advanced}
    return {"servers": servers, "shelf": str(shelf), "spare": str(shelf.parent / "spare")}


@contextmanager
def _served(shelf: Path, mode: str) -> Iterator[Place]:
    """Serve a shelf over HTTP to who has the token."""
    with HttpServer((shelf,), {"TOOL_MODE": mode, "WATCH_INTERVAL_SECONDS": "1", "AUTH_TOKEN": TOKEN}) as web:
        yield {"url": web.url, "headers": {"Authorization": f"Bearer {TOKEN}"}}


@pytest.fixture
def shelf(tmp_path: Path, pressed: Path) -> Path:
    """A directory of one's own, whose archives may be changed."""
    return stock(tmp_path, pressed)


@pytest.fixture
def stdio(shelf: Path) -> Visit:
    """Servers that the client starts."""

    def place(mode: str) -> Place:
        arguments = [*COMMAND[1:], "--mode", mode, str(shelf)]
        settings = {"WATCH_INTERVAL_SECONDS": "1", "LOGGING__LEVEL": "WARNING"}
        return {"command": COMMAND[0], "args": arguments, "env": server_environment(settings)}

    return _told(shelf, place("simple"), place("advanced"))


@pytest.fixture(scope="package")
def shared_http(tmp_path_factory: pytest.TempPathFactory, pressed: Path) -> Iterator[Visit]:
    """Servers over HTTP, for visitors who change nothing."""
    shelf = stock(tmp_path_factory.mktemp("shared"), pressed)
    with _served(shelf, "simple") as simple, _served(shelf, "advanced") as advanced:
        yield _told(shelf, simple, advanced)


@pytest.fixture
def http(shelf: Path, shared_http: Visit) -> Iterator[Visit]:
    """Servers over HTTP, the advanced one with archives that may be changed."""
    with _served(shelf, "advanced") as advanced:
        yield _told(shelf, shared_http["servers"]["simple"], advanced)

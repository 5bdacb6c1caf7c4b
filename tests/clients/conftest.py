from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clients import workshop
from conftest import ISLES, TOWNS, write_zim
from wire import COMMAND, environment

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


@pytest.fixture
def shelf(tmp_path: Path, pressed: Path) -> Path:
    """A directory to serve, with what is to come kept aside in `spare`."""
    for folder, name, source in [
        ("zims", "isles_en_all_2026-01", "isles_en_all_2026-01"),
        ("zims", "towns", "towns"),
        ("zims", "slow", "slow"),
        ("spare", "towns", "other"),
        ("spare", "later", "later"),
    ]:
        target = tmp_path / folder / f"{name}.zim"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((pressed / f"{source}.zim").read_bytes())
    _lengthen(tmp_path / "zims" / "slow.zim")
    return tmp_path / "zims"


@pytest.fixture
def visit(shelf: Path) -> dict[str, Any]:
    """What a client is told: how to reach the server in each mode, and where its archives are."""

    def place(mode: str) -> dict[str, Any]:
        arguments = [*COMMAND[1:], "--mode", mode, str(shelf)]
        return {
            "command": COMMAND[0],
            "args": arguments,
            "env": environment({"WATCH_INTERVAL_SECONDS": "1", "LOGGING__LEVEL": "WARNING"}),
        }

    return {
        "servers": {mode: place(mode) for mode in ("simple", "advanced")},
        "shelf": str(shelf),
        "spare": str(shelf.parent / "spare"),
    }

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openzim_mcp.worker.zim import Archive
from support.archives import ISLES, SHARED, TOWNS, write_zim
from support.stdio_server import StdioServer

HTTP_TESTS = Path(__file__).parent / "http"
# Jobs in the background of a shell start with SIGINT ignored, and so would the servers that the tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ["XDG_CACHE_HOME"] = os.environ["XDG_DATA_HOME"] = os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(
    prefix="openzim-mcp-tests-"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip on Windows the tests that stop HTTP servers with SIGTERM and expect them to close in order."""
    if sys.platform == "win32":
        for item in items:
            if HTTP_TESTS in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs POSIX signals"))


@pytest.fixture(scope="session")
def zims() -> Path:
    """Real archives, sound and damaged, that lie beside the project and not in it."""
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are not here")
    return SHARED


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let no test know what another one has verified, nor what is in the library of this machine."""
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def town_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small sound archive."""
    target = tmp_path_factory.mktemp("towns") / "towns_en_all_2026-01.zim"
    return write_zim(target, TOWNS, redirects={"Port": "Ravenport"}, metadata={"Creator": "Nobody"})


@pytest.fixture
def towns(town_zim: Path) -> Archive:
    """The small archive, open."""
    return Archive("towns", [str(town_zim)])


@pytest.fixture
def open_server() -> Iterator[Callable[..., StdioServer]]:
    """Start servers over pipes; each is in advanced mode and ended with the test."""
    started: list[StdioServer] = []

    def start(*directories: str | Path, **settings: str) -> StdioServer:
        server = StdioServer("--mode", "advanced", *directories, **settings)
        started.append(server)
        return server.__enter__()

    yield start
    for server in started:
        if server.process.poll() is None:
            server.__exit__()


@pytest.fixture(scope="session")
def isles_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small archive to find things in."""
    target = tmp_path_factory.mktemp("isles") / "isles_en_all_2026-01.zim"
    return write_zim(target, ISLES, redirects={"Port of Ravens": "Ravenport", "The Port": "Ravenport"})


@pytest.fixture
def isles(isles_zim: Path) -> Archive:
    """The same, open."""
    return Archive("isles", [str(isles_zim)])

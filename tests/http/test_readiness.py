from __future__ import annotations

import shutil
from pathlib import Path

import httpx2
import pytest

from support.http_server import HttpServer
from support.stdio_server import cpu_seconds, wait_until


@pytest.fixture
def directory(town_zim: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "zims"
    directory.mkdir()
    shutil.copy(town_zim, directory / "towns.zim")
    return directory


def wait_for_problem(server: HttpServer, problem: str) -> httpx2.Response:
    """Wait until the server says that it is not ready."""
    wait_until(lambda: problem in server.get("/readyz").text)
    return server.get("/readyz")


def test_server_without_a_readable_archive_is_not_ready(directory: Path) -> None:
    archive = directory / "towns.zim"
    with HttpServer((directory,)) as server:
        damaged = archive.read_bytes()[:200]
        archive.rename(directory.parent / "towns.zim")
        empty = wait_for_problem(server, "There is no archive in the directories.")
        archive.write_bytes(damaged)
        unreadable = wait_for_problem(server, "None of the archives can be read.")
        directory.rename(directory.parent / "moved")
        gone = wait_for_problem(server, "The directories of the archives cannot be read.")
        directory.mkdir()
        (directory.parent / "towns.zim").rename(archive)
        wait_until(lambda: server.get("/readyz").status_code == 200)

    assert [response.status_code for response in (empty, unreadable, gone)] == [503] * 3
    assert empty.headers["retry-after"] == "1"


def test_readiness_is_checked_once_a_second(directory: Path) -> None:
    for number in range(300):
        (directory / f"copy_{number}.zim").hardlink_to(directory / "towns.zim")
    with HttpServer((directory,)) as server, httpx2.Client(timeout=60) as client:
        seconds = {}
        for path in ("/healthz", "/readyz"):
            before = cpu_seconds(server.process.pid)
            for _ in range(400):
                assert client.get(f"{server.root}{path}").status_code == 200
            seconds[path] = cpu_seconds(server.process.pid) - before

    # A scan of 300 archives takes several milliseconds of processor time.
    assert seconds["/readyz"] < seconds["/healthz"] + 0.6

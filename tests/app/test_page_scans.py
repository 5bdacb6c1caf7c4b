from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import files, page_index
from openzim_mcp.zimfile import Identity, stat_parts
from support import command_line
from support.archives import write_zim
from support.stdio_server import TIMEOUT_SECONDS, StdioServer, child_pids, wait_until

OpenServer = Callable[..., StdioServer]
COMPLETE = {"state": "complete", "done": 20, "of": 20}
PAGES_OF_DICTIONARY = 13_355
NOT_BUILT = {"state": "not built", "done": 0, "of": 0}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    pages = {f"Page {number}": '<a href="Page 0">first</a>' for number in range(20)}
    write_zim(tmp_path / "pages.zim", pages)
    return tmp_path


def index_of(server: StdioServer) -> Any:
    return server.call("zim_health")["loaded_archives"][0]["index"]


def pages_done(identity: Identity) -> int:
    state = page_index.read_state(identity)
    return state.done if state else 0


def entries_kept(identity: Identity) -> int:
    """How many entries the next start need not read again."""
    with page_index.opened(identity) as database:
        assert database is not None
        if not database.execute("SELECT name FROM sqlite_master WHERE name = 'entry_targets'").fetchone():
            return 0
        return int(database.execute("SELECT sum(length(numbers)) / 4 FROM entry_targets").fetchone()[0])


def wait_until_complete(server: StdioServer) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while index_of(server)["state"] != "complete":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_index_is_made_after_the_start(open_server: OpenServer, library: Path) -> None:
    before = command_line.run("list", library, "--json").json["archives"][0]["index"]
    server = open_server(library, INDEX__ENABLED="true")

    wait_until_complete(server)

    assert before == NOT_BUILT
    assert index_of(server) == server.call("zim_health", zim_file_path="pages")["index"] == COMPLETE
    assert command_line.run("list", library, "--json").json["archives"][0]["index"] == COMPLETE


def test_first_call_comes_before_the_index(open_server: OpenServer, library: Path) -> None:
    identity = stat_parts([str(library / "pages.zim")]).identity
    server = open_server(library, INDEX__ENABLED="true")
    time.sleep(1.5)
    assert page_index.read_state(identity) is None

    wait_until_complete(server)


def test_archive_that_appears_is_indexed(
    open_server: OpenServer, library: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("served")
    server = open_server(folder, INDEX__ENABLED="true")
    server.call("zim_health")

    (library / "pages.zim").rename(folder / "pages.zim")

    wait_until_complete(server)


def test_setting_switches_all_indexes_off(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="false")

    server.request("tools/call", {"name": "zim_query", "arguments": {"query": "Where is the first?"}})
    report = server.call("zim_health", zim_file_path="pages")

    assert report["index"] == {"state": "off", "done": 0, "of": 0}
    assert report["passage_index"] == "not built"
    assert not Path(page_index.index_path(stat_parts([str(library / "pages.zim")]).identity)).exists()


def test_index_that_another_process_writes_is_left_to_it(open_server: OpenServer, library: Path) -> None:
    identity = stat_parts([str(library / "pages.zim")]).identity
    os.makedirs(os.path.dirname(page_index.index_path(identity)))
    with open(page_index.lock_path(identity), "wb") as lock:
        assert files.try_lock(lock.fileno())
        server = open_server(library, INDEX__ENABLED="true")

        assert index_of(server) == {"state": "building", "done": 0, "of": 0}


def test_cache_that_cannot_be_written_is_logged(
    open_server: OpenServer, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/directory")
    server = open_server(library, INDEX__ENABLED="true")

    server.wait_for_log("no index of the pages of pages: The index of 'pages' cannot be written")

    assert index_of(server) == NOT_BUILT


def test_short_lived_clients_complete_the_index_together(open_server: OpenServer, zims: Path) -> None:
    archive = zims / "built/dictionary_pub.zim"
    identity = stat_parts([str(archive)]).identity
    done = [0]
    for _ in range(3):
        server = open_server(archive, INDEX__ENABLED="true")
        wait_until(lambda: pages_done(identity) > done[-1])
        server.close()
        wait_until(lambda: not page_index.is_being_written(identity))
        done.append(pages_done(identity))
    kept = entries_kept(identity)
    wait_until_complete(open_server(archive, INDEX__ENABLED="true"))

    assert done == sorted(set(done))
    assert kept > PAGES_OF_DICTIONARY
    assert entries_kept(identity) == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found through /proc")
def test_crashed_job_is_started_again(open_server: OpenServer, zims: Path) -> None:
    archive = zims / "built/dictionary_pub.zim"
    server = open_server(archive, INDEX__ENABLED="true")
    identity = stat_parts([str(archive)]).identity
    wait_until(lambda: page_index.read_state(identity) is not None)
    for job in set(child_pids(server.process.pid, with_jobs=True)) - set(server.worker_pids):
        os.kill(job, signal.SIGSEGV)

    wait_until_complete(server)

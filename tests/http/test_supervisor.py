from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from openzim_mcp.http.supervisor import CANNOT_START, Supervisor
from support.archives import write_zim
from support.event_stream import ACKNOWLEDGED, LIST_CHANGED, UPDATED, listening, settle, stream
from support.http_server import HttpServer, McpClient, answer
from support.stdio_server import INITIALIZE_VERSIONS, STATELESS_VERSION, child_pids, is_alive, server_environment

if not Path("/proc/self/task").is_dir():
    pytest.skip("server processes are found through /proc", allow_module_level=True)

TWO = {"PROCESSES": "2", "WATCH_INTERVAL_SECONDS": "1"}
TOWN = "zim://towns"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    put(folder, "First")
    return folder


@pytest.fixture(scope="module")
def pair(shelf: Path) -> Iterator[HttpServer]:
    with HttpServer((shelf,), TWO) as web:
        yield web
        assert web.stop() == 0
    assert "Traceback" not in web.log, web.log


def put(folder: Path, title: str) -> None:
    """Write an archive aside and move it into its place."""
    aside = folder.parent / f"{folder.name}.new"
    write_zim(aside, {"A": "<p>Ravenport is a town.</p>"}, metadata={"Title": title}).replace(folder / "towns.zim")


def servers(web: HttpServer) -> list[int]:
    """The processes that serve, which have processes of their own that read archives."""
    for _ in range(200):
        found = [pid for pid in child_pids(web.process.pid) if child_pids(pid)]
        if len(found) == 2:
            return found
        time.sleep(0.05)
    raise AssertionError(web.log)


def family(web: HttpServer) -> list[int]:
    """All processes below the first one."""
    return [pid for child in child_pids(web.process.pid) for pid in (child, *child_pids(child))]


def asks(web: HttpServer, revision: str = STATELESS_VERSION) -> str:
    """Ask over a new connection."""
    with McpClient(web.url, revision) as visit:
        return str(visit.call("zim_query", query="Ravenport")["content"][0]["text"])


def number(web: HttpServer, name: str) -> float:
    found = re.search(rf"^openzim_mcp_{re.escape(name)} (\S+)$", httpx2.get(f"{web.root}/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_each_process_serves(pair: HttpServer) -> None:
    for pid in servers(pair):
        with stopped(pid):
            assert "Ravenport" in asks(pair)


@pytest.mark.parametrize("revision", INITIALIZE_VERSIONS)
def test_a_handshake_client_needs_no_affinity(pair: HttpServer, revision: str) -> None:
    first, second = servers(pair)
    with McpClient(pair.url, revision) as visit, stopped(first):
        assert visit.session is None
        assert "Ravenport" in asks(pair, revision)
    for pid in (second, first):
        with stopped(pid), McpClient(pair.url, revision, session="none") as later:
            later.session = None
            assert "Ravenport" in later.call("zim_query", query="Ravenport")["content"][0]["text"]


def test_handshake_clients_are_promised_no_notifications_and_get_no_stream(pair: HttpServer) -> None:
    with McpClient(pair.url) as visit:
        told = answer(visit.initialize())["result"]["capabilities"]["resources"]
        refused = visit.http.send(stream(visit))
        unknown = answer(visit.post("resources/subscribe", {"uri": TOWN}))

    assert told == {"subscribe": False, "listChanged": False}
    assert refused.status_code == 405
    assert refused.headers["allow"] == "POST"
    assert unknown["error"]["code"] == -32601


def test_streams_of_both_processes_hear_of_a_change_and_are_counted_together(pair: HttpServer, shelf: Path) -> None:
    with McpClient(pair.url, STATELESS_VERSION) as visit, contextlib.ExitStack() as ears:
        told = answer(visit.post("server/discover"))["result"]["capabilities"]["resources"]
        listeners = []
        for pid in servers(pair):
            with stopped(pid):
                listeners += [ears.enter_context(listening(visit, TOWN)) for _ in range(2)]
                assert all(ear.wait_for(ACKNOWLEDGED) for ear in listeners[-2:])
        assert number(pair, "subscriptions") == 4
        settle()
        put(shelf, "Second")

        assert told == {"subscribe": True, "listChanged": True}
        assert all(ear.wait_for(UPDATED, uri=TOWN) for ear in listeners)
        write_zim(shelf / "isles.zim", {"A": "x"})
        assert all(ear.wait_for(LIST_CHANGED) for ear in listeners)
    for _ in range(100):
        if number(pair, "subscriptions") == 0:
            break
        time.sleep(0.05)
    assert number(pair, "subscriptions") == 0


def test_metrics_are_the_sum_of_all_processes(pair: HttpServer) -> None:
    name = 'calls_total{method="tools/call",outcome="ok",tool="zim_query"}'
    for pid in servers(pair):
        with stopped(pid):
            asks(pair)
    before = number(pair, name)
    for pid in servers(pair):
        with stopped(pid):
            asks(pair)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asks(pair), range(12)))

    assert number(pair, name) == before + 14
    assert 'openzim_mcp_info{version="' in httpx2.get(f"{pair.root}/metrics").text


def test_a_process_that_is_killed_is_replaced_and_no_later_call_is_lost(town_zim: Path) -> None:
    with HttpServer((town_zim,), TWO) as web, McpClient(web.url, STATELESS_VERSION) as visit:
        first, second = servers(web)
        readers = child_pids(first)
        with stopped(second), listening(visit, TOWN) as ear:
            assert ear.wait_for(ACKNOWLEDGED)
            os.kill(first, signal.SIGKILL)
            ear.wait()
        answers = [asks(web) for _ in range(5)]

        assert all("Ravenport" in told for told in answers)
        assert second in servers(web)
        assert first not in servers(web)
        assert "server process exited with code -9; restarting" in web.log
        assert number(web, "subscriptions") == 0
        assert number(web, "in_flight") == 0
        assert not any(map(is_alive, readers))
        processes = family(web)
        assert web.stop(signal.SIGINT) == 130
    assert not any(map(is_alive, processes))


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_the_end_leaves_no_process(town_zim: Path, ending: int, code: int) -> None:
    with (
        HttpServer((town_zim,), TWO) as web,
        McpClient(web.url, STATELESS_VERSION) as visit,
        listening(visit, TOWN) as ear,
    ):
        assert ear.wait_for(ACKNOWLEDGED)
        servers(web)
        processes = family(web)
        start = time.monotonic()

        assert web.stop(ending) == code
        ear.wait()
        while any(map(is_alive, processes)) and time.monotonic() < start + 10:
            time.sleep(0.05)
    assert not any(map(is_alive, processes))
    assert time.monotonic() - start < 6
    assert "Traceback" not in web.log, web.log
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", web.port), 1)


def test_a_hang_up_ends_nothing(pair: HttpServer) -> None:
    before = servers(pair)
    for pid in (pair.process.pid, *before):
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.2)

    assert servers(pair) == before
    assert "Ravenport" in asks(pair)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made
    for name, action in kept.items():
        signal.signal(name, action)


def cannot_start(_listener: socket.socket) -> None:
    sys.exit(CANNOT_START)


def never_ends(_listener: socket.socket) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(os.environ["NEVER_ENDS"]).touch()
    time.sleep(60)


def test_processes_that_cannot_start_are_not_tried_for_ever(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))

    assert Supervisor(1, cannot_start, listener, grace_seconds=1).run() == CANNOT_START


def test_a_process_that_does_not_end_is_ended(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NEVER_ENDS", str(tmp_path / "started"))
    processes = Supervisor(1, never_ends, listener, grace_seconds=0.2)

    def end() -> None:
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end).start()
    assert processes.run() == 0
    assert not any(process.is_alive() for process in processes._processes)


def test_without_a_place_for_its_numbers_the_start_says_what_to_give(tmp_path: Path) -> None:
    lacking = "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc']\n"
    code = f"{lacking}import sys\nfrom openzim_mcp.cli import main\nsys.exit(main.main(['--transport=http', '--workers=2']))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=server_environment({"PORT": "0"}),
        cwd=tmp_path,
        timeout=30,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    assert "set TMPDIR to one" in done.stderr

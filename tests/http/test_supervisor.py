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

import pytest

from openzim_mcp.http.supervisor import CANNOT_START, Supervisor
from support.archives import write_zim
from support.event_stream import ACKNOWLEDGED, LIST_CHANGED, UPDATED, session_stream, subscribe
from support.http_server import HttpServer, McpClient, read_reply, result_text
from support.stdio_server import (
    INITIALIZE_VERSIONS,
    STATELESS_VERSION,
    child_pids,
    is_alive,
    server_environment,
    wait_until,
)

if not Path("/proc/self/task").is_dir():
    pytest.skip("server processes are found through /proc", allow_module_level=True)

TWO_PROCESSES = {"PROCESSES": "2", "WATCH_INTERVAL_SECONDS": "1"}
ARCHIVE_URI = "zim://towns"


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("archives")
    replace_archive(directory, "First")
    return directory


@pytest.fixture(scope="module")
def server(archives: Path) -> Iterator[HttpServer]:
    with HttpServer((archives,), TWO_PROCESSES) as server:
        yield server
        assert server.stop() == 0
    assert "Traceback" not in server.log, server.log


def replace_archive(directory: Path, title: str) -> None:
    """Write an archive elsewhere and move it into the directory."""
    new_file = directory.parent / f"{directory.name}.new"
    write_zim(new_file, {"A": "<p>Ravenport is a town.</p>"}, metadata={"Title": title}).replace(
        directory / "towns.zim"
    )


def server_pids(server: HttpServer) -> list[int]:
    """The server processes: the children that have worker processes."""

    def parents() -> list[int]:
        return [pid for pid in child_pids(server.process.pid) if child_pids(pid)]

    wait_until(lambda: len(parents()) == 2)
    return parents()


def descendant_pids(server: HttpServer) -> list[int]:
    return [pid for child in child_pids(server.process.pid) for pid in (child, *child_pids(child))]


def query_archive(server: HttpServer, version: str = STATELESS_VERSION) -> str:
    """Call zim_query over a new connection."""
    with McpClient(server.url, version) as client:
        return result_text(client.call("zim_query", query="Ravenport"))


def read_metric(server: HttpServer, name: str) -> float:
    match = re.search(rf"^openzim_mcp_{re.escape(name)} (\S+)$", server.get("/metrics").text, re.MULTILINE)
    assert match
    return float(match[1])


def stable_metric(server: HttpServer, name: str) -> float:
    """Return a metric once it is the same in every process, as each shares its own once a second."""
    values: list[float] = []

    def is_stable() -> bool:
        values.append(read_metric(server, name))
        return len(values) > 200 and len(set(values[-200:])) == 1

    wait_until(is_stable)
    return values[-1]


@contextlib.contextmanager
def suspended(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # a worker may have been replaced meanwhile
            os.kill(pid, signal.SIGCONT)


def test_each_process_serves(server: HttpServer) -> None:
    for pid in server_pids(server):
        with suspended(pid):
            assert "Ravenport" in query_archive(server)


@pytest.mark.parametrize("version", INITIALIZE_VERSIONS)
def test_clients_with_initialize_need_no_affinity(server: HttpServer, version: str) -> None:
    first, second = server_pids(server)
    with McpClient(server.url, version) as client, suspended(first):
        assert client.session is None
        assert "Ravenport" in query_archive(server, version)
    for pid in (second, first):
        with suspended(pid), McpClient(server.url, version, session="none") as client:
            client.session = None
            assert "Ravenport" in result_text(client.call("zim_query", query="Ravenport"))


def test_clients_with_initialize_get_no_notifications(server: HttpServer) -> None:
    with McpClient(server.url) as client:
        capabilities = read_reply(client.initialize())["result"]["capabilities"]["resources"]
        refused = client.http.send(session_stream(client))
        unknown = read_reply(client.post("resources/subscribe", {"uri": ARCHIVE_URI}))

    assert capabilities == {"subscribe": False, "listChanged": False}
    assert refused.status_code == 405
    assert refused.headers["allow"] == "POST"
    assert unknown["error"]["code"] == -32601


def test_streams_of_all_processes_are_notified_and_counted(server: HttpServer, archives: Path) -> None:
    with McpClient(server.url, STATELESS_VERSION) as client, contextlib.ExitStack() as stack:
        capabilities = read_reply(client.post("server/discover"))["result"]["capabilities"]["resources"]
        streams = []
        for pid in server_pids(server):
            with suspended(pid):
                streams += [stack.enter_context(subscribe(client, ARCHIVE_URI)) for _ in range(2)]
                assert all(stream.wait_for(ACKNOWLEDGED) for stream in streams[-2:])
        wait_until(lambda: read_metric(server, "subscriptions") == 4)
        replace_archive(archives, "Second")

        assert capabilities == {"subscribe": True, "listChanged": True}
        assert all(stream.wait_for(UPDATED, uri=ARCHIVE_URI) for stream in streams)
        write_zim(archives / "isles.zim", {"A": "x"})
        assert all(stream.wait_for(LIST_CHANGED) for stream in streams)
    wait_until(lambda: read_metric(server, "subscriptions") == 0)


def test_metrics_are_the_sum_of_all_processes(server: HttpServer) -> None:
    name = 'calls_total{method="tools/call",outcome="ok",tool="zim_query"}'
    for pid in server_pids(server):
        with suspended(pid):
            query_archive(server)
    before = stable_metric(server, name)
    for pid in server_pids(server):
        with suspended(pid):
            query_archive(server)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: query_archive(server), range(12)))

    wait_until(lambda: read_metric(server, name) == before + 14)
    assert 'openzim_mcp_info{version="' in server.get("/metrics").text


def test_killed_process_is_replaced(town_zim: Path) -> None:
    with HttpServer((town_zim,), TWO_PROCESSES) as server, McpClient(server.url, STATELESS_VERSION) as client:
        first, second = server_pids(server)
        workers = child_pids(first)
        with suspended(second), subscribe(client, ARCHIVE_URI) as stream:
            assert stream.wait_for(ACKNOWLEDGED)
            os.kill(first, signal.SIGKILL)
            stream.wait_for_end()
        answers = [query_archive(server) for _ in range(5)]

        assert all("Ravenport" in answer for answer in answers)
        assert second in server_pids(server)
        assert first not in server_pids(server)
        server.wait_for_line("server process was ended by SIGKILL; restarting")
        wait_until(lambda: read_metric(server, "subscriptions") == 0)
        wait_until(lambda: read_metric(server, "in_flight") == 0)
        wait_until(lambda: not any(map(is_alive, workers)))
        processes = descendant_pids(server)
        assert server.stop(signal.SIGINT) == 130
    wait_until(lambda: not any(map(is_alive, processes)))


def test_call_of_a_disconnected_client_is_cancelled(town_zim: Path) -> None:
    with HttpServer((town_zim,), TWO_PROCESSES) as server, McpClient(server.url, STATELESS_VERSION) as client:
        workers = [worker for pid in server_pids(server) for worker in child_pids(pid)]
        request = client.request("tools/call", {"name": "zim_query", "arguments": {"query": "Who founded Ravenport?"}})
        head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
        with contextlib.ExitStack() as stack:
            for worker in workers:
                stack.enter_context(suspended(worker))  # the call cannot end by itself
            with socket.create_connection(("127.0.0.1", server.port)) as connection:
                connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + request.content)
                wait_until(lambda: read_metric(server, "in_flight") == 1)

            assert "outcome=cancelled" in server.wait_for_line("tool=zim_query")


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_stopped_server_leaves_no_process(town_zim: Path, signal_number: int, code: int) -> None:
    with (
        HttpServer((town_zim,), TWO_PROCESSES) as server,
        McpClient(server.url, STATELESS_VERSION) as client,
        subscribe(client, ARCHIVE_URI) as stream,
    ):
        assert stream.wait_for(ACKNOWLEDGED)
        server_pids(server)
        processes = descendant_pids(server)

        assert server.stop(signal_number) == code
        stream.wait_for_end()
        wait_until(lambda: not any(map(is_alive, processes)))
    assert "graceful shutdown exceeded" not in server.log
    assert "Traceback" not in server.log, server.log
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", server.port), 1)


def test_sighup_is_ignored(server: HttpServer) -> None:
    before = server_pids(server)
    for pid in (server.process.pid, *before):
        os.kill(pid, signal.SIGHUP)
    time.sleep(0.2)

    assert server_pids(server) == before
    assert "Ravenport" in query_archive(server)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener
    for number, handler in handlers.items():
        signal.signal(number, handler)


def fail_to_start(_listener: socket.socket) -> None:
    sys.exit(CANNOT_START)


def ignore_sigterm(_listener: socket.socket) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(os.environ["STARTED_FILE"]).touch()
    time.sleep(600)


def test_process_that_cannot_start_is_not_restarted(
    listener: socket.socket,
) -> None:
    assert Supervisor(1, fail_to_start, listener, grace_seconds=1).run() == CANNOT_START


def test_process_that_ignores_sigterm_is_killed(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STARTED_FILE", str(tmp_path / "started"))
    supervisor = Supervisor(1, ignore_sigterm, listener, grace_seconds=0.2)

    def stop_when_started() -> None:
        wait_until((tmp_path / "started").exists)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_when_started).start()
    assert supervisor.run() == 0
    assert not any(process.is_alive() for process in supervisor._processes)


@pytest.fixture
def small_tmpfs(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "tmpfs"
    directory.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"cannot mount a file system: {mount.stderr.strip()}")
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


def fill(directory: Path) -> None:
    with (directory / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1024))


@pytest.mark.parametrize("filled", ["at the start", "while it serves"])
def test_full_temporary_directory_costs_no_request(
    town_zim: Path, small_tmpfs: Path, monkeypatch: pytest.MonkeyPatch, filled: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(small_tmpfs))
    if filled == "at the start":
        fill(small_tmpfs)
    with HttpServer((town_zim,), TWO_PROCESSES) as server:
        fill(small_tmpfs)
        answers = [query_archive(server) for _ in range(9)]
        metrics = server.get("/metrics").text

    assert all("Ravenport" in answer for answer in answers)
    assert "openzim_mcp_calls_total" in metrics
    assert "restarting" not in server.log


def count_starts(_listener: socket.socket) -> None:
    with Path(os.environ["STARTED_FILE"]).open("a") as file:
        file.write(f"{time.monotonic()}\n")
    os.kill(os.getpid(), signal.SIGBUS)


def test_restarts_back_off_and_say_why(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    started = tmp_path / "started"
    started.touch()
    monkeypatch.setenv("STARTED_FILE", str(started))
    supervisor = Supervisor(1, count_starts, listener, grace_seconds=1)

    def stop_after_four_starts() -> None:
        wait_until(lambda: len(started.read_text().splitlines()) >= 4)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=stop_after_four_starts).start()
    supervisor.run()
    second, third, fourth = map(float, started.read_text().splitlines()[1:4])

    assert third - second > 1
    assert fourth - third > 2
    assert "server process was ended by SIGBUS; restarting in 2 s" in caplog.text


def test_server_without_a_temporary_directory_has_metrics_per_process(town_zim: Path, tmp_path: Path) -> None:
    no_directory = "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc']\n"
    arguments = ["--transport=http", "--workers=2", str(town_zim)]
    code = f"{no_directory}import sys\nfrom openzim_mcp.cli import main\nsys.exit(main.main({arguments}))"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stderr=subprocess.PIPE,
        text=True,
        env=server_environment({"PORT": "0"}),
        cwd=tmp_path,
    ) as process:
        assert process.stderr is not None
        log = ""
        while "/metrics is about" not in log and (line := process.stderr.readline()):
            log += line
        process.terminate()

    assert "/metrics is about single processes" in log

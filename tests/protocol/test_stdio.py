"""A server over pipes, and how it exits: at the end of input, by a signal or with its parent, leaving no process."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from support.stdio_server import (
    COMMAND,
    REQUEST_META,
    TIMEOUT_SECONDS,
    StdioServer,
    child_pids,
    cpu_seconds,
    is_alive,
    server_environment,
    wait_until,
)

if not Path("/proc/self/task").is_dir():
    pytest.skip("processes are found through /proc", allow_module_level=True)
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
_PIPE_BYTES = 65_536


@pytest.fixture
def server(town_zim: Path) -> StdioServer:
    server = StdioServer("--mode", "advanced", town_zim)
    server.__enter__()
    server.call("zim_metadata")
    assert server.worker_pids
    return server


def unread_bytes(pipe: IO[bytes]) -> int:
    return int(struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0])


def start_endless_call(server: StdioServer) -> None:
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    server.start_call("zim_browse", namespace="C")
    server.request("ping")  # the call before it was received


def test_end_of_input_stops_server_and_workers(server: StdioServer) -> None:
    workers = server.worker_pids

    assert server.close() == 0
    assert not any(map(is_alive, workers))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
@pytest.mark.parametrize("is_busy", [False, True])
def test_signal_stops_server_and_workers(
    server: StdioServer, number: signal.Signals, code: int, *, is_busy: bool
) -> None:
    workers = server.worker_pids
    if is_busy:
        start_endless_call(server)

    server.process.send_signal(number)

    assert server.process.wait(TIMEOUT_SECONDS) == code
    assert not any(map(is_alive, workers))
    assert "Traceback" not in server.log
    server.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a busy worker exits at its deadline")
@pytest.mark.parametrize("is_busy", [False, True])
def test_workers_exit_when_the_server_is_killed(server: StdioServer, *, is_busy: bool) -> None:
    workers = server.worker_pids
    if is_busy:
        start_endless_call(server)

    server.process.kill()

    wait_until(lambda: not any(map(is_alive, workers)))
    server.close()


def test_stdout_carries_only_the_protocol(town_zim: Path) -> None:
    server = subprocess.run(
        [*COMMAND, str(town_zim)],
        input=b"",
        capture_output=True,
        env=server_environment({"LOGGING__LEVEL": "DEBUG"}),
        check=False,
    )

    assert (server.returncode, server.stdout) == (0, b"")


def test_concurrent_requests_are_all_answered(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        request_ids = [server.start_call("zim_browse", namespace="C", limit=n + 1) for n in range(5)]

        assert [len(server.finish_call(request_id)["entries"]) for request_id in request_ids] == [1, 2, 3, 4, 5]


def test_invalid_input_does_not_stop_the_server(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        server.write(b"not json\n{}\n[]\n\xff\xfe\x00\n" + b"x" * 200_000 + b"\n")

        assert server.call("zim_metadata")["metadata"]["Title"] == "Test"
        assert child_pids(server.process.pid)


@pytest.fixture
def unread_server(town_zim: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose client sends many requests and reads no response, so that the pipe is full."""
    params = b'{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}'
    process = subprocess.Popen(
        [*COMMAND, "--mode", "advanced", str(town_zim)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=server_environment({}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdout = process.stdout
    process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":%b}\n' % params)
    process.stdin.flush()
    process.stdout.readline()
    for request_id in range(1, 50):
        process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % request_id)
    process.stdin.flush()
    # A pipe holds pages, and the rest of a page that a line does not fill stays empty.
    wait_until(lambda: unread_bytes(stdout) > _PIPE_BYTES * 0.75)
    yield process
    process.stdin.close()
    process.stdout.close()


def test_signal_stops_a_server_whose_client_does_not_read(unread_server: subprocess.Popen[bytes]) -> None:
    assert unread_server.poll() is None

    unread_server.terminate()

    assert unread_server.wait(TIMEOUT_SECONDS) == 0


def test_server_exits_when_its_output_is_closed(unread_server: subprocess.Popen[bytes]) -> None:
    assert unread_server.stdout is not None

    unread_server.stdout.close()

    assert unread_server.wait(TIMEOUT_SECONDS) == 0


def test_line_of_ten_megabytes_is_read_in_linear_time(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        before = cpu_seconds(server.process.pid)
        server.start_call("zim_metadata", zim_file_path="x" * 10_000_000)

        assert server.read_message()["error"]["message"] == "Invalid request: a message may have up to 1 MiB."
        assert cpu_seconds(server.process.pid) - before < 10


def test_call_is_not_waited_for_when_nobody_reads_its_result(town_zim: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "--mode", "advanced", str(town_zim)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=server_environment({"WORKER__DEADLINE_SECONDS": "600"}),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for request_id, tool in enumerate(["zim_metadata", "zim_browse"]):
        params = {"name": tool, "arguments": {"namespace": "C"} if request_id else {}, "_meta": REQUEST_META}
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        if not request_id:
            process.stdout.readline()
            for pid in child_pids(process.pid):
                os.kill(pid, signal.SIGSTOP)

    process.stdout.close()
    process.stdin.close()

    assert process.wait(TIMEOUT_SECONDS) == 0


def test_stray_print_does_not_reach_the_client() -> None:
    code = (
        "import anyio\n"
        "from openzim_mcp.protocol.stdio import LineWriter\n"
        "async def main():\n"
        "    output = LineWriter()\n"
        "    print('stray', flush=True)\n"
        "    await output.write(b'message')\n"
        "anyio.run(main)"
    )

    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (process.stdout, process.stderr) == ("message\n", "stray\n")

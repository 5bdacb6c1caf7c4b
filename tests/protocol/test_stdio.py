"""The pipes of a server, and how it ends: with its input, a signal, its parent; never leaving a process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stdio_server import COMMAND, StdioServer, child_pids, is_alive, server_environment

if not Path("/proc/self/task").is_dir():
    pytest.skip("processes are found through /proc", allow_module_level=True)


def gone(pids: list[int], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


@pytest.fixture
def served(town_zim: Path) -> StdioServer:
    server = StdioServer("--mode", "advanced", town_zim)
    server.__enter__()
    server.call("zim_metadata")
    assert server.worker_pids
    return server


def start_endless_call(server: StdioServer) -> None:
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    server.start_call("zim_browse", namespace="C")
    time.sleep(0.2)


def test_the_end_of_input_ends_everything(served: StdioServer) -> None:
    workers = served.worker_pids

    assert served.close() == 0
    assert gone(workers, seconds=0)


@pytest.mark.parametrize(("asked", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_everything_while_the_client_is_silent(
    served: StdioServer, asked: signal.Signals, code: int, *, busy: bool
) -> None:
    workers = served.worker_pids
    if busy:
        start_endless_call(served)

    served.process.send_signal(asked)

    assert served.process.wait(10) == code
    assert gone(workers, seconds=0)
    assert "Traceback" not in served.log
    served.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a busy worker ends at its deadline")
@pytest.mark.parametrize("busy", [False, True])
def test_the_death_of_the_server_ends_its_workers(served: StdioServer, *, busy: bool) -> None:
    workers = served.worker_pids
    if busy:
        start_endless_call(served)

    served.process.kill()

    assert gone(workers)
    served.close()


def test_nothing_but_the_protocol_reaches_the_client(town_zim: Path) -> None:
    server = subprocess.run(
        [*COMMAND, str(town_zim)],
        input=b"",
        capture_output=True,
        env=server_environment({"LOGGING__LEVEL": "DEBUG"}),
        check=False,
    )

    assert (server.returncode, server.stdout) == (0, b"")


def test_requests_sent_before_the_server_is_ready_are_answered(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        numbers = [server.start_call("zim_browse", namespace="C", limit=n + 1) for n in range(5)]

        assert [len(server.finish_call(number)["entries"]) for number in numbers] == [1, 2, 3, 4, 5]


def test_a_file_full_of_nonsense_does_not_end_the_server(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        server.write(b"not json\n{}\n[]\n\xff\xfe\x00\n" + b"x" * 200_000 + b"\n")

        assert server.call("zim_metadata")["metadata"]["Title"] == "Test"
        assert child_pids(server.process.pid)


@pytest.fixture
def deaf(town_zim: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server whose client asks a lot and reads nothing."""
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
    process.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":%b}\n' % params)
    process.stdin.flush()
    process.stdout.readline()
    for number in range(1, 50):
        process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}\n' % number)
    process.stdin.flush()
    time.sleep(1)
    yield process
    process.stdin.close()
    process.stdout.close()


def test_a_signal_ends_a_server_whose_client_does_not_read(deaf: subprocess.Popen[bytes]) -> None:
    assert deaf.poll() is None

    deaf.terminate()

    assert deaf.wait(10) == 0


def test_a_server_ends_when_nobody_can_read_it_any_more(deaf: subprocess.Popen[bytes]) -> None:
    assert deaf.stdout is not None

    deaf.stdout.close()

    assert deaf.wait(10) == 0


def test_a_line_of_ten_megabytes_is_read_in_linear_time(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim) as server:
        started = time.monotonic()
        number = server.start_call("zim_metadata", zim_file_path="x" * 10_000_000)

        assert server.finish_call(number)["operation"] == "invalid_arguments"
        assert time.monotonic() - started < 10


def test_what_is_printed_by_mistake_never_reaches_the_client() -> None:
    code = (
        "import anyio\n"
        "from openzim_mcp.protocol.stdio import LineWriter\n"
        "async def main():\n"
        "    output = LineWriter()\n"
        "    print('by mistake', flush=True)\n"
        "    await output.write(b'meant')\n"
        "anyio.run(main)"
    )

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (ran.stdout, ran.stderr) == ("meant\n", "by mistake\n")

"""How a server ends: with its input, with a signal, with its parent; never leaving a process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wire import COMMAND, Wire, children, environment, is_alive

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found through /proc")


def gone(pids: list[int], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


@pytest.fixture
def served(town_zim: Path) -> Wire:
    wire = Wire("--mode", "advanced", town_zim)
    wire.__enter__()
    wire.call("zim_metadata")
    assert wire.workers
    return wire


def start_endless_call(wire: Wire) -> None:
    for pid in wire.workers:
        os.kill(pid, signal.SIGSTOP)
    wire.start_call("zim_browse", namespace="C")
    time.sleep(0.2)


def test_the_end_of_input_ends_everything(served: Wire) -> None:
    workers = served.workers

    assert served.close() == 0
    assert gone(workers, seconds=0)


@pytest.mark.parametrize(("asked", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_everything_while_the_client_is_silent(
    served: Wire, asked: signal.Signals, code: int, *, busy: bool
) -> None:
    workers = served.workers
    if busy:
        start_endless_call(served)

    served.process.send_signal(asked)

    assert served.process.wait(10) == code
    assert gone(workers, seconds=0)
    assert "Traceback" not in served.log
    served.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a busy worker ends at its deadline")
@pytest.mark.parametrize("busy", [False, True])
def test_the_death_of_the_server_ends_its_workers(served: Wire, *, busy: bool) -> None:
    workers = served.workers
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
        env=environment({"LOGGING__LEVEL": "DEBUG"}),
        check=False,
    )

    assert (server.returncode, server.stdout) == (0, b"")


def test_requests_sent_before_the_server_is_ready_are_answered(town_zim: Path) -> None:
    with Wire("--mode", "advanced", town_zim) as wire:
        numbers = [wire.start_call("zim_browse", namespace="C", limit=n + 1) for n in range(5)]

        assert [len(wire.finish_call(number)["entries"]) for number in numbers] == [1, 2, 3, 4, 5]


def test_a_file_full_of_nonsense_does_not_end_the_server(town_zim: Path) -> None:
    with Wire("--mode", "advanced", town_zim) as wire:
        assert wire.process.stdin is not None
        wire.process.stdin.write(b"not json\n{}\n[]\n\xff\xfe\x00\n" + b"x" * 200_000 + b"\n")
        wire.process.stdin.flush()

        assert wire.call("zim_metadata")["metadata"]["Title"] == "Test"
        assert children(wire.process.pid)

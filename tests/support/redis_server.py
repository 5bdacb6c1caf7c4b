"""A Redis or Valkey server for one test, which can stop it, suspend it and start it again."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest

from support.stdio_server import TIMEOUT_SECONDS

PASSWORD = "mellon-48151623"


def free_port() -> int:
    """A port for a program that cannot choose one; outside the range that the system uses for connections."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass
class RedisServer:
    """A Redis server on a free port of this machine, with a password."""

    directory: Path
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    @property
    def socket(self) -> Path:
        return self.directory / "redis.sock"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        command = shutil.which("redis-server") or shutil.which("valkey-server")
        if not command:
            pytest.skip("neither redis-server nor valkey-server is installed (Debian: redis-server)")
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.directory, "unixsocket": self.socket}
        words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [command, *words, "--save", "", "--requirepass", PASSWORD], stdout=subprocess.DEVNULL
        )
        self._wait_until_ready()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(TIMEOUT_SECONDS)

    def suspend(self) -> None:
        """Accept connections, but never respond."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("redis-server does not start")

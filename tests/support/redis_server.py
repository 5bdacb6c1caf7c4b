"""A Redis or Valkey of a test's own, which it may stop, hang and start again."""

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

PASSWORD = "mellon-48151623"


def free_port() -> int:
    """A port for a program that cannot choose one itself; none of those that the system gives to connections."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass
class RedisServer:
    """A store on a free port of this machine, with a password."""

    folder: Path
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    @property
    def socket(self) -> Path:
        return self.folder / "store.sock"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        command = shutil.which("redis-server") or shutil.which("valkey-server")
        if not command:
            pytest.skip("redis-server is not here, nor valkey-server (Debian: redis-server)")
        options = {"port": self.port, "bind": "127.0.0.1", "dir": self.folder, "unixsocket": self.socket}
        kept_nowhere = ["--save", "", "--requirepass", PASSWORD]
        self._process = subprocess.Popen(
            [command, *(str(word) for name, value in options.items() for word in (f"--{name}", value)), *kept_nowhere],
            stdout=subprocess.DEVNULL,
        )
        self._wait_until_ready()

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(10)

    def hang(self) -> None:
        """Take connections, and never answer."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def _wait_until_ready(self) -> None:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        raise AssertionError("the store does not start")

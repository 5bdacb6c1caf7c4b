"""Commands as a person runs them: in a pipe, on a terminal, on a console without Unicode."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
import session

from support.stdio_server import COMMAND, server_environment


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def person(**variables: str) -> dict[str, str]:
    """The environment of a person: no settings but those given, and no wishes about colours."""
    inherited = {k: v for k, v in server_environment({}).items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return inherited | {"TERM": "xterm-256color"} | variables


def run(*words: object, **variables: str) -> Ended:
    """Run a command with its output in pipes."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=person(**variables),
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(*words: object, columns: int = 100, **variables: str) -> Ended:
    """Run a command on a terminal of its own."""
    pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    code, shown = session.on_terminal([*COMMAND, *map(str, words)], person(COLUMNS=str(columns), **variables))
    return Ended(code, shown, "")

"""Commands as a person runs them: in a pipe, on a terminal, on a console without Unicode."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
import record_terminal

from support.stdio_server import COMMAND, server_environment


@dataclass(frozen=True)
class CommandResult:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def clean_environment(**variables: str) -> dict[str, str]:
    """The environment of a person: no settings but those given, and no wishes about colours."""
    inherited = {k: v for k, v in server_environment({}).items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return inherited | {"TERM": "xterm-256color"} | variables


def run(*words: object, **variables: str) -> CommandResult:
    """Run a command with its output in pipes."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment(**variables),
        check=False,
    )
    return CommandResult(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_on_terminal(*words: object, columns: int = 100, **variables: str) -> CommandResult:
    """Run a command on a terminal of its own."""
    pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    code, shown = record_terminal.on_terminal(
        [*COMMAND, *map(str, words)], clean_environment(COLUMNS=str(columns), **variables)
    )
    return CommandResult(code, shown, "")

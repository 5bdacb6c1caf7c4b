"""Run commands as a user does: in a pipe, on a terminal, on a console without Unicode."""

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
    """The environment without settings of OpenZIM MCP and of colors, and with `variables`."""
    environment = server_environment({"INDEX__ENABLED": "true"})  # commands use indexes, but only one makes them
    inherited = {k: v for k, v in environment.items() if k not in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}}
    return inherited | {"TERM": "xterm-256color"} | variables


def run(*arguments: object, **variables: str) -> CommandResult:
    """Run a command with its output in pipes."""
    process = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=clean_environment(**variables),
        check=False,
    )
    return CommandResult(process.returncode, process.stdout.decode(), process.stderr.decode())


def run_on_terminal(*arguments: object, columns: int = 100, **variables: str) -> CommandResult:
    """Run a command on a new pseudo-terminal; `out` has standard error too."""
    pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    code, output = record_terminal.run_on_terminal(
        [*COMMAND, *map(str, arguments)], clean_environment(COLUMNS=str(columns), **variables)
    )
    return CommandResult(code, output, "")

from __future__ import annotations

import sys
import time

import pytest

from openzim_mcp import __version__
from openzim_mcp.cli import handshake
from support.stdio_server import COMMAND


def test_a_server_that_starts_is_greeted_and_ended() -> None:
    greeting = handshake.greet(COMMAND)

    assert (greeting.server, greeting.problem) == (f"openzim-mcp {__version__}", None)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["/no/such/command"], "'/no/such/command' cannot be started: No such file or directory"),
        ([*COMMAND, "/no/such/directory"], "'/no/such/directory' does not exist"),
        ([sys.executable, "-c", "print('hello')"], "it does not answer"),
        ([sys.executable, "-c", ""], "it does not answer"),
    ],
)
def test_what_goes_wrong_is_said(command: list[str], problem: str) -> None:
    greeting = handshake.greet(command)

    assert greeting.server is None
    assert problem in str(greeting.problem)


def test_one_that_never_answers_is_not_waited_for_for_ever() -> None:
    began = time.monotonic()

    greeting = handshake.greet([sys.executable, "-c", "import time; time.sleep(600)"], patience=0.5)

    assert greeting.problem == "it does not answer"
    assert time.monotonic() - began < 30


def test_the_variables_of_a_configuration_are_set() -> None:
    greeting = handshake.greet(COMMAND, {"OPENZIM_MCP_TOOL_MODE": "wild"})

    assert "tool_mode (OPENZIM_MCP_TOOL_MODE): 'wild' is not accepted" in str(greeting.problem)

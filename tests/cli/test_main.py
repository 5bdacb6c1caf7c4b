from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openzim_mcp import __version__
from support.command_line import run_on_terminal
from support.stdio_server import COMMAND, TIMEOUT_SECONDS, server_environment


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=server_environment(settings),
        check=False,
    )


def test_version_and_help_are_printed() -> None:
    assert run("--version").stdout == f"openzim-mcp {__version__}\n"
    assert "openzim-mcp ~/zims" in run("--help").stdout


def test_help_does_not_import_the_sdk() -> None:
    code = "import sys; from openzim_mcp.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass\n"
    process = subprocess.run(
        [sys.executable, "-c", code + "print([m for m in ('mcp', 'pydantic', 'libzim') if m in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert process.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", [(), ("serve", "--transport", "stdio")])
def test_stdio_is_the_default_and_ends_at_eof(command: tuple[str, ...]) -> None:
    result = run(*command)

    assert (result.returncode, result.stdout) == (0, "")
    assert f"openzim-mcp {__version__} serves the handbook only over stdio" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--mode", "wild"), "--mode: 'wild' is not accepted; use simple or advanced"),
        (
            ("/no/such/place",),
            "'/no/such/place' does not exist; use a directory with .zim files, or one .zim file",
        ),
        (
            (__file__,),
            (f"'{__file__}' is neither a directory nor a .zim file; use a directory with .zim files, or one .zim file"),
        ),
        (
            ("--log-level", "loud"),
            ("--log-level: 'LOUD' is not accepted; use DEBUG or INFO or WARNING or ERROR or CRITICAL"),
        ),
    ],
)
def test_invalid_argument_exits_2_with_one_line(arguments: tuple[str, ...], line: str) -> None:
    result = run(*arguments)

    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"openzim-mcp: {line}\n")


def test_unknown_option_exits_2() -> None:
    assert run("--nonsense").returncode == 2


def test_each_invalid_setting_gets_a_line() -> None:
    result = run(PORT="x", TOOL_MODE="y")

    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 2


def test_unknown_setting_is_only_a_warning() -> None:
    result = run(TOOLMODE="advanced")

    assert result.returncode == 0
    assert "OPENZIM_MCP_TOOLMODE is not a setting; did you mean OPENZIM_MCP_TOOL_MODE?" in result.stderr


def test_log_contains_no_directory(town_zim: Path) -> None:
    result = run(str(town_zim.parent), LOGGING__LEVEL="DEBUG")

    assert result.returncode == 0
    assert str(town_zim.parent) not in result.stderr


def test_person_on_a_terminal_is_told_how_to_use_it(town_zim: Path, tmp_path: Path) -> None:
    served = run_on_terminal(town_zim.parent)
    empty = run_on_terminal(tmp_path)
    handbook = run_on_terminal()

    assert served.code == empty.code == handbook.code == 0
    assert "1 archive in" in served.out
    assert "towns_en_all_2026-01" in served.out
    assert f'openzim-mcp ask "YOUR QUESTION" {town_zim.parent}' in served.out
    assert "openzim-mcp connect CLIENT" in served.out
    assert "openzim-mcp download NAME" in empty.out
    assert "using the handbook" in handbook.out


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
@pytest.mark.parametrize("module", ["argparse", "pydantic_core", "mcp_types", "openzim_mcp.server"])
def test_interrupted_start_prints_no_traceback(town_zim: Path, module: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "openzim_mcp", str(town_zim)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=server_environment({}),
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    next(line for line in process.stderr if line.rstrip().endswith(f" {module}"))
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=TIMEOUT_SECONDS)

    assert "Traceback" not in rest
    assert process.returncode in {-signal.SIGINT, 128 + signal.SIGINT}


def test_misspelled_serve_gets_a_suggestion() -> None:
    assert run("serv").stderr.endswith("did you mean the command 'serve'?\n")

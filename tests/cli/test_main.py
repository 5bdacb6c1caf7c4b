from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from openzim_mcp import __version__
from support.stdio_server import COMMAND, server_environment


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


@pytest.mark.parametrize("command", [(), ("serve",)])
def test_serve_is_the_default_and_ends_at_eof(command: tuple[str, ...]) -> None:
    result = run(*command)

    assert (result.returncode, result.stdout) == (0, "")
    assert f"openzim-mcp {__version__} serves 1 archive over stdio" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--mode", "wild"), "tool_mode (OPENZIM_MCP_TOOL_MODE): 'wild' is not accepted; use simple or advanced"),
        (
            ("/no/such/place",),
            (
                "allowed_directories (OPENZIM_MCP_ALLOWED_DIRECTORIES): '/no/such/place' does not exist; "
                "use a directory with .zim files, or one .zim file"
            ),
        ),
        (
            (__file__,),
            (
                f"allowed_directories (OPENZIM_MCP_ALLOWED_DIRECTORIES): '{__file__}' "
                "is neither a directory nor a .zim file; use a directory with .zim files, or one .zim file"
            ),
        ),
        (
            ("--log-level", "loud"),
            (
                "logging.level (OPENZIM_MCP_LOGGING__LEVEL): 'LOUD' is not accepted; "
                "use DEBUG or INFO or WARNING or ERROR or CRITICAL"
            ),
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

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from openzim_mcp.cli import command, registry
from support.command_line import clean_environment, run, run_on_terminal
from support.stdio_server import COMMAND, child_pids


@pytest.mark.parametrize("name", registry.COMMANDS_BY_NAME)
def test_every_command_has_help_with_an_example(name: str) -> None:
    result = run(name, "--help")

    assert result.code == 0
    assert f"Usage: openzim-mcp {name}" in result.out
    assert "openzim-mcp" in result.out.partition("Examples:")[2]


def test_program_help_lists_every_command() -> None:
    help_text = run("--help").out

    assert [
        row.name for row in registry.COMMANDS if f"  {row.name} " not in help_text or row.summary not in help_text
    ] == []


def test_help_works_without_unicode() -> None:
    result = run("--help", PYTHONIOENCODING="ascii")

    assert result.code == 0
    assert "[DIRECTORY ...]" in result.out


def test_help_uses_little_cpu() -> None:
    before = os.times()
    run("--help")
    after = os.times()

    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.6


@pytest.mark.parametrize("words", [("completion", "tcsh"), ("completion",), ("completion", "bash", "--nonsense")])
def test_wrong_argument_exits_2_and_shows_usage(words: tuple[str, ...]) -> None:
    result = run(*words)

    assert result.code == command.Exit.USAGE
    assert result.out == ""
    assert result.err.startswith("Usage: openzim-mcp completion")


def test_misspelled_command_gets_a_suggestion() -> None:
    result = run("completoin", "bash")

    assert result.code == 2
    assert result.err.endswith("openzim-mcp: did you mean the command 'completion'?\n")


def test_directory_named_like_a_command_can_be_served(tmp_path: Path) -> None:
    (tmp_path / "completion").mkdir()

    for words in (["./completion"], ["serve", "--transport", "stdio", "completion"], [str(tmp_path / "completion")]):
        result = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0
        assert "serves 0 archives" in result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_exists_for_each_shell(shell: str) -> None:
    assert f"_OPENZIM_MCP_COMPLETE={shell}_complete" in run("completion", shell).out


def test_bash_completes_commands_options_archives_and_clients(town_zim: Path) -> None:
    def complete(*words: str) -> list[str]:
        line = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        result = run(_OPENZIM_MCP_COMPLETE="bash_complete", **line)
        return [row.partition(",")[2] for row in result.out.splitlines()]

    assert complete("openzim-mcp", "compl") == ["completion"]
    assert complete("openzim-mcp", "--mo") == ["--mode"]
    assert complete("openzim-mcp", "completion", "b") == ["bash"]
    assert complete("openzim-mcp", "connect", "c") == ["claude-desktop", "claude-code", "cursor"]
    assert complete("openzim-mcp", "info", "hand") == ["handbook"]
    assert complete("openzim-mcp", "ask", "x", "--archive", "hand") == ["handbook"]
    assert complete("openzim-mcp", "verify", "--dir", str(town_zim), "tow") == ["towns_en_all_2026-01"]


def test_every_exit_code_has_a_meaning() -> None:
    assert set(command.EXIT_MEANINGS) == set(command.Exit)


def test_closed_pipe_prints_no_error() -> None:
    line = f"{' '.join(COMMAND)} completion bash | true; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", line], env=clean_environment(), capture_output=True, text=True, check=True)

    assert result.stdout.strip() in {"0", "141"}
    assert result.stderr == ""


def test_interrupt_prints_no_traceback(zims: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "verify", "--dir", str(zims / "built")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
        start_new_session=True,
    )
    while not child_pids(process.pid):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)

    assert process.returncode == command.Exit.INTERRUPTED
    assert stderr.strip() == b""


def test_json_option_works_on_a_terminal() -> None:
    assert run_on_terminal("completion", "fish", "--json").json["shell"] == "fish"


def test_group_does_not_contain_serve() -> None:
    assert run("completion").code == 2
    assert command.group.get_command(None, "serve") is None  # type: ignore[arg-type]

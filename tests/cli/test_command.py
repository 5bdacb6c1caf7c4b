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
    shown = run(name, "--help")

    assert shown.code == 0
    assert f"Usage: openzim-mcp {name}" in shown.out
    assert "openzim-mcp" in shown.out.partition("Examples:")[2]


def test_the_help_of_the_program_lists_every_command() -> None:
    shown = run("--help").out

    assert [row.name for row in registry.COMMANDS if f"  {row.name} " not in shown or row.summary not in shown] == []


def test_help_needs_no_unicode() -> None:
    shown = run("--help", PYTHONIOENCODING="ascii")

    assert shown.code == 0
    assert "[DIRECTORY ...]" in shown.out


def test_help_takes_little_cpu() -> None:
    before = os.times()
    run("--help")
    after = os.times()

    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.6


@pytest.mark.parametrize("words", [("completion", "tcsh"), ("completion",), ("completion", "bash", "--nonsense")])
def test_a_wrong_word_ends_with_2_and_says_how_it_is_used(words: tuple[str, ...]) -> None:
    ended = run(*words)

    assert ended.code == command.Exit.USAGE
    assert ended.out == ""
    assert ended.err.startswith("Usage: openzim-mcp completion")


def test_a_word_that_is_nearly_a_command_is_recognised() -> None:
    ended = run("completoin", "bash")

    assert ended.code == 2
    assert ended.err.endswith("openzim-mcp: did you mean the command 'completion'?\n")


def test_a_directory_that_is_called_like_a_command_can_be_served(tmp_path: Path) -> None:
    (tmp_path / "completion").mkdir()

    for words in (["./completion"], ["serve", "completion"], [str(tmp_path / "completion")]):
        ended = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0
        assert "serves 0 archives" in ended.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(shell: str) -> None:
    assert f"_OPENZIM_MCP_COMPLETE={shell}_complete" in run("completion", shell).out


def test_bash_completes_commands_and_options() -> None:
    def completed(*words: str) -> list[str]:
        line = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        shown = run(_OPENZIM_MCP_COMPLETE="bash_complete", **line)
        return [row.partition(",")[2] for row in shown.out.splitlines()]

    assert completed("openzim-mcp", "compl") == ["completion"]
    assert completed("openzim-mcp", "--mo") == ["--mode"]
    assert completed("openzim-mcp", "completion", "b") == ["bash"]


def test_every_exit_code_has_its_meaning() -> None:
    assert set(command.EXIT_MEANINGS) == set(command.Exit)


def test_output_that_nobody_reads_ends_quietly() -> None:
    line = f"{' '.join(COMMAND)} completion bash | true; echo ${{PIPESTATUS[0]}}"
    ended = subprocess.run(["bash", "-c", line], env=clean_environment(), capture_output=True, text=True, check=True)

    assert ended.stdout.strip() in {"0", "141"}
    assert ended.stderr == ""


def test_an_interrupt_ends_a_command_without_a_traceback(zims: Path) -> None:
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
    _, said = process.communicate(timeout=60)

    assert process.returncode == command.Exit.INTERRUPTED
    assert said.strip() == b""


def test_json_is_json_on_a_terminal_too() -> None:
    assert run_on_terminal("completion", "fish", "--json").json["shell"] == "fish"


def test_the_group_knows_only_its_commands() -> None:
    assert run("completion").code == 2
    assert command.group.get_command(None, "serve") is None  # type: ignore[arg-type]

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import record_terminal

from support.command_line import clean_environment

SCRIPT = """
from openzim_mcp.cli.terminal import Cell, KeyValues, Table, Terminal
table = Table(
    ["name", "size", "state", "why"],
    [["wiki", "1.2 GB", Cell("valid", "good"), "it → fits"], ["a|b", "3 B", Cell("damaged", "bad"), "Zürich…"]],
    frozenset({"size"}),
)
terminal = Terminal(as_json="--json" in __import__("sys").argv)
terminal.show({"name": "Zürich"}, "# Head\\n\\nSome *text*.\\x1b[31m", table, KeyValues([("date", "2026")]))
terminal.info("to standard error")
with terminal.progress_bars() as bars:
    bars.add("wiki", 10)(10, None)
"""


def run_script(*arguments: str, columns: int | None = None, **variables: str) -> str:
    """Return the output of the script: on a terminal if `columns` is given, else in a pipe."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    if columns is None:
        environment = clean_environment(**variables)
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()
    pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    environment = clean_environment(COLUMNS=str(columns), **variables)
    code, output = record_terminal.run_on_terminal(command, environment)
    assert code == 0
    return output


def test_pipe_gets_markdown() -> None:
    assert run_script() == (
        "# Head\n\nSome *text*.[31m\n\n"
        "| name | size | state | why |\n| --- | --: | --- | --- |\n"
        "| wiki | 1.2 GB | valid | it → fits |\n| a\\|b | 3 B | damaged | Zürich… |\n\n- date: 2026\n"
    )


def test_json_option_prints_the_payload() -> None:
    assert run_script("--json") == '{\n  "name": "Zürich"\n}\n'
    assert run_script("--json", PYTHONIOENCODING="ascii") == '{\n  "name": "Z\\u00fcrich"\n}\n'


def test_terminal_gets_a_colored_table() -> None:
    text = run_script(columns=100)

    assert "\x1b[32mvalid" in text
    assert "wiki  " in text


def test_no_color_variable_is_respected() -> None:
    text = run_script(columns=100, NO_COLOR="1")

    assert "wiki  " in text
    assert "[32m" not in text
    assert "[31m" in text.partition("\n")[2], "the escape character is removed, the rest is text"
    assert "\x1b[31m" not in text


def test_dumb_terminal_gets_markdown() -> None:
    assert "| wiki | 1.2 GB |" in run_script(columns=100, TERM="dumb")


def test_narrow_terminal_gets_stacked_rows() -> None:
    text = run_script(columns=24, NO_COLOR="1")

    assert max(len(re.sub("\x1b.*?[a-zA-Z]", "", line)) for line in text.splitlines()) <= 24
    assert [re.sub("\x1b.*?m", "", line).split() for line in text.splitlines() if "GB" in line] == [
        ["size", "1.2", "GB"]
    ]


def test_ascii_console_gets_similar_characters() -> None:
    assert "| it -> fits |" in run_script(PYTHONIOENCODING="ascii")
    assert "| Zurich... |" in run_script(PYTHONIOENCODING="ascii")
    assert "━" not in run_script(columns=100, PYTHONIOENCODING="ascii", NO_COLOR="1")


def test_escape_sequences_are_removed() -> None:
    assert "\x1b[31mSome" not in run_script(columns=100)
    assert "\x1b" not in run_script()

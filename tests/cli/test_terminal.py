from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from support.command_line import clean_environment

SHOW = """
from openzim_mcp.cli.terminal import Cell, KeyValues, Table, Terminal
table = Table(
    ["name", "size", "state", "why"],
    [["wiki", "1.2 GB", Cell("sound", "good"), "it → fits"], ["a|b", "3 B", Cell("damaged", "bad"), "Zürich…"]],
    frozenset({"size"}),
)
terminal = Terminal(as_json="--json" in __import__("sys").argv)
terminal.show({"name": "Zürich"}, "# Head\\n\\nSome *text*.\\x1b[31m", table, KeyValues([("date", "2026")]))
terminal.info("beside")
with terminal.progress_bars() as bars:
    bars.add("wiki", 10)(10, None)
"""


def shown(*arguments: str, columns: int | None = None, **variables: str) -> str:
    """What the blocks above look like: on a terminal if it has columns, else in a pipe."""
    command = [sys.executable, "-c", SHOW, *arguments]
    if columns is None:
        return subprocess.run(
            command, env=clean_environment(**variables), capture_output=True, check=True
        ).stdout.decode()
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        command, stdout=slave, stderr=slave, env=clean_environment(COLUMNS=str(columns), **variables)
    )
    os.close(slave)
    text = bytearray()
    try:
        while piece := os.read(master, 65_536):
            text += piece
    except OSError:
        pass
    os.close(master)
    assert process.wait() == 0
    return text.decode().replace("\r\n", "\n")


def test_a_pipe_gets_markdown() -> None:
    assert shown() == (
        "# Head\n\nSome *text*.[31m\n\n"
        "| name | size | state | why |\n| --- | --: | --- | --- |\n"
        "| wiki | 1.2 GB | sound | it → fits |\n| a\\|b | 3 B | damaged | Zürich… |\n\n- date: 2026\n"
    )


def test_a_script_gets_json() -> None:
    assert shown("--json") == '{\n  "name": "Zürich"\n}\n'
    assert shown("--json", PYTHONIOENCODING="ascii") == '{\n  "name": "Z\\u00fcrich"\n}\n'


def test_a_terminal_gets_a_table_in_colours() -> None:
    text = shown(columns=100)

    assert "\x1b[32msound" in text
    assert "wiki  " in text


def test_no_colour_where_none_is_wanted() -> None:
    text = shown(columns=100, NO_COLOR="1")

    assert "wiki  " in text
    assert "[32m" not in text
    assert "[31m" in text.partition("\n")[2], "the letters are shown, the escape is not"
    assert "\x1b[31m" not in text


def test_a_dumb_terminal_gets_markdown() -> None:
    assert "| wiki | 1.2 GB |" in shown(columns=100, TERM="dumb")


def test_a_narrow_terminal_gets_one_fact_below_the_other() -> None:
    text = shown(columns=40, NO_COLOR="1")

    assert max(len(re.sub("\x1b.*?[a-zA-Z]", "", line)) for line in text.splitlines()) <= 40
    assert [re.sub("\x1b.*?m", "", line).split() for line in text.splitlines() if "GB" in line] == [
        ["size", "1.2", "GB"]
    ]


def test_a_console_without_unicode_gets_the_nearest_letters() -> None:
    assert "| it -> fits |" in shown(PYTHONIOENCODING="ascii")
    assert "| Zurich... |" in shown(PYTHONIOENCODING="ascii")
    assert "━" not in shown(columns=100, PYTHONIOENCODING="ascii", NO_COLOR="1")


def test_escape_sequences_never_reach_a_terminal() -> None:
    assert "\x1b[31mSome" not in shown(columns=100)
    assert "\x1b" not in shown()

"""The commands: a row each. Nothing is imported for a row until its command runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A command: the module `commands/NAME.py` has it as `command`."""

    name: str
    summary: str


ROWS = (Row("completion", "print the lines that make a shell complete commands"),)
NAMES = {row.name: row for row in ROWS}

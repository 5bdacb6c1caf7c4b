"""`doctor`: what is wrong, and the command that mends it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from openzim_mcp.cli import checks, command
from openzim_mcp.cli.exits import Exit
from openzim_mcp.cli.terminal import Cell, Table

if TYPE_CHECKING:
    from openzim_mcp.cli.checks import Finding, State
    from openzim_mcp.cli.terminal import Terminal

_WORDS: dict[State, str] = {"good": "ok", "warn": "note", "bad": "wrong"}


@command.command(
    "openzim-mcp doctor ~/zims", "openzim-mcp doctor --json | jq '.findings[] | select(.state == \"bad\")'"
)
@command.where
def run(terminal: Terminal, where: list[str]) -> Exit | None:
    """Look for what is wrong: Python, libraries, settings, directories, archives, and the clients that are connected.

    What a client is set up to start is started, and greeted. Ends with 1 if something is wrong; notes do not count.
    """
    findings = [finding for check in checks.CHECKS for finding in check(where)]
    wrong = [finding for finding in findings if finding.state == "bad"]
    rows = [(Cell(_WORDS[f.state], f.state), f.what, f.text, f.fix) for f in findings]
    table = Table(("", "what", "finding", "what to do"), rows)
    payload = {"ok": not wrong, "findings": [dataclasses.asdict(finding) for finding in findings]}
    terminal.show(payload, table, _summary(wrong))
    return Exit.NO if wrong else None


def _summary(wrong: list[Finding]) -> Cell:
    if not wrong:
        return Cell("All is well.", "good")
    return Cell(f"{len(wrong)} thing{'s are' if len(wrong) > 1 else ' is'} wrong.", "bad")

"""The commands: a row each. Nothing is imported for a row until its command runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CommandRow:
    """A command: the module `cli/NAME.py` has it as `run`."""

    name: str
    summary: str


COMMANDS = (
    CommandRow("ask", "answer a question, with the passages and their sources"),
    CommandRow("search", "find articles by words or title"),
    CommandRow("read", "read an article, a section of it, or its outline"),
    CommandRow("list", "list the archives, and which of them can be read"),
    CommandRow("info", "describe one archive"),
    CommandRow("verify", "compare checksums, and try entries and indexes"),
    CommandRow("catalog", "list the archives that can be downloaded, and which of them are here"),
    CommandRow("download", "download archives, whole and checked"),
    CommandRow("update", "replace archives by newer editions"),
    CommandRow("connect", "put this server into a client's configuration"),
    CommandRow("disconnect", "take it out again"),
    CommandRow("doctor", "look for what is wrong, and say what mends it"),
    CommandRow("probe", "ask a server whether it is ready, as a health check does"),
    CommandRow("completion", "print the lines that make a shell complete commands"),
)
COMMANDS_BY_NAME = {row.name: row for row in COMMANDS}

"""The commands: a row each. Nothing is imported for a row until its command runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A command: the module `cli/NAME.py` has it as `run`."""

    name: str
    summary: str


ROWS = (
    Row("ask", "answer a question, with the passages and their sources"),
    Row("search", "find articles by words or title"),
    Row("read", "read an article, a section of it, or its outline"),
    Row("list", "list the archives, and which of them can be read"),
    Row("info", "describe one archive"),
    Row("verify", "compare checksums, and try entries and indexes"),
    Row("catalog", "list the archives that can be downloaded, and which of them are here"),
    Row("download", "download archives, whole and checked"),
    Row("update", "replace archives by newer editions"),
    Row("connect", "put this server into a client's configuration"),
    Row("disconnect", "take it out again"),
    Row("doctor", "look for what is wrong, and say what mends it"),
    Row("probe", "ask a server whether it is ready, as a health check does"),
    Row("completion", "print the lines that make a shell complete commands"),
)
NAMES = {row.name: row for row in ROWS}

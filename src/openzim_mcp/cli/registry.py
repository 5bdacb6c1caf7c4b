"""The commands, one row each; a command's module is imported only when the command runs."""

from __future__ import annotations

from dataclasses import dataclass

COMPLETION_VARIABLE = "_OPENZIM_MCP_COMPLETE"


@dataclass(frozen=True)
class CommandRow:
    """A command; the module `cli/NAME.py` defines it as `run`."""

    name: str
    summary: str


COMMANDS = (
    CommandRow("ask", "answer a question with passages and their sources"),
    CommandRow("search", "find articles by words or title"),
    CommandRow("read", "show an article, one section, or its outline"),
    CommandRow("open", "show the page of a server in the browser; starts one if none runs"),
    CommandRow("list", "list archives, and which of them can be read"),
    CommandRow("info", "describe one archive"),
    CommandRow("verify", "check archives for damage: checksum, entries, indexes"),
    CommandRow("index", "make indexes of links and passages now, or remove them"),
    CommandRow("catalog", "list archives that can be downloaded"),
    CommandRow("download", "download archives and verify them"),
    CommandRow("update", "replace archives with newer editions"),
    CommandRow("connect", "add this server to an MCP client's configuration"),
    CommandRow("disconnect", "remove it from a client's configuration"),
    CommandRow("doctor", "find problems and suggest fixes"),
    CommandRow("probe", "check whether a server is ready, as a health check"),
    CommandRow("completion", "print a script for shell completion"),
)
COMMANDS_BY_NAME = {row.name: row for row in COMMANDS}

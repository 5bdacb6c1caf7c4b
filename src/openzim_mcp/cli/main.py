"""The `openzim-mcp` command: it serves, unless its first word is another command; errors become exit codes."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from openzim_mcp import __version__, logs
from openzim_mcp.cli import registry
from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.text import closest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.config import Settings

_COMPLETE = "_OPENZIM_MCP_COMPLETE"
_DESCRIPTION = "Give language models access to ZIM archives (Wikipedia, Stack Exchange, Gutenberg, …), offline."
_EPILOG = """\
examples:
  openzim-mcp ~/zims                      serve every archive below a directory, over stdio
  openzim-mcp --mode advanced wiki.zim    serve one archive, with all tools
  openzim-mcp --transport http ~/zims     serve many clients, at http://127.0.0.1:8000/mcp
  openzim-mcp                             serve the handbook, to try it out

commands (each has its own --help):
{commands}

A directory that is called like a command is served as ./NAME.
Every setting can also be given in the environment, as OPENZIM_MCP_…: see docs/settings.md.
"""


def _serve_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openzim-mcp",
        usage="openzim-mcp [serve] [options] [DIRECTORY …]\n       openzim-mcp COMMAND …",
        description=_DESCRIPTION,
        epilog=_EPILOG.format(commands="\n".join(f"  {row.name:<12}{row.summary}" for row in registry.COMMANDS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument(
        "allowed_directories", nargs="*", metavar="DIRECTORY", help="a directory of archives, or one .zim file"
    )
    parser.add_argument(
        "--mode", dest="tool_mode", metavar="MODE", help="simple (default) or advanced: which tools are offered"
    )
    parser.add_argument("--transport", metavar="HOW", help="stdio (default) or http")
    parser.add_argument("--host", metavar="ADDRESS", help="listen there (HTTP; default 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", help="listen there (HTTP; default 8000; 0: any that is free)")
    parser.add_argument("--workers", dest="processes", metavar="N", help="processes that serve (HTTP; default 1)")
    parser.add_argument(
        "--log-level", dest="log_level", metavar="LEVEL", help="DEBUG, INFO (default), WARNING, ERROR or CRITICAL"
    )
    parser.add_argument("--version", action="version", version=f"openzim-mcp {__version__}")
    return parser


def help_text() -> str:
    """Return the help of the command, as wide as a page."""
    os.environ["COLUMNS"] = "100"
    return _serve_parser().format_help()


def _settings(arguments: Sequence[str]) -> Settings:
    given = vars(_serve_parser().parse_args(arguments))
    from openzim_mcp import config  # noqa: PLC0415  --help and --version have answered without it

    if not given.get("allowed_directories"):
        given.pop("allowed_directories", None)
    if "log_level" in given:
        given["logging"] = {"level": given.pop("log_level")}
    return config.load_settings(**given)


def serve(arguments: Sequence[str]) -> int:
    """Serve archives until the client leaves or a signal comes."""
    settings = _settings(arguments)
    logs.configure_logging(settings)
    # Importing the SDK makes half a million objects that stay; not looking at them for garbage saves a tenth of it.
    gc.disable()
    from openzim_mcp import server  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return server.serve(settings)


def _meant(words: Sequence[str]) -> str | None:
    """Return the command that was probably meant by a first word that is none, and no path either."""
    close = closest(words[0], registry.COMMANDS_BY_NAME, limit=1) if words else []
    return close[0] if close and not os.path.exists(words[0]) else None


def _command(words: Sequence[str]) -> int:
    try:
        from openzim_mcp.cli import command  # noqa: PLC0415  serving does without it

        return command.run_command(words)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; serving is the default one."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        from openzim_mcp.cli import terminal  # noqa: PLC0415  most consoles know every letter

        terminal.replace_unencodable()
    if words[:1] == ["serve"]:
        words = words[1:]
    elif (words and words[0] in registry.COMMANDS_BY_NAME) or _COMPLETE in os.environ:
        return _command(words)
    try:
        return serve(words)
    except OpenZimMcpConfigurationError as error:
        meant = _meant(words)
        for line in [*error.message.splitlines(), *([f"did you mean the command {meant!r}?"] if meant else [])]:
            print(f"openzim-mcp: {line}", file=sys.stderr)  # noqa: T201
        return 2

"""The `openzim-mcp` program: starts the server, or runs the command that the first argument names."""

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

_SERVE = "serve"
_DESCRIPTION = "Give language models access to ZIM archives (Wikipedia, Stack Exchange, Gutenberg, …), offline."
_EPILOG = """\
examples:
  openzim-mcp ~/zims                      serve all archives in a directory, over stdio
  openzim-mcp --mode advanced wiki.zim    serve one archive, with all tools
  openzim-mcp serve ~/zims                serve many clients, a page for people and an API, at http://127.0.0.1:8000
  openzim-mcp                             serve the library, where `download` puts archives

commands (`openzim-mcp COMMAND --help` has details):
{commands}

On a terminal, `openzim-mcp DIRECTORY` says what is served and how to connect a client; clients start it in a pipe.
To serve a directory that has the name of a command, write ./NAME.
Every setting can also be an environment variable, OPENZIM_MCP_…: see docs/settings.md.
"""


_OPTIONS = {
    "allowed_directories": "",
    "tool_mode": "--mode",
    "transport": "--transport",
    "host": "--host",
    "port": "--port",
    "processes": "--workers",
    "logging": "--log-level",
}
"""How errors name the settings that were given on the command line."""


def _serve_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openzim-mcp",
        usage="openzim-mcp [options] [DIRECTORY …]\n       openzim-mcp serve [options] [DIRECTORY …]\n"
        "       openzim-mcp COMMAND …",
        description=_DESCRIPTION,
        epilog=_EPILOG.format(commands="\n".join(f"  {row.name:<12}{row.summary}" for row in registry.COMMANDS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
    )
    parser.add_argument(
        "allowed_directories", nargs="*", metavar="DIRECTORY", help="directory with archives, or one .zim file"
    )
    parser.add_argument(
        "--mode", dest="tool_mode", metavar="MODE", help="which tools to offer: simple (default) or advanced"
    )
    parser.add_argument(
        "--follow-links",
        dest="follow_links",
        action="store_true",
        help="serve archives outside that links directly in a DIRECTORY lead to",
    )
    parser.add_argument(
        "--connector-tools",
        dest="connector_tools",
        action="store_true",
        help="also offer search and fetch, for ChatGPT and deep-research clients",
    )
    parser.add_argument("--transport", metavar="NAME", help="stdio (default) or http (default of `serve`)")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (HTTP; default 127.0.0.1)")
    parser.add_argument("--port", metavar="PORT", help="port to listen on (HTTP; default 8000; 0: any free port)")
    parser.add_argument("--workers", dest="processes", metavar="N", help="server processes (HTTP; default 1)")
    parser.add_argument(
        "--log-level", dest="log_level", metavar="LEVEL", help="DEBUG, INFO (default), WARNING, ERROR or CRITICAL"
    )
    parser.add_argument("--version", action="version", version=f"openzim-mcp {__version__}")
    return parser


def format_help() -> str:
    """Return the help of the program, 100 columns wide."""
    os.environ["COLUMNS"] = "100"
    return _serve_parser().format_help()


def _parse_settings(arguments: Sequence[str]) -> Settings:
    options = vars(_serve_parser().parse_args(arguments))
    # Imported after parsing: --help and --version do not need it, and it takes most of their time.
    from openzim_mcp import config  # noqa: PLC0415

    if not options.get("allowed_directories"):
        options.pop("allowed_directories", None)
    if "log_level" in options:
        options["logging"] = {"level": options.pop("log_level")}
    return config.load_settings(_OPTIONS, **options)


def start_server(arguments: Sequence[str]) -> int:
    """Serve archives until the client disconnects or a signal arrives; a person on a terminal is told how to use it."""
    settings = _parse_settings(arguments)
    if settings.transport == "stdio" and sys.stdin.isatty() and sys.stdout.isatty():
        from openzim_mcp.cli import greeting  # noqa: PLC0415  clients do not need it

        return greeting.greet(settings, arguments)
    logs.configure_logging(settings)
    # Importing the SDK creates half a million objects that stay; not scanning them for garbage saves a tenth of it.
    gc.disable()
    from openzim_mcp import server  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    return server.serve(settings)


def _suggest_command(arguments: Sequence[str]) -> str | None:
    """Suggest a command for an unknown first argument that is not an existing path."""
    if not arguments or os.path.exists(arguments[0]):
        return None
    return next(iter(closest(arguments[0], [*registry.COMMANDS_BY_NAME, _SERVE], limit=1)), None)


def _import_and_run(arguments: Sequence[str]) -> int:
    from openzim_mcp.cli import command  # noqa: PLC0415  the server does not need it

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return command.run_command(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, or the server if the first argument is not a command; return the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not (sys.stdout.encoding or "").lower().startswith("utf"):
        from openzim_mcp.cli import terminal  # noqa: PLC0415  most consoles use UTF-8

        terminal.replace_unencodable()
    is_completion = registry.COMPLETION_VARIABLE in os.environ
    is_serve = arguments[:1] == [_SERVE]
    if is_serve:
        arguments = arguments[1:]
    elif is_completion or (arguments and arguments[0] in registry.COMMANDS_BY_NAME):
        return _import_and_run(arguments)
    try:
        return start_server(["--transport", "http", *arguments] if is_serve else arguments)
    except OpenZimMcpConfigurationError as error:
        suggestion = _suggest_command(arguments)
        hints = [f"did you mean the command {suggestion!r}?"] if suggestion else []
        for line in [*error.message.splitlines(), *hints]:
            print(f"openzim-mcp: {line}", file=sys.stderr)  # noqa: T201
        return 2

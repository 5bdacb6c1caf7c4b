"""The `openzim-mcp` command, and `python -m openzim_mcp`."""

import signal
import sys


def main() -> int:
    """Run the program; until there is something to clean up, Ctrl-C ends it at once, without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from openzim_mcp.cli import main as program  # noqa: PLC0415  the signal first: this takes most of the start

    return program.main()


if __name__ == "__main__":
    sys.exit(main())

"""`ask`: a question, answered with passages and their sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import Block, Terminal

_SOURCE = re.compile(r"^(Source: .*)$", re.MULTILINE)
_NOTHING = "Nothing was found"
_MORE = "A larger --budget makes an answer longer; `read` shows whole articles, `search --limit` more results."


@command.command(
    'openzim-mcp ask "who founded the harbour?" ~/zims',
    'openzim-mcp ask "summary of photosynthesis" --archive wikipedia_en_all',
    'openzim-mcp ask "what does libzim do?" --budget 200 | less',
)
@click.argument("question")
@command.archive_option
@click.option("--budget", metavar="TOKENS", help="How long the answer may be: small, medium, large or a number.")
@command.directory_arguments
def run(
    terminal: Terminal, question: str, archive: str | None, budget: str | None, directories: list[str]
) -> Exit | None:
    """Answer a QUESTION from the archives, with the passages and where they are from."""

    async def work(backend: Backend) -> Any:
        from openzim_mcp.protocol import direct  # noqa: PLC0415

        try:
            return await direct.run(backend, "zim_query", query=question, zim_file_path=archive, compact_budget=budget)
        except errors.NoNextPage:
            raise errors.NoNextPage("There is no next page: each command answers by itself.", hint=_MORE) from None

    answer = runtime.run_with_archives(terminal, directories, work)
    text = getattr(answer, "text", None)
    if text is None:
        payload = getattr(answer, "payload", answer)
        text = f"{payload.get('path')}: {payload.get('mime_type')}, {payload.get('size')} bytes."
    else:
        payload = {"question": question, "answer": text}
    terminal.show(payload, *_blocks(text))
    return Exit.NEGATIVE if text.startswith(_NOTHING) else None


def _blocks(text: str) -> Iterator[Block]:
    """Yield the passages, each with its source below it."""
    for part in _SOURCE.split(text):
        if _SOURCE.fullmatch(part):
            yield Cell(part, "dim")
        elif part.strip():
            yield part.strip("\n")

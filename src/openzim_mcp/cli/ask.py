"""`ask`: a question, answered with passages and their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import App
    from openzim_mcp.app.query.excerpts import Briefing
    from openzim_mcp.app.query.reply import Reply
    from openzim_mcp.calls.reading import BinaryEntry
    from openzim_mcp.cli.terminal import Block, Terminal

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

    async def work(app: App) -> Reply | Briefing | BinaryEntry:
        from openzim_mcp.app.arguments import parse_request  # noqa: PLC0415
        from openzim_mcp.app.query import ask  # noqa: PLC0415
        from openzim_mcp.app.query.reply import QueryRequest  # noqa: PLC0415

        arguments = {"query": question, "zim_file_path": archive, "compact_budget": budget}
        try:
            return await ask.answer_query(app, parse_request(QueryRequest, arguments))
        except errors.NoNextPage:
            raise errors.NoNextPage("There is no next page: each command answers by itself.", hint=_MORE) from None

    return _show(terminal, question, runtime.run_with_archives(terminal, directories, work))


def _show(terminal: Terminal, question: str, answer: Reply | Briefing | BinaryEntry) -> Exit | None:
    from openzim_mcp.app.query.reply import Reply  # noqa: PLC0415
    from openzim_mcp.calls.reading import BinaryEntry  # noqa: PLC0415

    if isinstance(answer, Reply):
        terminal.show({"question": question, "answer": answer.text}, *_blocks(answer))
        return Exit.NEGATIVE if answer.is_empty else None
    if isinstance(answer, BinaryEntry):
        terminal.show(answer, f"{answer.path}: {answer.mime_type}, {answer.size} bytes.")
    return None


def _blocks(reply: Reply) -> Iterator[Block]:
    """Yield the passages, each with its source below it."""
    text = reply.text
    for source in reply.sources:
        before, _, text = text.partition(source)
        yield before.strip("\n")
        yield Cell(source, "dim")
    if text.strip():
        yield text.strip("\n")

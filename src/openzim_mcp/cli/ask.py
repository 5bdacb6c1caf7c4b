"""`ask`: answer a question with passages and their sources."""

from __future__ import annotations

import itertools
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
    from openzim_mcp.app.query.reply import QueryRequest, Reply
    from openzim_mcp.cli.terminal import Block, Terminal

_NO_NEXT_PAGE_HINT = "For more, use a larger --budget, `read` for a whole article, or `search --limit`."


@command.command(
    "openzim-mcp ask what is coffee",
    'openzim-mcp ask "who founded the harbour?" ~/zims',
    'openzim-mcp ask "summary of photosynthesis" --archive wikipedia_en_all',
    'openzim-mcp ask "what does libzim do?" --budget 200 | less',
)
@command.archive_option
@click.option(
    "--budget", metavar="TOKENS", help="Maximum length of the answer: small, medium, large or a number of tokens."
)
@command.words_and_directories("question")
def run(
    terminal: Terminal, question: str, archive: str | None, budget: str | None, directories: list[str]
) -> Exit | None:
    """Answer a QUESTION from the archives, with passages and their sources.

    Quotes are needed only for characters that the shell treats specially, such as ? and '.
    """

    async def work(app: App) -> Reply | Briefing:
        from openzim_mcp.app.caller import Caller  # noqa: PLC0415
        from openzim_mcp.app.query import ask  # noqa: PLC0415
        from openzim_mcp.app.query.reply import Reply  # noqa: PLC0415

        caller = Caller(base_url=runtime.find_base_url(app.settings))
        try:
            answer = await ask.answer_query(app, _parse_question(question, archive, budget), caller)
        except errors.NoNextPage:
            message = "No next page: a command does not continue the answer of another."
            raise errors.NoNextPage(message, hint=_NO_NEXT_PAGE_HINT) from None
        if isinstance(answer, Reply) and answer.is_empty:
            await runtime.require_readable_archive(app)
        return answer

    answer = runtime.run_with_archives(terminal, directories, work, requires_archive=True)
    return _show_answer(terminal, question, answer)


def _parse_question(question: str, archive: str | None, budget: str | None) -> QueryRequest:
    """Build the request; errors name the arguments of the command instead of those of the tool."""
    from openzim_mcp.app.arguments import parse_request  # noqa: PLC0415
    from openzim_mcp.app.query.reply import QueryRequest  # noqa: PLC0415

    if not question.strip():
        raise errors.OpenZimMcpValidationError("The question is empty.")
    try:
        return parse_request(QueryRequest, {"query": question, "zim_file_path": archive, "compact_budget": budget})
    except errors.OpenZimMcpValidationError as error:
        if "compact_budget" in error.details["arguments"]:
            message = f"--budget {budget!r} is not small, medium, large or a number from 100 up."
            raise errors.OpenZimMcpValidationError(message) from None
        raise


def _show_answer(terminal: Terminal, question: str, answer: Reply | Briefing) -> Exit | None:
    from openzim_mcp.app.query.reply import Reply  # noqa: PLC0415

    assert isinstance(answer, Reply), "a briefing is the answer to synthesize=True only"
    links = {"links": [source.url for source in answer.cited]} if any(source.url for source in answer.cited) else {}
    terminal.show({"question": question, "answer": answer.text} | links, *_answer_blocks(answer))
    return Exit.NEGATIVE if answer.is_empty else None


def _answer_blocks(reply: Reply) -> Iterator[Block]:
    """Yield the passages, each followed by its source and, if there is a page, by the link to it."""
    text = reply.text
    urls = [source.url for source in reply.cited] if len(reply.cited) == len(reply.sources) else []
    for source, url in itertools.zip_longest(reply.sources, urls):
        passages, _, text = text.partition(source)
        yield passages.strip("\n")
        yield Cell(source, "dim")
        if url:
            yield Cell(url, "dim")
    if text.strip():
        yield text.strip("\n")

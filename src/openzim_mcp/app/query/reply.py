"""The context of a query, and replies that fit its budget."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field, model_validator

from openzim_mcp import cursors, errors, tokens, uris
from openzim_mcp.app.arguments import BUDGETS, BudgetedRequest, check_start
from openzim_mcp.app.query import excerpts
from openzim_mcp.app.references import find_archive_of_uri, find_holders
from openzim_mcp.app.routing import route_titles, route_words
from openzim_mcp.app.search import fingerprint_archives
from openzim_mcp.calls.search import ScoreTitles
from openzim_mcp.library.names import newest_of_each
from openzim_mcp.text import continuation_line, safe_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls import Call, Result
    from openzim_mcp.calls.reading import BinaryEntry
    from openzim_mcp.config import Operation
    from openzim_mcp.pool.outcomes import Outcomes
    from openzim_mcp.zimfile import ArchiveFile

TOOL = "zim_query"
DEFAULT_TOKENS = 600
MAX_ROWS = 100
_ARTICLE_CHARS = 2400
"""Characters of an article per reply."""
_DEFAULT_ROWS = 10


class QueryRequest(BudgetedRequest):
    """What `zim_query` takes; a cursor carries its query, but the schema asks models for one always."""

    model_config = ConfigDict(json_schema_extra={"required": ["query"]})

    query: str = Field("", max_length=1000, description="A question or a request, in plain words.")
    zim_file_path: str | None = Field(None, max_length=1000, description="Ask only this archive.")
    compact_budget: int | str | None = Field(None, description="Tokens at most: a number, small, medium or large.")
    synthesize: bool = Field(False, description="A briefing from several sources, with citations.")
    limit: int | None = Field(None, ge=1, le=MAX_ROWS, description="Rows of a list (default 10).")
    offset: int = Field(0, ge=0, le=2**32, description="Continues a list or an answer.")
    content_offset: int = Field(0, ge=0, description="Continues a text.")
    cursor: str | None = Field(None, description="openzim/next_cursor of a result: continues it.")
    max_content_length: int | None = Field(None, ge=100, description="Characters of an article.")
    compact: bool = Field(True, description="false: longer texts, whole tables.")

    @model_validator(mode="after")
    def _check_combination(self) -> QueryRequest:
        check_start(self.cursor, self.offset)
        if not self.query and not self.cursor:
            raise ValueError("query: required, but not given; ask a question or say what to do")
        return self

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as: nothing yet, as that depends on the number of archives."""
        return "default", 0


@dataclass(frozen=True)
class Reply:
    """An answer in Markdown, its source lines, and the request that continues it; `is_empty` if nothing was found.

    `last_line` tells a model what continues it. The reply to a question says whether it answers it, with the chance of
    that, and its sources and passages as values.
    """

    text: str
    sources: tuple[str, ...] = ()
    continuation: QueryRequest | None = None
    is_empty: bool = False
    answered: bool | None = None
    confidence: float | None = None
    cited: tuple[excerpts.Source, ...] = ()
    passages: tuple[excerpts.CitedPassage, ...] = ()
    image: BinaryEntry | None = None
    """A picture to show with the text."""
    links: tuple[str, ...] = ()
    """Where a person can open the sources, as many as are worth their tokens."""
    last_line: str = ""
    next_cursor: str | None = None

    @property
    def markdown(self) -> str:
        """The whole reply, as tools return it."""
        links = f"Open: {' '.join(self.links)}" if self.links else ""
        return "\n\n".join(filter(None, (self.text, links, self.last_line)))


@dataclass(frozen=True)
class QueryContext:
    """A query, the archives that it is about, all archives, and the request that continues the previous answer.

    `has_previous` if the connection remembers an answer, which may have been complete.
    """

    app: App
    request: QueryRequest
    archives: Sequence[ArchiveFile]
    library: Sequence[ArchiveFile]
    continuation: QueryRequest | None = None
    has_previous: bool = False

    @property
    def limit(self) -> int:
        """How many rows a list has."""
        return self.request.limit or _DEFAULT_ROWS

    @property
    def max_chars(self) -> int:
        """Characters of an article per reply."""
        whole = self.app.settings.content.max_content_length
        return self.request.max_content_length or (_ARTICLE_CHARS if self.request.compact else whole)

    def budget(self, default: float = DEFAULT_TOKENS) -> tuple[float, excerpts.Cost]:
        """Return how many tokens an answer may have, and the function that counts them."""
        if self.request.max_tokens:
            return self.request.max_tokens, excerpts.by_estimate
        return (default if self.request.compact else BUDGETS["large"]), excerpts.by_characters

    def tokens_left(self, foot: str, default: float = DEFAULT_TOKENS) -> float:
        """Return how many tokens are left above the last lines of a reply."""
        return self.budget(default)[0] - tokens.estimate(foot) * tokens.SAFETY_FACTOR

    async def call_each(self, call: Call[Result], words: str | None = None) -> Outcomes[Result]:
        """Run a call on each archive of the query, of many on those that have some words; raise a single one's error.

        The last word may be the start of one.
        """
        archives = self.archives
        if words is not None:
            archives = (await route_words(self.app, archives, words, is_prefix=True)).archives
        outcomes = await self.app.workers.call_each(archives, call)
        if len(self.archives) == 1:
            for error in outcomes.errors.values():
                if not _is_index_quarantined(error):
                    raise error
        return outcomes

    async def archive(self, name: str | None = None) -> ArchiveFile:
        """Return the archive that a query is about, or raise an error that lists all archives."""
        if name is None and len(self.archives) == 1:
            return self.archives[0]
        if name is None and len(self.archives) > 1:
            raise await self._archive_not_named()
        return await self.app.find_archive(name)

    async def _archive_not_named(self) -> errors.ArchiveNotFound:
        """Return the error that asks for the archive, with the same request for the largest one as an example."""
        descriptions = (await self.app.describe_each(self.archives)).results
        largest = sorted(self.archives, key=lambda a: -(d.articles if (d := descriptions.get(a.name)) else 0))
        query = safe_line(self.request.query.strip(" .?!"), 100)
        return errors.ArchiveNotFound(
            f"{len(self.archives)} archives are served; say which one.",
            hint=f"For example: {query} in {largest[0].name}",
            available_archives=[archive.name for archive in largest],
        )

    async def score_titles(self, titles: list[str], fuzzy: list[str]) -> dict[str, list[float]]:
        """Return the scores of titles, by archive; of several, dictionaries are not asked, as they have any word."""
        archives = await route_titles(self.app, self.archives, titles)
        if len(archives) > 1:
            kinds = {name: row.kind for name, row in (await self.app.describe_each(archives)).results.items()}
            archives = [row for row in archives if kinds.get(row.name) != "dictionary"] or archives
        return (await replace(self, archives=archives).call_each(ScoreTitles(titles, fuzzy))).results

    async def archive_with_title(self, title: str) -> ArchiveFile:
        """Return the archive with the best match for a title; of several, the one with the fullest article."""
        archives = await self.archives_with_title(title)
        if not archives:
            raise errors.EntryNotFound(
                f"No archive has an article {safe_line(title, 200)!r}.",
                hint="Ask for it in other words, or search for it.",
            )
        return archives[0]

    async def archives_with_title(self, title: str) -> list[ArchiveFile]:
        """Return the archives with the best match for a title, or for a URI its archive; the fullest article first."""
        uri = uris.parse_uri(title)
        if uri is not None and uri.name is not None:
            return [await find_archive_of_uri(self.app, uri)]
        if len(self.archives) == 1:
            return list(self.archives)
        scores = {name: row[0] for name, row in (await self.score_titles([title], [title])).items() if row[0]}
        best = newest_of_each(self.archives, [name for name in scores if scores[name] == max(scores.values())])
        if len(best) > 1:
            sizes = {holder.name: entry.size for holder, entry in await find_holders(self.app, title, best)}
            best.sort(key=lambda archive: -sizes.get(archive.name, 0))
        return best

    def text_reply(self, text: str, source: excerpts.Source | None = None, default: float = DEFAULT_TOKENS) -> Reply:
        """Reply with a text and its source line; if it exceeds the budget, with a part that says where it continues."""
        start = self.request.content_offset
        if start >= len(text) > 0:
            raise errors.OutOfRange(f"content_offset={start} is beyond the end: the text has {len(text)} characters.")
        line = source.line if source else ""
        sources, cited = ((line,), (source,)) if source else ((), ())
        shown = tokens.truncate(text[start:], self.tokens_left(line, default))
        if len(shown) == len(text) - start:
            return Reply("\n\n".join(filter(None, (shown.lstrip("\n"), line))), sources, cited=cited)
        foot = f"{continuation_line(len(text), len(text))}\n\n{line}"
        shown = tokens.truncate(text[start:], self.tokens_left(foot, default))
        stop = start + len(shown)
        parts = (shown.lstrip("\n"), continuation_line(stop, len(text)), line)
        continuation = self.request.model_copy(update={"content_offset": stop})
        return Reply("\n\n".join(filter(None, parts)), sources, continuation, cited=cited)

    def list_reply(
        self,
        head: str,
        rows: Sequence[str],
        *,
        foot: str = "",
        source: excerpts.Source | None = None,
        is_complete: bool = True,
    ) -> Reply:
        """Reply with as many rows as fit the budget, and a line that says how to continue."""
        reply = Reply("")
        line = source.line if source else ""
        sources, cited = ((line,), (source,)) if source else ((), ())
        for count in range(len(rows), -1, -1):
            stop = None if is_complete and count == len(rows) else self.request.offset + count
            text = "\n\n".join(filter(None, ("\n".join([head, *rows[:count]]).strip(), foot, line)))
            reply = self.continued(Reply(text, sources, cited=cited), stop)
            if not self.request.max_tokens or tokens.fits(reply.markdown, self.request.max_tokens):
                return reply
        return self.text_reply(reply.markdown)

    def continued(self, reply: Reply, offset: int | None) -> Reply:
        """Return a reply with the line that says at which offset it continues, if it does."""
        if offset is None:
            return reply
        continuation = self.request.model_copy(update={"offset": offset})
        return replace(reply, continuation=continuation, last_line=offset_line(offset))


def offset_line(offset: int) -> str:
    """Return the line that says where a list or an answer continues."""
    return f"[offset={offset} continues]"


def continuation_cursor(continuation: QueryRequest, archives: Sequence[ArchiveFile]) -> str:
    """Return the cursor that continues an answer from these archives, alone or with its query."""
    request = continuation.model_dump(exclude_defaults=True, exclude={"offset", "cursor"})
    return cursors.encode(TOOL, fingerprint_archives(archives), continuation.offset, request)


def _is_index_quarantined(error: errors.OpenZimMcpError) -> bool:
    return isinstance(error, errors.ArchiveQuarantined) and error.details.get("scope") == "index"

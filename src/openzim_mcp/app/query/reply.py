"""One query being answered: what was asked, of which archives, and how what is said fits the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openzim_mcp import cursors, errors, tokens
from openzim_mcp.app import search
from openzim_mcp.app.reading import BUDGETS
from openzim_mcp.text import safe_line
from openzim_mcp.worker.search import answer as answers
from openzim_mcp.worker.search import survey

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.app.app import Backend
    from openzim_mcp.app.query.ask import QueryArguments
    from openzim_mcp.zimfile import ArchiveFile

BUDGET = 600
_CHARACTERS = 2400
"""What is read of an article at once."""
_ROWS = 10


@dataclass(frozen=True)
class Reply:
    """What is said, and the call whose answer goes on where this one ends."""

    text: str
    rest: QueryArguments | None = None


@dataclass(frozen=True)
class Question:
    """One query being answered: the call, the archives that it asks, all there are, and what the last one left."""

    backend: Backend
    given: QueryArguments
    archives: Sequence[ArchiveFile]
    every: Sequence[ArchiveFile]
    rest: QueryArguments | None = None

    @property
    def limit(self) -> int:
        """How many rows a list has."""
        return self.given.limit or _ROWS

    @property
    def length(self) -> int:
        """How many characters are read of an article."""
        whole = self.backend.settings.content.max_content_length
        return self.given.max_content_length or (_CHARACTERS if self.given.compact else whole)

    @property
    def tokens(self) -> float | None:
        """How many tokens were asked for, if that was said."""
        return float(self.given.compact_budget) if self.given.compact_budget else None

    def budget(self, default: float) -> tuple[float, answers.Cost]:
        """Return how much an answer may have, and how it is counted."""
        if self.tokens:
            return self.tokens, answers.by_estimate
        return (default if self.given.compact else BUDGETS["large"]), answers.by_characters

    async def each(self, function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
        """Run a function on every archive at once; those that fail are left out, unless it is the only one."""
        found = await self.backend.each(self.archives, lambda archive: self.backend.ask(function, archive, **arguments))
        if len(found) == 1 and isinstance(found[0], errors.OpenZimMcpError) and not _is_closed_index(found[0]):
            raise found[0]
        named = zip(self.archives, found, strict=True)
        return {archive.name: answer for archive, answer in named if not isinstance(answer, errors.OpenZimMcpError)}

    async def archive(self, name: str | None = None) -> ArchiveFile:
        """Return the one archive that is meant, or raise an error that lists them."""
        if name is None and len(self.archives) == 1:
            return self.archives[0]
        return await self.backend.find(name)

    async def evidence(self, names: list[str], requested: list[str]) -> dict[str, list[float]]:
        """Return how well each archive knows each of some titles."""
        way = {"without_index": survey.evidence_without_index}
        return await self.each(survey.evidence, names=names, requested=requested, **way)

    async def holder(self, title: str) -> ArchiveFile:
        """Return the archive that knows a title best."""
        if len(self.archives) == 1:
            return self.archives[0]
        known = await self.evidence([title], [title])
        best = max(known, key=lambda name: known[name][0], default=None)
        if best is None or not known[best][0]:
            raise errors.EntryNotFound(
                f"No archive has an article {safe_line(title, 200)!r}.",
                hint="Ask for it in other words, or search for it.",
            )
        return next(archive for archive in self.archives if archive.name == best)

    def said(self, text: str, foot: str = "", default: float = BUDGET) -> Reply:
        """Say a text, cut to the budget, above a line that stays whole."""
        return Reply("\n\n".join(filter(None, (tokens.truncate(text, self.room(foot, default)), foot))))

    def room(self, foot: str, default: float = BUDGET) -> float:
        """Return how many tokens there are for what stands above a line."""
        return self.budget(default)[0] - tokens.estimate(foot) * tokens.SAFETY_FACTOR

    def listed(self, head: str, rows: Sequence[str], *, foot: str = "", is_all: bool = True) -> Reply:
        """Say as many rows as fit the budget, and how to get the others."""
        for count in range(len(rows), -1, -1):
            rest = None if is_all and count == len(rows) else self._from(self.given.offset + count)
            shown = filter(None, ("\n".join([head, *rows[:count]]).strip(), foot, self._going_on(rest)))
            text = "\n\n".join(shown)
            if not self.tokens or tokens.fits(text, self.tokens):
                return Reply(text, rest)
        return self.said(text)

    def _from(self, offset: int) -> QueryArguments:
        return self.given.model_copy(update={"offset": offset})

    def _going_on(self, rest: QueryArguments | None) -> str:
        if rest is None:
            return ""
        request = rest.model_dump(exclude_defaults=True, exclude={"offset", "cursor"})
        cursor = cursors.encode("zim_query", search.state(self.every), rest.offset, request)
        return f"[offset={rest.offset} continues; cursor={cursor}]"


def _is_closed_index(error: errors.OpenZimMcpError) -> bool:
    return isinstance(error, errors.ArchiveQuarantined) and error.details.get("scope") == "index"

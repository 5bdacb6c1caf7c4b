"""A first look of an archive at a query, before any article is read: which titles it knows, and what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openzim_mcp.archive.quarantine import asks_index
from openzim_mcp.content.language import language_of
from openzim_mcp.services import candidates, queries, titles

if TYPE_CHECKING:
    from openzim_mcp.archive.zim import Archive

_BY_NAME, _BY_SPELLING = 1.0, 0.9


@asks_index
def evidence(archive: Archive, names: list[str]) -> list[float]:
    """Return how well an archive knows each of some titles: 1 exactly, nearly that by another spelling, 0 not."""
    return [_known(archive, name) or (_BY_SPELLING if titles.alike(archive, name) else 0.0) for name in names]


def evidence_without_index(archive: Archive, names: list[str]) -> list[float]:
    """Do the same in an archive whose index must not be asked: only exact titles are known."""
    return [_known(archive, name) for name in names]


def _known(archive: Archive, name: str) -> float:
    return _BY_NAME if titles.exact(archive, name, language_of(archive.languages, name).stop_words) else 0.0


@asks_index
def promise(archive: Archive, query: str) -> dict[str, Any]:
    """Return how much of a query the best candidate may have, from 0 to 1, and which of the words the archive knows."""
    if not archive.has_fulltext_index:
        return {"promise": 1.0, "known": []}
    wanted = queries.read(archive, query, known=None)
    scored = candidates.find(archive, wanted).scored
    best = max((score for _, score in scored), default=0.0)
    return {
        "promise": min(1.0, best / (candidates.WHOLE * wanted.total)),
        "known": [term.word for term in wanted.known],
    }

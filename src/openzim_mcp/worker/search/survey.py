"""A first look of an archive at a query, before any article is read: which titles it knows, and what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openzim_mcp.library.quarantine import asks_index
from openzim_mcp.worker.reading import resolve
from openzim_mcp.worker.search import candidates, titles
from openzim_mcp.worker.search import query as queries
from openzim_mcp.worker.search.language import language_of

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive

_BY_NAME, _BY_SPELLING, _BY_LIKENESS = 1.0, 0.9, 0.6


@asks_index
def evidence(archive: Archive, names: list[str], requested: list[str]) -> list[float]:
    """Return how well an archive knows each of some titles: 1 exactly, nearly that by another spelling, 0 not.

    What was requested may also be a few letters off.
    """
    return [_known(archive, name, may_be_off=name in requested) for name in names]


def _known(archive: Archive, name: str, *, may_be_off: bool) -> float:
    if _is_exact(archive, name):
        return _BY_NAME
    if titles.alike(archive, name):
        return _BY_SPELLING
    return _BY_LIKENESS if may_be_off and resolve.guess(archive, name).path else 0.0


def evidence_without_index(archive: Archive, names: list[str], requested: list[str]) -> list[float]:  # noqa: ARG001
    """Do the same in an archive whose index must not be asked: only exact titles are known."""
    return [_BY_NAME if _is_exact(archive, name) else 0.0 for name in names]


def _is_exact(archive: Archive, name: str) -> bool:
    return bool(titles.exact(archive, name, language_of(archive.languages, name).stop_words))


@asks_index
def promise(archive: Archive, query: str) -> dict[str, Any]:
    """Return how much of a query the best candidate may have, from 0 to 1, and which of the words the archive knows.

    Without an index that cannot be told.
    """
    if not archive.has_fulltext_index:
        return {"promise": None, "known": []}
    wanted = queries.read(archive, query, known=None)
    scored = candidates.find(archive, wanted).scored
    best = max((score for _, score in scored), default=0.0)
    return {
        "promise": min(1.0, best / (candidates.WHOLE * wanted.total)),
        "known": [term.word for term in wanted.known],
    }

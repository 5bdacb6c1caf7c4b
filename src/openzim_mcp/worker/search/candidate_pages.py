"""Read the candidates of a query: many of them in rough passages, and of these the best as documents.

How many follows the size of the archive. A small one is in few clusters, so that looking into many pages reads little;
in a large one every page is somewhere else on the disk.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.document_titles import is_path, title_of
from openzim_mcp.worker.search.candidates import FULL_MATCH_SCORE
from openzim_mcp.worker.search.ranking import Page, rank_passages
from openzim_mcp.worker.search.rough_page import RoughPage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.zim import Archive, Item

NO_PAGES: Mapping[str, Page] = {}
_MAX_ROUGH_BYTES = 2 << 20
_MAX_PARSED_CHARS = 1 << 20


class ReadingLimits(NamedTuple):
    """How many candidates are read, and how many of these are parsed and ranked by their passages.

    Fewer are read, `read_if_sure`, where the best one has nearly all words and a title that the query mentions.
    `spread` is how much their scores as candidates count: 0, all count as the best one; 1, as they are.
    """

    read: int
    parsed: int
    read_if_sure: int
    spread: float = 1.0


_LIMITS = (
    (5_000, ReadingLimits(40, 12, 40)),
    (50_000, ReadingLimits(20, 20, 20)),
    (math.inf, ReadingLimits(24, 12, 12, 0.4)),
)
"""By the number of articles. Among many, hundreds have the words by chance, and their passages tell more of them."""
_SURE_SCORE = 1.3


class _Candidate(NamedTuple):
    """A candidate that was read: its path, item and bytes, if it is a web page, and its text as far as it is known."""

    path: str
    item: Item
    raw: bytes | None
    page: Page


def load_pages(
    archive: Archive,
    query: ParsedQuery,
    scores: Mapping[str, float],
    first: Collection[str],
    accepts: Callable[[str, str], bool],
    stored: Mapping[str, Page] = NO_PAGES,
) -> list[Page]:
    """Read the best candidates, those in `first` before the others, if `accepts` takes their path and type.

    `stored` are pages that need not be read.
    """
    limits = next(limits for articles, limits in _LIMITS if archive.counts["articles"] <= articles)
    order = sorted(scores, key=lambda path: (path not in first, -scores[path], path))
    full_score = FULL_MATCH_SCORE * query.total_weight
    best = max(scores.values(), default=0.0) / full_score
    count = limits.read_if_sure if best >= _SURE_SCORE else limits.read
    best = min(1.0, best)
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        archive.prefetch(order[:count])
    items = _find_items(archive, order, accepts)
    priors = {path: best - limits.spread * (best - min(1.0, scores[path] / full_score)) for path in order}
    is_rough = limits.read > limits.parsed
    candidates = [
        candidate
        for path, item in itertools.islice(items, count)
        for candidate in _read(archive, query, path, item, priors[path], stored, is_rough=is_rough)
    ]
    return _parse(archive, query, _choose(candidates, query, first, limits.parsed))


def _find_items(
    archive: Archive, paths: Sequence[str], accepts: Callable[[str, str], bool]
) -> Iterator[tuple[str, Item]]:
    for number, path in enumerate(paths):
        if number and timer.is_late():
            return
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            item = archive.find_entry(path)
            if item is not None and accepts(item.path, item.mime_type):
                yield path, item


def _read(
    archive: Archive,
    query: ParsedQuery,
    path: str,
    item: Item,
    prior: float,
    stored: Mapping[str, Page],
    *,
    is_rough: bool,
) -> Iterator[_Candidate]:
    """Yield the candidate with its rough text; it is parsed if its bytes have none of the words, as in a PDF."""
    if item.path in stored:
        yield _Candidate(path, item, None, stored[item.path]._replace(prior=prior))
        return
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        raw = archive.read_content(item.path) if is_rough and is_page(item.mime_type) else None
        rough = RoughPage(raw[:_MAX_ROUGH_BYTES], query.terms) if raw else None
        page = (
            Page(item.path, item.title, rough, prior)
            if rough and rough.passages
            else load_page(archive, item, query, prior, raw)
        )
        yield _Candidate(path, item, raw, page)


def _choose(
    candidates: Sequence[_Candidate], query: ParsedQuery, first: Collection[str], limit: int
) -> Sequence[_Candidate]:
    """Return the candidates to parse: those in `first`, then the ones with the best passages."""
    if len(candidates) <= limit:
        return candidates
    ranked = rank_passages([row.page for row in candidates], query)
    ranks = {path: rank for rank, path in enumerate(dict.fromkeys(row.page.path for row in ranked))}
    order = sorted(candidates, key=lambda row: (row.path not in first, ranks.get(row.item.path, len(ranks))))
    return order[:limit]


def _parse(archive: Archive, query: ParsedQuery, candidates: Sequence[_Candidate]) -> list[Page]:
    pages: list[Page] = []
    chars = 0
    for row in candidates:
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            is_parsed = row.raw is None
            pages.append(row.page if is_parsed else load_page(archive, row.item, query, row.page.prior, row.raw))
            chars += sum(len(passage.text) for passage in pages[-1].document.passages)
        if chars >= _MAX_PARSED_CHARS:
            break
    return pages


def load_page(archive: Archive, item: Item, query: ParsedQuery, prior: float, raw: bytes | None = None) -> Page:
    """Return the page of an item, whose bytes may have been read before."""
    prefixes = [term.search_prefix for term in (query.indexed_terms or query.terms)]
    document = article.document_around(archive, item, prefixes, raw, query.question.language)
    title = title_of(archive, item.path, item.title)
    return Page(item.path, title if not is_path(title, item.path) else document.title or title, document, prior)

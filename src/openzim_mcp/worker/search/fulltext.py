"""Full-text search: the right article first, with the passage that matches."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors
from openzim_mcp.calls.search import SearchHit, SearchHits
from openzim_mcp.text import is_unspaced_script
from openzim_mcp.worker.reading import article, resolve
from openzim_mcp.worker.search import candidates, filters, query, ranking, scan, snippets, titles

if TYPE_CHECKING:
    from collections.abc import Collection

    from openzim_mcp.calls.search import SearchText, TitleMatchKind
    from openzim_mcp.worker.search.filters import Filter
    from openzim_mcp.worker.search.query import Wanted
    from openzim_mcp.worker.zim import Archive, Item

NO_INDEX = "no_xapian_index"
INDEX_CLOSED = "index_closed"
_READ = 20
"""How many candidates are read and ranked by their passages; the others follow as the index has them."""
_READ_CHARACTERS = 1 << 20
_NAMED = {"exact": 2.0, "redirect": 1.9, "prefix": 0.0, "fuzzy": 0.0}
"""How far an article is ahead whose title is the query."""
_NOISE, _LISTING = 0.4, 0.6
"""What is left of the score of a page of a tag or a user, and of one that is little but links."""
_LISTING_LINKS = 0.6
_SCANNED_ON_A_MISS = 200


class Hit(NamedTuple):
    """An article that was read, its best passage, its score, and how much its own text counts."""

    best: ranking.Ranked
    score: float
    quality: float


@dataclass(frozen=True)
class Found:
    """All that a query finds: articles that were read and ranked, then paths as the index has them."""

    wanted: Wanted
    ranked: list[ranking.Ranked]
    hits: list[Hit]
    rest: list[str]
    relaxed: dict[str, list[str]]
    estimate: int | None = None
    reason: str | None = None
    note: str | None = None

    @property
    def lowest(self) -> float:
        """The score of the last of the articles that were read."""
        return self.hits[-1].score if self.hits else 1.0

    @cached_property
    def total(self) -> int:
        """How many there are."""
        return len(self.hits) + len(self.rest)


def search_text(archive: Archive, call: SearchText) -> SearchHits:
    """Return a page of the articles that match a query."""
    accepts = filters.of(archive, call.namespace, call.content_type)
    text = call.query
    if call.use_index:
        found = look(archive, text, accepts, call.scan_seconds)
    else:
        found = replace(find_without_index(archive, text, accepts, call.scan_seconds), reason=INDEX_CLOSED)
    page = range(found.total)[call.offset : call.offset + call.limit]
    no_results = None if found.total else "Nothing was found; try fewer or other words, or mode='title'."
    return SearchHits(
        results=[_result(archive, found, number, call.snippet_chars) for number in page],
        total=max(found.total, found.estimate or 0),
        listed=found.total,
        corrected=found.wanted.corrected,
        relaxed=found.relaxed,
        total_is_estimate=found.estimate is not None,
        reason=found.reason,
        hint=found.note or no_results,
    )


def look(archive: Archive, text: str, accepts: Filter, seconds: float, known: Collection[str] = ()) -> Found:
    """Return what a query finds, with the index if there is one; where that finds nothing, a small archive is read."""
    if not archive.has_fulltext_index:
        return find_without_index(archive, text, accepts, seconds)
    found = find(archive, text, accepts, known)
    is_small = archive.counts["articles"] <= _SCANNED_ON_A_MISS
    if not found.total and (is_small or any(is_unspaced_script(term.word) for term in found.wanted.terms)):
        return replace(find_without_index(archive, text, accepts, seconds), reason=None, note=None)
    return found


def find(archive: Archive, text: str, accepts: Filter, known: Collection[str] = ()) -> Found:
    """Return what a query finds in an archive that has an index; words that are known to be right are not corrected."""
    meant = resolve.locate(archive, text) if "://" in text else None
    wanted = query.read(archive, meant.title if meant else text, known)
    named = titles.exact(archive, meant.title if meant else text, wanted.language.stop_words)
    named = titles.alike(archive, wanted.text) | named if len(text.split()) <= titles.LONGEST else named
    pool = candidates.find(archive, wanted)
    scored = dict.fromkeys(named, candidates.WHOLE * wanted.total) | dict(pool.scored)
    ranked, hits = rank(archive, wanted, scored, named, accepts)
    read = {hit.best.page.path for hit in hits}
    rest = [path for path in dict.fromkeys([*pool.strict, *scored]) if path not in read]
    return Found(
        wanted=wanted,
        ranked=ranked,
        hits=hits,
        rest=accepts.all(rest),
        relaxed=_relaxed(wanted, pool),
        estimate=archive.frequency(" ".join(term.word for term in wanted.known)) if pool.may_be_more else None,
    )


def _relaxed(wanted: Wanted, pool: candidates.Candidates) -> dict[str, list[str]]:
    """Say which words the results were not made to have."""
    known = [term.word for term in wanted.terms if term.frequency and not is_unspaced_script(term.word)]
    apart = known if len(known) > 1 and not pool.strict else []
    unknown = [word for word in wanted.unknown if not is_unspaced_script(word)]
    return {name: words for name, words in (("unknown_words", unknown), ("no_article_has_all_of", apart)) if words}


def rank(
    archive: Archive, wanted: Wanted, scored: dict[str, float], named: dict[str, TitleMatchKind], accepts: Filter
) -> tuple[list[ranking.Ranked], list[Hit]]:
    """Read the likeliest articles and return their passages, and the articles by what their passages have."""
    order = sorted(scored, key=lambda path: (path not in named, -scored[path], path))
    pages: list[ranking.Page] = []
    size = 0
    for path in order:
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            item = archive.find_entry(path)
            if item is None or not accepts(item.path, item.mime_type):
                continue
            prior = min(1.0, scored[path] / (candidates.WHOLE * wanted.total))
            pages.append(_read(archive, item, wanted, prior))
            size += len(pages[-1].document.body)
        if len(pages) >= _READ or size >= _READ_CHARACTERS:
            break
    ranked = ranking.rank(pages, wanted)
    hits = []
    for best, score in ranking.best_of_each(ranked):
        path = best.page.path
        quality = 1.0 if path in named else _quality(best.page)
        hits.append(Hit(best, score * quality + _ahead(path, named), quality))
    return ranked, sorted(hits, key=lambda hit: -hit.score)


def _read(archive: Archive, item: Item, wanted: Wanted, prior: float) -> ranking.Page:
    probes = [term.probe for term in (wanted.known or wanted.terms)]
    return ranking.Page(item.path, item.title, article.document_around(archive, item, probes), prior)


def _ahead(path: str, named: dict[str, TitleMatchKind]) -> float:
    return _NAMED[named[path]] if path in named else 0.0


def _quality(page: ranking.Page) -> float:
    """Return what is left of the score of a page that only leads to others."""
    if titles.is_noise(page.path):
        return _NOISE
    linked = sum(len(link.text) for link in page.document.links)
    return _LISTING if linked > _LISTING_LINKS * max(1, len(page.document.body)) else 1.0


def find_without_index(archive: Archive, text: str, accepts: Filter, seconds: float) -> Found:
    """Return what titles and, in a small archive, the texts themselves have for a query."""
    language = query.language_for(archive, text)
    named = titles.exact(archive, text, language.stop_words)
    scanned = scan.texts(archive, language.content_words(text), seconds)
    wanted = query.Wanted(text, language, scanned.terms, {})
    runs = titles.runs(archive, text, language.stop_words)
    scored = dict.fromkeys((*named, *runs), candidates.WHOLE * wanted.total) | scanned.scored
    if not archive.has_title_index:
        scored |= {path: wanted.total for path in titles.beginning(archive, text) if path not in scored}
    ranked, hits = rank(archive, wanted, scored, named, accepts)
    read = {hit.best.page.path for hit in hits}
    rest = accepts.all([path for path in scored if path not in read])
    return Found(wanted, ranked, hits, rest, {}, reason=NO_INDEX, note=scanned.note)


def _result(archive: Archive, found: Found, number: int, length: int) -> SearchHit:
    """Return an article as it is shown; one that was not ranked is read now."""
    if number < len(found.hits):
        hit = found.hits[number]
        return _shown(hit.best, hit.score, found.wanted, length)
    place = number - len(found.hits)
    score = found.lowest * (1 - (place + 1) / (len(found.rest) + 1))
    path = found.rest[place]
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        item = archive.find_entry(path)
        if item is not None:
            for best in ranking.rank([_read(archive, item, found.wanted, 0.0)], found.wanted)[:1]:
                return _shown(best, score, found.wanted, length)
    return SearchHit(path, archive.title_of(path), "", round(score, 3))


def _shown(best: ranking.Ranked, score: float, wanted: Wanted, length: int) -> SearchHit:
    section = best.page.document.sections[best.passage.section].title
    snippet = snippets.snippet(best.passage.text, wanted, length)
    return SearchHit(best.page.path, best.page.title, snippet, round(score, 3), section or None)

"""Search the index of words of a small archive for passages that may answer a question; no page is parsed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.candidates import FULL_MATCH_SCORE, score_articles, score_titles_and_mentions
from openzim_mcp.worker.search.fulltext import SearchResults, pages_with_quotes, rank_pages
from openzim_mcp.worker.search.language import script_of
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.search.ranking import Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.calls.search import Question, TitleMatchKind, WordCounts
    from openzim_mcp.worker.document import Passage
    from openzim_mcp.worker.search.index_file import StoredPage
    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.search.word_index import PageHit, WordIndex
    from openzim_mcp.worker.zim import Archive

_MAX_CANDIDATES = 40
_MAX_READ_PAGES = 20
_MAX_READ_CHARS = 1 << 20
_MAX_FIRST_PASSAGES = 30
_MAX_UNFOUND_PASSAGES = 120
"""So many passages are ranked of a page of which only the whole, or its title, was found."""
_PASSAGE_SHARE = 0.3
"""How much the best passage counts beside the words of the whole article."""
_COVERED_PAGES = 4
_TITLE_COVERAGE = 0.5
"""How much more a word counts that stands in the title."""


_last_pages: LRUCache[tuple[int, tuple[str, ...]], list[PageHit]] = LRUCache(64)


def search_words(archive: Archive, index: WordIndex, question: Question, counts: WordCounts) -> SearchResults:
    """Return the passages that fit a question best."""
    query = parse_query(archive, question, counts)
    full_score = FULL_MATCH_SCORE * query.total_weight
    title_matches = _title_matches(archive, query)
    # A question may name things from all over an article, which no passage has together.
    candidates = find_candidates(archive, index, query, score_articles(archive, query), _PASSAGE_SHARE)
    scores = dict.fromkeys(title_matches, full_score) | candidates.scores
    for path in pages_with_quotes(archive, question):
        scores.setdefault(path, full_score)
        title_matches.setdefault(path, "prefix")  # read first, without a bonus
    scores = _prefer_script(archive, question.text, scores)
    pages = _read_pages(index, query, Candidates(scores, candidates.passages), title_matches)
    passages, hits = rank_pages(pages, query, title_matches)
    return SearchResults(query, passages, hits, [], {})


class Candidates(NamedTuple):
    """The scores of pages by path, the best first, and the ids of the passages that were found there."""

    scores: dict[str, float]
    passages: dict[str, list[int]]


def _title_matches(archive: Archive, query: ParsedQuery) -> dict[str, TitleMatchKind]:
    matches = titles.exact_titles(archive, query.text, query.language.stop_words)
    if titles.may_be_title(archive, query.text):
        matches = titles.same_title_key(archive, query.text) | matches
    return matches


def find_candidates(
    archive: Archive, index: WordIndex, query: ParsedQuery, articles: Mapping[str, float], passage_share: float
) -> Candidates:
    """Return the pages that may answer a query: by their passages, by their titles, and with the scores in `articles`.

    `passage_share` is how much the best passage of a page counts beside these.
    """
    pages = _find_pages(archive, index, query)
    scores = dict(articles)
    for page in pages:
        score = passage_share * FULL_MATCH_SCORE * query.total_weight * min(1.0, page.score)
        scores[page.path] = scores.get(page.path, 0.0) + score
    scores = score_titles_and_mentions(archive, query, scores)
    return Candidates(scores, {page.path: page.passages for page in pages})


def _find_pages(archive: Archive, index: WordIndex, query: ParsedQuery) -> list[PageHit]:
    """Return the pages that fit the words of a query, found once, though it is estimated before it is answered."""
    key = (archive.serial, tuple(term.word for term in query.terms))
    if key not in _last_pages:
        _last_pages[key] = index.find_pages(query.terms, _MAX_CANDIDATES)
    return _last_pages[key]


def _read_pages(
    index: WordIndex, query: ParsedQuery, candidates: Candidates, title_matches: dict[str, TitleMatchKind]
) -> list[Page]:
    """Read the best pages, those with the title of the query first."""
    pages: list[Page] = []
    chars = 0
    scores = candidates.scores
    for path in sorted(scores, key=lambda path: (path not in title_matches, -scores[path], path)):
        stored = index.read_page(path)
        if stored is None:
            continue
        prior = min(1.0, scores[path] / (FULL_MATCH_SCORE * query.total_weight))
        selected = _select_passages(stored, candidates.passages.get(path, []))
        pages.append(Page(path, stored.title, stored, prior, selected))
        chars += sum(len(passage.text) for passage in selected)
        if len(pages) >= _MAX_READ_PAGES or chars >= _MAX_READ_CHARS:
            break
    return pages


def _prefer_script(archive: Archive, text: str, scores: dict[str, float]) -> dict[str, float]:
    """In an archive of several languages, leave out pages whose titles are in another script than the question."""
    script = script_of(text)
    if not script or "," not in archive.languages:
        return scores
    matching = {path: score for path, score in scores.items() if script_of(archive.title_of(path)) == script}
    return matching or scores


def _select_passages(page: StoredPage, found: Sequence[int]) -> list[Passage]:
    """Return the passages of a page to rank: those that were found, its first ones and its key facts."""
    if not found:
        return page.passages[:_MAX_UNFOUND_PASSAGES]
    positions = {passage - page.first_passage for passage in found}
    positions |= {*range(_MAX_FIRST_PASSAGES), *page.fact_positions}
    return [page.passage(position) for position in sorted(positions) if 0 <= position < page.passage_count]


def cover_words(archive: Archive, index: WordIndex, query: ParsedQuery) -> list[dict[str, float]]:
    """Return for each of the best pages how much of a query its best passage covers, more if its title does."""
    candidates = find_candidates(archive, index, query, {}, 1.0)
    best = [path for path in candidates.scores if candidates.passages.get(path)][:_COVERED_PAGES]
    return [_cover(index, candidates.passages[path][0], query) for path in best]


def _cover(index: WordIndex, passage: int, query: ParsedQuery) -> dict[str, float]:
    contained = index.terms_in(passage, query.terms)
    in_title = index.terms_in_title(passage, contained)
    return {term.word: 1.0 + (_TITLE_COVERAGE if term in in_title else 0.0) for term in contained}

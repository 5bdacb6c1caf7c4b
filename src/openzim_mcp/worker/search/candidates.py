"""Candidate articles for a query, by their words and titles.

The words of a large archive are read from the lists of its index. Else there are many small searches: libzim only
searches for all words of a query.
"""

from __future__ import annotations

import heapq
import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from openzim_mcp.text import normalize
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.reading.document_titles import document_titles, name_of
from openzim_mcp.worker.search.archive_size import has_many_articles, large_index
from openzim_mcp.worker.search.article_scores import score_postings
from openzim_mcp.worker.search.meaning import question_vectors
from openzim_mcp.worker.search.mentions import titles_in_text
from openzim_mcp.worker.search.titles import without_qualifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.search.article_scores import ScoredArticle
    from openzim_mcp.worker.search.mentions import Mention
    from openzim_mcp.worker.search.query import ParsedQuery, Term
    from openzim_mcp.worker.zim import Archive

_MAX_SEARCHED_TERMS = 8
"""Of a longer query, only the rarest words are searched for."""
_PAIR = 2
_MAX_GROUPED_TERMS = 4
"""Pairs and other small groups are made of so many of the rarest words."""
_ENOUGH_CANDIDATES = 60
"""Of a large archive: what searches for fewer words find beyond is hardly ever read."""
_RANK_OFFSET = 5
"""The first result of a search counts as much as two results at this rank and below."""
_MAX_POSTINGS = 1_000_000
"""How many postings the searches of a query may read: about a tenth of a second."""
MAX_COUNTED_MATCHES = 10_000
_MAX_RANKED_MATCHES = 40
"""How many of the articles with all words are candidates."""
_MAX_SCORED_TITLES = 120

_TITLE_SHARE_WEIGHT, _TITLE_WORD_WEIGHT = 2.0, 4.0
_MENTION_WEIGHTS = {"exact": 1.0, "redirect": 1.0, "inflected": 1.0, "qualified": 0.5, "meaning": 0.5}
"""How much a title counts, by how the query mentions it."""
_MAX_COMPARED_TITLES = 5000
_MAX_SIMILAR_TITLES = 12
_MIN_TITLE_SIMILARITY = 0.4
_DOCUMENT_WEIGHT = 1.0
_MAX_DOCUMENTS = 30
_SIMILAR_TITLE_WEIGHT = 1.0
_IMPORTANCE_WEIGHT = 1.0
"""Less than a word: importance decides only between titles that the query mentions alike."""
FULL_MATCH_SCORE = 3.0
"""The score of an article that a search for all words ranks first, per weight of the query."""


class _Depths(NamedTuple):
    """How many results are fetched of the searches for all words, all but one, fewer, and a single one."""

    all_words: int
    all_but_one: int
    fewer: int
    single: int


_DEPTHS, _DEPTHS_AMONG_MANY = _Depths(_MAX_RANKED_MATCHES, 40, 40, 100), _Depths(_MAX_RANKED_MATCHES, 20, 8, 8)
"""What lies deeper among many articles hardly ever has the answer: the searches for other words find it, too."""


_last_mentions: LRUCache[tuple[int, str], dict[str, Mention]] = LRUCache(64)


@dataclass(frozen=True)
class Candidates:
    """Articles that may answer, the best first, and those that contain all words, of which `match_count` are known.

    `rank_scores` has, by article, the words that it is known to contain, with its best rank among those that do.
    """

    scored: list[tuple[str, float]]
    full_matches: list[str]
    rank_scores: dict[str, dict[str, float]]
    match_count: int


class _Searches:
    """The searches for one query; `rank_scores` has, by article and word, the best rank: 1 is first, 0 last.

    They are kept, so they must not refer to the archive: it would stay open.
    """

    def __init__(self, *, is_large: bool) -> None:
        self._is_large = is_large
        self._searched: set[frozenset[str]] = set()
        self._postings = 0
        self._results: list[tuple[list[str], Sequence[str]]] = []
        """The words of each search, and the articles that it found."""
        self.rank_scores: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def search(self, archive: Archive, terms: Sequence[Term], limit: int) -> None:
        """Search for articles that contain all the terms, unless that is done already or too much work."""
        words = frozenset(term.word for term in terms)
        rarest = min((term.frequency for term in terms), default=0)
        is_affordable = self._postings + rarest <= _MAX_POSTINGS
        if words and words not in self._searched and is_affordable and not timer.is_late():
            self._postings += rarest
            self.add_results(terms, archive.search_paths(" ".join(term.word for term in terms), limit), limit)

    def add_results(self, terms: Sequence[Term], paths: Sequence[str], limit: int) -> None:
        """Add the results of a search for some terms."""
        self._searched.add(frozenset(term.word for term in terms))
        self._results.append(([term.word for term in terms], paths[:limit]))
        for rank, path in enumerate(paths[:limit]):
            rank_score = 1 - rank / limit
            scores = self.rank_scores[path]
            for term in terms:
                scores[term.word] = max(scores.get(term.word, 0.0), rank_score)

    def score(self, terms: Sequence[Term]) -> dict[str, float]:
        """Return the scores of the articles that were found."""
        return self._score_by_all_ranks(terms) if self._is_large else self._score_by_rank(terms)

    def _score_by_rank(self, terms: Sequence[Term]) -> dict[str, float]:
        """Return the scores of articles by the words that they contain, and by the best rank for each word."""
        weights = {term.word: term.weight for term in terms}
        return {
            path: sum(weights[word] * (0.5 + 1.5 * rank_score) for word, rank_score in scores.items())
            for path, scores in self.rank_scores.items()
        }

    def _score_by_all_ranks(self, terms: Sequence[Term]) -> dict[str, float]:
        """Return the scores of articles by the words that they contain, and by their ranks in all searches."""
        weights = {term.word: term.weight for term in terms}
        covered = {path: sum(map(weights.__getitem__, scores)) for path, scores in self.rank_scores.items()}
        fused: defaultdict[str, float] = defaultdict(float)
        for words, paths in self._results:
            weight = sum(map(weights.__getitem__, words))
            for rank, path in enumerate(paths):
                fused[path] += weight / (_RANK_OFFSET + rank)
        best = max(fused, key=fused.__getitem__, default="")
        scale = 1.5 * covered[best] / fused[best] if best else 0.0
        return {path: 0.5 * weight + scale * fused[path] for path, weight in covered.items()}


class _Listed:
    """The articles that the lists of an index score best; `rank_scores` has, by article and word, what it counts."""

    def __init__(self, articles: Sequence[ScoredArticle]) -> None:
        self.rank_scores = {article.path: article.shares for article in articles}
        self._topics = {article.path: article.topic for article in articles}

    def score(self, terms: Sequence[Term]) -> dict[str, float]:
        """Return the scores of the articles."""
        weights = {term.word: FULL_MATCH_SCORE * term.weight for term in terms}
        return {
            path: sum(weights[word] * share for word, share in shares.items()) + FULL_MATCH_SCORE * self._topics[path]
            for path, shares in self.rank_scores.items()
        }


class _Found(NamedTuple):
    """Articles with all words, how many there are, and what was found of these and others."""

    matches: list[str]
    match_count: int
    searches: _Searches | _Listed


_last_searches: LRUCache[tuple[int, tuple[str, ...], int | None], _Found] = LRUCache(64)


def find_candidates(archive: Archive, query: ParsedQuery, max_matches: int | None = None) -> Candidates:
    """Return the articles that contain all words of a query, or some of them.

    Of those with all words, the best `max_matches` are listed, which may be none, or all up to `MAX_COUNTED_MATCHES`.
    """
    found = _search_words(archive, query, max_matches)
    scored = score_titles_and_mentions(archive, query, found.searches.score(query.terms))
    return Candidates(list(scored.items()), found.matches, found.searches.rank_scores, found.match_count)


def score_articles(archive: Archive, query: ParsedQuery) -> dict[str, float]:
    """Return the scores of articles by the words that they contain anywhere, as the archive's own index finds them."""
    return _search_words(archive, query, _DEPTHS.all_words).searches.score(query.terms)


def score_titles_and_mentions(archive: Archive, query: ParsedQuery, scores: dict[str, float]) -> dict[str, float]:
    """Add to the scores of articles what their titles tell, and the articles whose titles the query mentions."""
    scores = dict(scores)
    for path, mention in find_mentions(archive, query.text).items():
        importance = _IMPORTANCE_WEIGHT * archive.importance(path)
        scores[path] = scores.get(path, 0.0) + _mention_score(mention, query) + importance
    best = sorted(scores, key=lambda path: (-scores[path], path))
    for path in best[:_MAX_SCORED_TITLES]:
        scores[path] += _title_score(archive, path, query)
    for path, score in _score_documents(archive, query):
        scores[path] = scores.get(path, 0.0) + score
    for path, similarity in _similar_titles(archive, query):
        scores[path] = scores.get(path, 0.0) + _SIMILAR_TITLE_WEIGHT * similarity * query.total_weight
    return dict(sorted(scores.items(), key=lambda row: (-row[1], row[0])))


def find_mentions(archive: Archive, text: str) -> dict[str, Mention]:
    """Return the titles that a question mentions, found once, though it is estimated before it is answered."""
    key = (archive.serial, text)
    if key not in _last_mentions:
        _last_mentions[key] = titles_in_text(archive, text)
    return _last_mentions[key]


def _search_words(archive: Archive, query: ParsedQuery, max_matches: int | None) -> _Found:
    """Search for all words and for fewer; a question is searched once, though it is estimated before it is answered."""
    # The rarest first, as this archive counts: words may weigh otherwise in the whole library.
    terms = sorted(query.indexed_terms, key=lambda term: (term.frequency, term.word))
    key = (archive.serial, tuple(term.word for term in terms), max_matches)
    if key not in _last_searches:
        found = _read_lists(archive, terms, max_matches) or _search_often(archive, terms, max_matches)
        if timer.is_cut:
            return found
        _last_searches[key] = found
    return _last_searches[key]


def _read_lists(archive: Archive, terms: Sequence[Term], max_matches: int | None) -> _Found | None:
    """Score the articles of a large archive by the lists of its index; None if these cannot be read."""
    index = large_index(archive) if terms else None
    listed = score_postings(index, terms, max_matches or 0) if index else None
    if listed is None:
        return None
    searches = _Listed(listed.best)
    # libzim names thousands of articles in a tenth of the time.
    if max_matches is None or (max_matches and listed.match_count is None):
        return _Found(*_search_all_words(archive, terms, max_matches or MAX_COUNTED_MATCHES), searches)
    return _Found(listed.matches, listed.match_count or 0, searches)


def _search_all_words(archive: Archive, terms: Sequence[Term], limit: int) -> tuple[list[str], int]:
    """Return articles with all words, as libzim ranks them, and how many there are."""
    words = " ".join(term.word for term in terms)
    matches = archive.search_paths(words, limit) if words else []
    return matches, archive.frequency(words) if len(matches) == limit else len(matches)


def _search_often(archive: Archive, terms: Sequence[Term], max_matches: int | None) -> _Found:
    is_large = has_many_articles(archive)
    depths = _DEPTHS_AMONG_MANY if is_large else _DEPTHS
    limit = MAX_COUNTED_MATCHES if max_matches is None else max(max_matches, depths.all_words)
    matches, match_count = _search_all_words(archive, terms, limit)
    searches = _Searches(is_large=is_large)
    searches.add_results(terms, matches, depths.all_words if len(terms) > 1 or is_large else depths.single)
    _search_fewer_words(archive, searches, terms[:_MAX_SEARCHED_TERMS], depths)
    return _Found(matches, match_count, searches)


def _search_fewer_words(archive: Archive, searches: _Searches, terms: Sequence[Term], depths: _Depths) -> None:
    """Search for all words but one, for pairs of the rarest and for single words.

    Among many articles also for four and three of the rarest, but no further once there are enough candidates.
    """
    if len(terms) > _PAIR:
        for left_out in range(len(terms)):
            searches.search(archive, [*terms[:left_out], *terms[left_out + 1 :]], depths.all_but_one)
    is_large = has_many_articles(archive)
    for size in (_MAX_GROUPED_TERMS, _PAIR + 1, _PAIR, 1) if is_large else (_PAIR, 1):
        if is_large and len(searches.rank_scores) >= _ENOUGH_CANDIDATES:
            return
        for group in itertools.combinations(terms[:_MAX_GROUPED_TERMS], size):
            searches.search(archive, group, depths.fewer if size > 1 else depths.single)


def _mention_score(mention: Mention, query: ParsedQuery) -> float:
    """Return the score for a title that the query mentions, and for the other words of the query that point to it."""
    by_words = _TITLE_WORD_WEIGHT * len(mention.words) + _weight_of_words(mention.words, query)
    return _MENTION_WEIGHTS[mention.kind] * by_words + _TITLE_WORD_WEIGHT * mention.pointers


def _weight_of_words(words: Sequence[str], query: ParsedQuery) -> float:
    stems = {stem for word in words for stem in query.language.stems(normalize(word))}
    return sum(query.weights.get(stem, 0.0) for stem in stems)


def _similar_titles(archive: Archive, query: ParsedQuery) -> list[tuple[str, float]]:
    """Return the pages of a question-and-answer site whose titles, which are questions, are nearest in meaning."""
    if archive_kind(archive) != "qa" or archive.counts["articles"] > _MAX_COMPARED_TITLES:
        return []
    asked = question_vectors(query.question.text)
    if asked is None:
        return []
    rows = ((path, asked.similarity(title)) for path, title in archive.article_titles)
    best = heapq.nlargest(_MAX_SIMILAR_TITLES, rows, key=lambda row: row[1])
    return [row for row in best if row[1] >= _MIN_TITLE_SIMILARITY]


def _score_documents(archive: Archive, query: ParsedQuery) -> list[tuple[str, float]]:
    """Return the documents that no index of the archive has and whose titles have words of the query."""
    rows = []
    for path, row in document_titles(archive).items():
        stems = set(query.language.stems(normalize(f"{row.title} {row.description}")))
        score = sum(weight for stem, weight in query.weights.items() if stem in stems)
        if score:
            rows.append((path, _DOCUMENT_WEIGHT * score))
    return heapq.nlargest(_MAX_DOCUMENTS, rows, key=lambda row: row[1])


def _title_score(archive: Archive, path: str, query: ParsedQuery) -> float:
    """Return the score for query words in a title: the more of the title they cover, the higher."""
    stop_words = query.language.stop_words
    stems = query.language.stems(normalize(without_qualifier(name_of(archive, path))))
    title_stems = [stem for stem in stems if stem not in stop_words]
    shared = [stem for stem in title_stems if stem in query.weights]
    if not shared:
        return 0.0
    return _TITLE_SHARE_WEIGHT * sum(query.weights[stem] for stem in set(shared)) * len(shared) / len(title_stems)

"""Score articles by how often they have the words of a query and by their lengths, from the lists of an index (BM25).

Among many articles, hundreds have all words by chance, and the right one may lack one. Searches for all words and for
fewer of them find it, but only tell ranks. Of 300 questions of SQuAD among 100,000 articles, these scores have the
right one among the first twelve for .73, where ranks have it for .64.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from openzim_mcp.text import is_unspaced_script
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.search.index_blocks import NotReadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from openzim_mcp.worker.search.index_postings import PostingIndex, Postings
    from openzim_mcp.worker.search.query import Term

_MAX_POSTINGS = 1_000_000
"""How many entries of the lists are read, the rarest words first: some 40 ms. What is left out is most frequent."""
_MAX_ARTICLES = 4000
"""Once so many articles have one of the rarer words, those with a more frequent one only are left out."""
_MAX_LOOKED_UP = 30_000
"""So many articles are looked up in a list one by one; of more, the whole list is taken, which is faster."""
_MAX_SURE = 600
"""So few articles are compared with the lists of all words, though some are hopeless."""
_EXPECTED_SHARE = 0.5
"""The share of the weight of the more frequent words that an article is expected to gain, compared with the best."""
_MAX_MEASURED, _MAX_NAMED = 300, 48
"""Of how many articles the length is read, if lengths are kept, and of how many the path: each is elsewhere."""
_SATURATION, _LENGTH_SHARE = 0.5, 0.2
"""A word counts half if an article of average length has it so often; and how much the length counts in that."""
_MAX_COUNT = 64
"""A word counts no more beyond: the articles that have it most often are only the longest."""
_TOPIC_WEIGHT, _HALF_TOPIC_DENSITY, _MIN_TOPIC_COUNT = 0.8, 0.02, 2
"""How much a word counts that an article is about, and the share of its words that makes it half of that."""


class ScoredArticle(NamedTuple):
    """An article and the share, up to 1, that each word counts which it has.

    `topic` is the weight of the words that it is about: those that make up much of it.
    """

    path: str
    shares: dict[str, float]
    topic: float


class ListedArticles(NamedTuple):
    """The articles with the best scores, the best first, and how many have all words: None if that is not known.

    `matches` are as many of these as were asked for, ordered by how often they have the words.
    """

    best: list[ScoredArticle]
    matches: list[str]
    match_count: int | None


_last_lists: WeakKeyDictionary[PostingIndex, tuple[frozenset[tuple[str, float]], ListedArticles]] = WeakKeyDictionary()
"""The articles for the last words of each index: words that are no title are looked for as one, then as a question."""


def score_postings(index: PostingIndex, terms: Sequence[Term], max_matches: int = 0) -> ListedArticles | None:
    """Return the best articles for terms, and some of those that have all; None if the index cannot tell them.

    How many have all is only counted if some are asked for.
    """
    words = frozenset((term.word, term.weight) for term in terms)
    last_words, last = _last_lists.get(index, (None, None))
    if last and words == last_words and not max_matches:
        return last
    try:
        tally = _tally_words(index, terms, keeps_matches=bool(max_matches))
        listed = None if tally is None else _list_articles(index, terms, tally, max_matches)
    except (NotReadable, OSError):  # libzim is asked instead, and says what is wrong
        return None
    if listed and not timer.is_cut:
        _last_lists[index] = words, listed
    return listed


def _tally_words(index: PostingIndex, terms: Sequence[Term], *, keeps_matches: bool) -> _Tally | None:
    """Return how often articles have each word; None if a word is not in the index as it is stemmed here."""
    tally = _Tally(keeps_matches=keeps_matches)
    left = _MAX_POSTINGS
    weight_left = math.fsum(term.weight for term in terms)
    for term in sorted(terms, key=lambda term: (term.frequency, term.word)):
        stored = next((text for text in (term.stem, term.word) if index.count(text)), None)
        if stored is None or is_unspaced_script(term.word):
            return None
        left -= term.frequency
        if timer.is_late() or left < 0:
            break
        tally.add(term, index.postings(stored))
        weight_left -= term.weight
        tally.drop_hopeless(weight_left)
    return tally if tally.counts else None


class _Tally:
    """How often articles have the words that were read, and their scores as if they were of average length."""

    def __init__(self, *, keeps_matches: bool) -> None:
        self._keeps_matches = keeps_matches
        self._has_enough = False
        self.counts: dict[str, dict[int, int]] = {}
        self.scores: dict[int, float] = {}
        self.matches: Collection[int] = ()
        """The articles that have all words so far, if these are kept."""

    def add(self, term: Term, postings: Iterable[Postings]) -> None:
        """Add the articles of a word; once there are enough, only those that have another word."""
        found: dict[int, int] = {}
        if self._has_enough and len(self.scores) <= _MAX_LOOKED_UP:
            known = set(self.scores)
            for numbers, counts in postings:
                found.update((number, counts[bisect_left(numbers, number)]) for number in known.intersection(numbers))
        else:
            for numbers, counts in postings:
                found.update(zip(numbers, counts, strict=False))
            if self._has_enough:
                found = {article: found[article] for article in self.scores.keys() & found.keys()}
        if self._keeps_matches:
            self.matches = found.keys() & self.matches if self.counts else found.keys()
        self.counts[term.word] = found
        self._add_scores(found, _Gains(term.weight))

    def _add_scores(self, found: dict[int, int], gains: _Gains) -> None:
        if not self.scores:
            self.scores = {article: gains[count] for article, count in found.items()}
            return
        scores, score = self.scores, self.scores.get
        for article, count in found.items():
            scores[article] = score(article, 0.0) + gains[count]

    def drop_hopeless(self, weight_left: float) -> None:
        """Drop the articles that the other words, of so much weight, will hardly bring among the best."""
        self._has_enough = self._has_enough or len(self.scores) > _MAX_ARTICLES
        is_worth_it = len(self.scores) > max(_MAX_SURE, 2 * len(self.matches))
        if not self._has_enough or not is_worth_it or weight_left <= 0:
            return
        lowest = heapq.nlargest(_MAX_MEASURED, self.scores.values())[-1] - _EXPECTED_SHARE * weight_left
        if lowest > 0:
            matches = self.matches
            self.scores = {
                article: score for article, score in self.scores.items() if score >= lowest or article in matches
            }


class _Gains(dict[int, float]):
    """What a word counts, by how often an article of average length has it."""

    def __init__(self, weight: float) -> None:
        self._weight = weight

    def __missing__(self, count: int) -> float:
        most = min(count, _MAX_COUNT)
        self[count] = gain = self._weight * most / (most + _SATURATION)
        return gain


def _highest(scores: dict[int, float], articles: Collection[int], count: int) -> list[int]:
    """Return the articles with the highest scores, the first ones in the index first among equals."""
    if len(articles) > count:  # floats are compared in a fraction of the time that a key takes
        least = heapq.nlargest(count, map(scores.__getitem__, articles))[-1]
        articles = [article for article in articles if scores[article] >= least]
    return sorted(articles, key=lambda article: (-scores[article], article))[:count]


def _list_articles(index: PostingIndex, terms: Sequence[Term], tally: _Tally, max_matches: int) -> ListedArticles:
    paths = _Paths(index)
    best = _best_articles(index, {term.word: term.weight for term in terms}, tally, paths)
    if not max_matches or len(tally.counts) < len(terms):
        return ListedArticles(best, [], None)
    shown = _highest(tally.scores, tally.matches, max_matches)
    return ListedArticles(best, [paths[article] for article in shown], len(tally.matches))


class _Paths(dict[int, str]):
    """The paths of articles, each read once."""

    def __init__(self, index: PostingIndex) -> None:
        self._index = index

    def __missing__(self, article: int) -> str:
        self[article] = path = self._index.path(article)
        return path


def _best_articles(index: PostingIndex, weights: dict[str, float], tally: _Tally, paths: _Paths) -> list[ScoredArticle]:
    """Return the best articles by the lengths of those that are best without them."""
    count = _MAX_MEASURED if index.keeps_lengths else _MAX_NAMED
    measured = _highest(tally.scores, tally.scores, count)
    scored = []
    for article, length in index.lengths(sorted(measured)):
        half = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / index.average_length)
        here = {word: found[article] for word, found in tally.counts.items() if article in found}
        shares = {word: count / (count + half) for word, count in here.items()}
        topic = _TOPIC_WEIGHT * math.fsum(weights[word] * _topic_share(count, length) for word, count in here.items())
        score = topic + math.fsum(weights[word] * share for word, share in shares.items())
        scored.append((score, -article, shares, topic))
    best = heapq.nlargest(_MAX_NAMED, scored, key=lambda row: row[:2])
    return [ScoredArticle(paths[-number], shares, topic) for _, number, shares, topic in best]


def _topic_share(count: int, length: int) -> float:
    """Return the share, below 1, that an article is about a word, by how much of the article it makes up."""
    return count / (count + _HALF_TOPIC_DENSITY * length) if count >= _MIN_TOPIC_COUNT else 0.0

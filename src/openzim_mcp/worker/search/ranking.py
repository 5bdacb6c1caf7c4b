"""Rank the passages of candidate articles for a query, by features and one table of weights."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import is_unspaced_script, normalize, tokenize, word_at
from openzim_mcp.worker.search.titles import without_qualifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.worker.document import PageText, Passage
    from openzim_mcp.worker.search.query import ParsedQuery

_MAX_SCORED_PASSAGES = 80
"""How many passages are scored word by word, selected by a rough estimate."""
_MIN_PASSAGES_PER_ARTICLE = 4
_WINDOW_CHARS = 160
"""About a sentence; in scripts without spaces a quarter of that."""
_UNSPACED_WINDOW_CHARS = 40
_MIN_SHARED_PREFIX_CHARS, _SHARED_PREFIX_SHARE = 4, 0.6
"""The length of the prefix that related words share, at least, and as a share of the word."""


class Features(NamedTuple):
    """The features of a passage for a query, each from 0 to about 1."""

    local: float
    """BM25 of the passage among the passages of the candidates."""
    topic: float
    """The share of the query in the passage or in the title of its article."""
    window: float
    """The share of the query within the length of a sentence, or in the title."""
    phrases: float
    """The share of the query's pairs of adjacent words that are adjacent here."""
    shared_prefix: float
    """The share of the query that is not here, but whose prefix is: in related words or in compounds."""
    heading: float
    """The share of the query in the heading of the section."""
    fact: float
    """The share of the query in the name of a key fact, times the share of that name in the query."""
    title: float
    """The share of the query in the title of the article, times the squared share of that title in the query."""
    lead: float
    """Whether the passage is before the first heading."""
    article: float
    """The score of the article as a candidate."""


WEIGHTS = Features(
    local=0.25,
    topic=0.2,
    window=0.4,
    phrases=0.3,
    shared_prefix=0.4,
    heading=0.1,
    fact=0.6,
    title=0.4,
    lead=0.01,
    article=0.3,
)
"""The weight of each feature. `benchmarks/ranking_weights.py` tries others: the optimum is flat."""
NEXT_PASSAGE_WEIGHTS = (0.12, 0.08, 0.05)
"""How much the next best passages of an article add to the score of its best passage."""


class Page(NamedTuple):
    """A candidate article; `prior` is its score as a candidate, from 0 to 1."""

    path: str
    title: str
    document: PageText
    prior: float
    selected_passages: Sequence[Passage] | None = None
    """The passages to rank, if not all."""

    @property
    def ranked_passages(self) -> Sequence[Passage]:
        """The passages to rank."""
        return self.document.passages if self.selected_passages is None else self.selected_passages


class RankedPassage(NamedTuple):
    """A passage with its features and the weighted sum of these."""

    page: Page
    passage: Passage
    features: Features
    score: float


def best_passage_per_article(ranked: Sequence[RankedPassage]) -> list[tuple[RankedPassage, float]]:
    """Return the best passage of each article with the score of the article, the best article first."""
    by_path: dict[str, list[RankedPassage]] = {}
    for passage in ranked:
        by_path.setdefault(passage.page.path, []).append(passage)
    rows = [
        (best, best.score + sum(map(mul, NEXT_PASSAGE_WEIGHTS, (passage.score for passage in following))))
        for best, *following in by_path.values()
    ]
    return sorted(rows, key=lambda row: -row[1])


def rank_passages(pages: Sequence[Page], query: ParsedQuery) -> list[RankedPassage]:
    """Return the passages of the pages that match a query best, the best first."""
    rows = [_Row(page, passage) for page in pages for passage in page.ranked_passages]
    if not rows:
        return []
    scorer = _Scorer(query, rows)
    ranked = []
    for number in _select_passages(rows, scorer.estimates):
        page, passage = rows[number]
        features = scorer.features(rows[number])
        ranked.append(RankedPassage(page, passage, features, sum(map(mul, features, WEIGHTS))))
    return sorted(ranked, key=lambda row: -row.score)


def _select_passages(rows: list[_Row], estimates: list[float]) -> list[int]:
    """Return the passages to score: those with the best estimates, and some of each article."""
    selected = []
    counts: Counter[str] = Counter()
    for rank, number in enumerate(sorted(range(len(rows)), key=lambda number: -estimates[number])):
        path = rows[number].page.path
        if rank < _MAX_SCORED_PASSAGES or counts[path] < _MIN_PASSAGES_PER_ARTICLE:
            selected.append(number)
        counts[path] += 1
    return selected


class _Row(NamedTuple):
    page: Page
    passage: Passage


class _QueryStems(dict[str, str]):
    """The stem of each word if it is one of the query, else an empty string; computed once per word."""

    def __init__(self, query: ParsedQuery) -> None:
        self._weights = query.weights
        self._stem = query.language.stem

    def __missing__(self, word: str) -> str:
        stem = self._stem(word)
        self[word] = query_stem = stem if stem in self._weights else ""
        return query_stem

    def of(self, words: Iterable[str]) -> set[str]:
        """Return the stems of the query among words."""
        return {self[word] for word in words} - {""}


class _Scorer:
    """Scores passages for one query; the statistics of all candidates are computed first."""

    def __init__(self, query: ParsedQuery, rows: list[_Row]) -> None:
        self._stems = _QueryStems(query)
        self._query_stems = [term.stem for term in query.terms]
        self._weights = query.weights
        self._total_weight = query.total_weight
        self._title_stems: dict[str, set[str]] = {}
        self._title_weights: dict[str, float] = {}
        self._heading_stems: dict[tuple[str, int], set[str]] = {}
        self._stems_above_section: dict[tuple[str, int], set[str]] = {}
        self._heading_weights: dict[str, float] = {}
        self._query_words = set(words := tokenize(normalize(query.text)))
        self._phrases = _adjacent_pairs(words, self._stems)
        self._shared_prefixes = {term.stem: _shared_prefix(term.word) for term in query.terms}
        prefixes = [term.search_prefix for term in query.terms]
        self._prefixes = set(filter(None, prefixes))
        is_unspaced = all(map(is_unspaced_script, self._prefixes))
        self._window_chars = _UNSPACED_WINDOW_CHARS if is_unspaced else _WINDOW_CHARS
        occurrence = [[prefix in row.passage.normalized for prefix in prefixes] for row in rows]
        counts = [sum(column) for column in zip(*occurrence, strict=True)]
        self._local_weights = {
            term.stem: math.log(1 + (len(rows) - count + 0.5) / (count + 0.5))
            for term, count in zip(query.terms, counts, strict=True)
        }
        self._local_total = sum(self._local_weights.values()) or 1.0
        self._average_chars = sum(len(row.passage.normalized) for row in rows) / len(rows) or 1.0
        self.estimates = [self._estimate(row, occurs) for row, occurs in zip(rows, occurrence, strict=True)]

    def _estimate(self, row: _Row, occurs: list[bool]) -> float:
        """Estimate the score of a passage by the prefixes that occur in it."""
        title_stems = self._stems_above(row.page, row.passage.section)
        in_passage = in_topic = 0.0
        for is_here, stem in zip(occurs, self._query_stems, strict=True):
            in_passage += self._weights[stem] if is_here else 0.0
            in_topic += self._weights[stem] if is_here or stem in title_stems else 0.0
        return (0.6 * in_passage + 0.8 * in_topic) / self._total_weight + WEIGHTS.article * row.page.prior

    def _stems_above(self, page: Page, section: int) -> set[str]:
        """Return the query's stems in the title and in the headings above a passage."""
        key = (page.path, section)
        if key not in self._stems_above_section:
            self._stems_above_section[key] = self._stems_of_title(page) | self._stems_of_headings(page, section)
        return self._stems_above_section[key]

    def _stems_of_headings(self, page: Page, section: int) -> set[str]:
        """Return the query's stems in the heading of a section and those above it."""
        key = (page.path, section)
        if key not in self._heading_stems:
            row = page.document.sections[section]
            above = self._stems_of_headings(page, row.parent) if row.parent is not None else set()
            self._heading_stems[key] = self._stems.of(tokenize(normalize(row.title))) | above
        return self._heading_stems[key]

    def _stems_of_title(self, page: Page) -> set[str]:
        if page.path not in self._title_stems:
            words = tokenize(normalize(without_qualifier(page.title)))
            stems = self._stems.of(words)
            in_query = sum(word in self._query_words or bool(self._stems[word]) for word in words) / (len(words) or 1)
            self._title_stems[page.path] = stems
            self._title_weights[page.path] = sum(map(self._weights.__getitem__, stems)) * in_query**2
        return self._title_stems[page.path]

    def _fact_weight(self, name: str) -> float:
        words = tokenize(normalize(name))
        stems = self._stems.of(words)
        return sum(map(self._weights.__getitem__, stems)) * len(stems) / (len(words) or 1)

    def _heading_weight(self, title: str) -> float:
        if title not in self._heading_weights:
            stems = self._stems.of(tokenize(normalize(title)))
            self._heading_weights[title] = sum(self._weights[stem] for stem in stems)
        return self._heading_weights[title]

    def features(self, row: _Row) -> Features:
        """Return the features of a passage."""
        text = row.passage.normalized
        occurrences = self._find_occurrences(text)
        counts = Counter(stem for _, stem in occurrences)
        title_stems = self._stems_of_title(row.page)
        topic_stems = counts.keys() | title_stems
        total = self._total_weight
        return Features(
            local=self._local_score(counts, len(text) / self._average_chars) / self._local_total,
            topic=sum(self._weights[stem] for stem in topic_stems) / total,
            window=self._window_weight(occurrences, title_stems) / total,
            phrases=sum(phrase in text for phrase in self._phrases) / (len(self._phrases) or 1),
            shared_prefix=self._shared_prefix_weight(text, topic_stems) / total,
            heading=self._heading_weight(row.page.document.sections[row.passage.section].title) / total,
            fact=max((self._fact_weight(name) for name in row.passage.fact_names), default=0.0) / total,
            title=self._title_weights[row.page.path] / total,
            lead=row.passage.section == 0,
            article=row.page.prior,
        )

    def _local_score(self, counts: Counter[str], relative_length: float) -> float:
        return sum(
            self._local_weights[stem] * count * 2.2 / (count + 0.6 + 0.6 * relative_length)
            for stem, count in counts.items()
        )

    def _find_occurrences(self, text: str) -> list[tuple[int, str]]:
        """Return the positions and stems of the query's words; only words with one of the prefixes are stemmed."""
        occurrences: dict[int, str] = {}
        for prefix in self._prefixes:
            at = text.find(prefix)
            while at >= 0:
                if is_unspaced_script(prefix):
                    occurrences[at] = prefix
                    at = text.find(prefix, at + 1)
                    continue
                start, stop, word = word_at(text, at)
                stem = self._stems[word]
                if stem:
                    occurrences[start] = stem
                at = text.find(prefix, max(stop, at + 1))
        return sorted(occurrences.items())

    def _shared_prefix_weight(self, text: str, topic_stems: set[str]) -> float:
        """Return the weight of the words that are not here themselves, but related ones."""
        return sum(
            self._weights[stem]
            for stem, prefix in self._shared_prefixes.items()
            if stem not in topic_stems and prefix and prefix in text
        )

    def _window_weight(self, occurrences: list[tuple[int, str]], title_stems: set[str]) -> float:
        """Return the weight of the heaviest window; the words of the title count in each."""
        inside = Counter(title_stems)
        best = weight = sum(self._weights[stem] for stem in title_stems)
        first = 0
        for position, stem in occurrences:
            weight += 0.0 if inside[stem] else self._weights[stem]
            inside[stem] += 1
            while position - occurrences[first][0] > self._window_chars:
                passed = occurrences[first][1]
                inside[passed] -= 1
                weight -= 0.0 if inside[passed] else self._weights[passed]
                first += 1
            best = max(best, weight)
        return best


def _adjacent_pairs(words: list[str], stems: _QueryStems) -> list[str]:
    """Return the pairs of adjacent words of a query of which at least one is a content word."""
    pairs = [(a, b) for a, b in itertools.pairwise(words) if stems[a] or stems[b]]
    return [a + b[-1] if is_unspaced_script(a) and is_unspaced_script(b) else f"{a} {b}" for a, b in pairs]


def _shared_prefix(word: str) -> str:
    """Return the prefix that related words share, or an empty string if the word is too short to tell."""
    length = max(_MIN_SHARED_PREFIX_CHARS, math.ceil(_SHARED_PREFIX_SHARE * len(word)))
    return "" if is_unspaced_script(word) or len(word) < length else word[:length]

"""Which passage of which article answers a query: one pass over the candidates, one table of weights."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import is_unspaced_script, normalize, tokenize, word_at
from openzim_mcp.worker.search.titles import bare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.document import Document, Passage
    from openzim_mcp.worker.search.query import Wanted

_READ_CLOSELY = 80
"""How many passages are scored word by word; the others are told apart by the words they can hold."""
_OF_EACH = 4
_WINDOW = 160
"""Characters of a sentence; in dense scripts a quarter of that."""
_AKIN, _AKIN_SHARE = 4, 0.6
"""How long the beginning of a word is that other words of its family have, and which part of the word that is."""


class Features(NamedTuple):
    """What a passage has for a query, each from 0 to about 1."""

    local: float
    """Words of the query, by their rarity among the candidates, often and in a short passage (BM25)."""
    topic: float
    """The share of the query that the passage has, or the title of its article."""
    window: float
    """The share of the query within a sentence's length, or in the title."""
    phrases: float
    """Pairs of words that stand side by side in the query and here."""
    akin: float
    """The share of the query that is here only in words that begin alike, or that have it inside."""
    heading: float
    """The share of the query in the heading above."""
    fact: float
    """The share of the query that names a key fact in it, if that is all the name has."""
    title: float
    """The share of the query in the title of the article, as far as that is all the title has."""
    lead: float
    """Whether it stands before the first heading."""
    article: float
    """What the searches make of the article."""


WEIGHTS = Features(
    local=0.25, topic=0.2, window=0.4, phrases=0.3, akin=0.4, heading=0.1, fact=0.6, title=0.4, lead=0.01, article=0.3
)
"""What each feature counts for. `benchmarks/ranking_weights.py` tries others: the optimum is flat."""
NEXT = (0.12, 0.08, 0.05)
"""What the next best passages of an article add to the best."""


class Page(NamedTuple):
    """A candidate: its article, and what the searches make of it, from 0 to 1."""

    path: str
    title: str
    document: Document
    prior: float


class Ranked(NamedTuple):
    """A passage with its features and what they come to."""

    page: Page
    passage: Passage
    features: Features
    score: float


def best_of_each(ranked: Sequence[Ranked]) -> list[tuple[Ranked, float]]:
    """Return the best passage of each article with the score of the article, the best article first."""
    of: dict[str, list[Ranked]] = {}
    for found in ranked:
        of.setdefault(found.page.path, []).append(found)
    rows = [(found[0], found[0].score + sum(map(mul, NEXT, (x.score for x in found[1:])))) for found in of.values()]
    return sorted(rows, key=lambda row: -row[1])


def rank(pages: Sequence[Page], wanted: Wanted) -> list[Ranked]:
    """Return the most promising passages of the pages, the best first."""
    rows = [_Row(page, passage) for page in pages for passage in page.document.passages]
    if not rows:
        return []
    scorer = _Scorer(wanted, rows)
    ranked = []
    for number in _promising(rows, scorer.promise):
        page, passage = rows[number]
        features = scorer.features(rows[number])
        ranked.append(Ranked(page, passage, features, sum(map(mul, features, WEIGHTS))))
    return sorted(ranked, key=lambda found: -found.score)


def _promising(rows: list[_Row], promise: list[float]) -> list[int]:
    """Return the passages to read closely: the most promising of all, and at least some of each article."""
    chosen = []
    of: Counter[str] = Counter()
    for place, number in enumerate(sorted(range(len(rows)), key=lambda number: -promise[number])):
        path = rows[number].page.path
        if place < _READ_CLOSELY or of[path] < _OF_EACH:
            chosen.append(number)
        of[path] += 1
    return chosen


class _Row(NamedTuple):
    page: Page
    passage: Passage


class _Forms(dict[str, str]):
    """The stem of each word, if the query asks for it; else nothing."""

    def __init__(self, wanted: Wanted) -> None:
        self._asked = wanted.weights
        self._stem = wanted.language.stem

    def __missing__(self, word: str) -> str:
        stem = self._stem(word)
        self[word] = found = stem if stem in self._asked else ""
        return found


class _Scorer:
    """Scores passages for one query; what the candidates have in common is counted first."""

    def __init__(self, wanted: Wanted, rows: list[_Row]) -> None:
        self._forms = _Forms(wanted)
        self._order = [term.stem for term in wanted.terms]
        self._weights = wanted.weights
        self._total = wanted.total
        self._titles: dict[str, set[str]] = {}
        self._title_shares: dict[str, float] = {}
        self._headings: dict[str, float] = {}
        self._words = set(words := tokenize(normalize(wanted.text)))
        self._phrases = _phrases(words, self._forms)
        self._akin = {term.stem: _beginning(term.word) for term in wanted.terms}
        probes = [term.probe for term in wanted.terms]
        self._probes = set(filter(None, probes))
        self._reach = 4 if all(map(is_unspaced_script, self._probes)) else 1
        held = [[probe in row.passage.normalized for probe in probes] for row in rows]
        counts = [sum(column) for column in zip(*held, strict=True)]
        self._local = {
            term.stem: math.log(1 + (len(rows) - count + 0.5) / (count + 0.5))
            for term, count in zip(wanted.terms, counts, strict=True)
        }
        self._local_total = sum(self._local.values()) or 1.0
        self._average = sum(len(row.passage.normalized) for row in rows) / len(rows) or 1.0
        self.promise = [self._promise(row, has) for row, has in zip(rows, held, strict=True)]

    def _promise(self, row: _Row, held: list[bool]) -> float:
        """Return about what a passage can reach, from the words that it may hold."""
        title = self._title(row.page)
        here = topic = 0.0
        for has, stem in zip(held, self._order, strict=True):
            here += self._weights[stem] if has else 0.0
            topic += self._weights[stem] if has or stem in title else 0.0
        return (0.6 * here + 0.8 * topic) / self._total + WEIGHTS.article * row.page.prior

    def _title(self, page: Page) -> set[str]:
        if page.path not in self._titles:
            words = tokenize(normalize(bare(page.title)))
            stems = {self._forms[word] for word in words} - {""}
            known = sum(word in self._words or bool(self._forms[word]) for word in words) / (len(words) or 1)
            self._titles[page.path] = stems
            self._title_shares[page.path] = sum(map(self._weights.__getitem__, stems)) * known**2
        return self._titles[page.path]

    def _fact(self, name: str) -> float:
        words = tokenize(normalize(name))
        stems = {self._forms[word] for word in words} - {""}
        return sum(map(self._weights.__getitem__, stems)) * len(stems) / (len(words) or 1)

    def _heading(self, title: str) -> float:
        if title not in self._headings:
            stems = {self._forms[word] for word in tokenize(normalize(title))} - {""}
            self._headings[title] = sum(self._weights[stem] for stem in stems)
        return self._headings[title]

    def features(self, row: _Row) -> Features:
        """Return what a passage has, word by word."""
        places = self._places(row.passage.normalized)
        counts = Counter(stem for _, stem in places)
        relative = len(row.passage.normalized) / self._average
        local = sum(self._local[stem] * count * 2.2 / (count + 0.6 + 0.6 * relative) for stem, count in counts.items())
        title = self._title(row.page)
        topic = counts.keys() | title
        return Features(
            local=local / self._local_total,
            topic=sum(self._weights[stem] for stem in topic) / self._total,
            window=self._window(places, title) / self._total,
            phrases=sum(phrase in row.passage.normalized for phrase in self._phrases) / (len(self._phrases) or 1),
            akin=self._related(row.passage.normalized, topic) / self._total,
            heading=self._heading(row.page.document.sections[row.passage.section].title) / self._total,
            fact=max((self._fact(name) for name in row.passage.fact_names), default=0.0) / self._total,
            title=self._title_shares[row.page.path] / self._total,
            lead=row.passage.section == 0,
            article=row.page.prior,
        )

    def _places(self, folded: str) -> list[tuple[int, str]]:
        """Return where the words of the query stand; only what a probe finds is looked at."""
        found: dict[int, str] = {}
        for probe in self._probes:
            at = folded.find(probe)
            while at >= 0:
                if is_unspaced_script(probe):
                    found[at] = probe
                    at = folded.find(probe, at + 1)
                    continue
                start, stop, word = word_at(folded, at)
                stem = self._forms[word]
                if stem:
                    found[start] = stem
                at = folded.find(probe, max(stop, at + 1))
        return sorted(found.items())

    def _related(self, folded: str, held: set[str]) -> float:
        """Return what the words are worth that are not here themselves, but others like them."""
        return sum(
            self._weights[stem] for stem, start in self._akin.items() if stem not in held and start and start in folded
        )

    def _window(self, places: list[tuple[int, str]], title: set[str]) -> float:
        inside = Counter(title)
        best = now = sum(self._weights[stem] for stem in title)
        low = 0
        for place, stem in places:
            now += 0.0 if inside[stem] else self._weights[stem]
            inside[stem] += 1
            while place - places[low][0] > _WINDOW // self._reach:
                gone = places[low][1]
                inside[gone] -= 1
                now -= 0.0 if inside[gone] else self._weights[gone]
                low += 1
            best = max(best, now)
        return best


def _phrases(words: list[str], forms: _Forms) -> list[str]:
    """Return the pairs of neighbours in a query of which one at least says what it is about."""
    pairs = [(a, b) for a, b in itertools.pairwise(words) if forms[a] or forms[b]]
    return [a + b[-1] if is_unspaced_script(a) and is_unspaced_script(b) else f"{a} {b}" for a, b in pairs]


def _beginning(word: str) -> str:
    """Return what words of one family have in common, if that is long enough to tell."""
    length = max(_AKIN, math.ceil(_AKIN_SHARE * len(word)))
    return "" if is_unspaced_script(word) or len(word) < length else word[:length]

"""Which articles might answer a query: many small searches over libzim's strict AND, and look-ups of titles."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp.text import normalize
from openzim_mcp.worker.search import titles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.search.query import Term, Wanted
    from openzim_mcp.worker.zim import Archive

_TERMS = 8
"""The rarest words of a query, of which searches are made."""
_PAIR = 2
_PAIRED = 4
_SINGLE = 4
_DEEP, _SHALLOW = 100, 40
_POSTINGS = 1_000_000
"""How many postings the searches of a query may read: about a tenth of a second."""
_ENOUGH = 10
"""So many articles that have all the words make looser searches needless."""
_COUNTED = 10_000
_TITLED = 120

_TITLE_SHARE, _TITLE_FOUND = 2.0, 4.0
WHOLE = 3.0
"""What an article found first by all words has, times the weight of the query."""


@dataclass(frozen=True)
class Candidates:
    """Articles that may be meant, the likeliest first, and all that have every word, as the index ranks them."""

    scored: list[tuple[str, float]]
    strict: list[str]

    @property
    def may_be_more(self) -> bool:
        """Whether counting was given up."""
        return len(self.strict) >= _COUNTED


class _Searches:
    """The searches made for one query: which words each article was found by, and how far up."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._done: set[frozenset[str]] = set()
        self._postings = 0
        self.found: defaultdict[str, dict[str, float]] = defaultdict(dict)

    def run(self, terms: Sequence[Term], limit: int) -> None:
        """Search for articles that have all the terms, unless that was done or would be too much work."""
        words = frozenset(term.word for term in terms)
        rarest = min((term.frequency for term in terms), default=0)
        if words and words not in self._done and self._postings + rarest <= _POSTINGS:
            self._done.add(words)
            self._postings += rarest
            self.add(terms, self._archive.search_paths(" ".join(term.word for term in terms), limit), limit)

    def add(self, terms: Sequence[Term], paths: Sequence[str], limit: int) -> None:
        """Note where each article stands in the results for some terms."""
        for place, path in enumerate(paths[:limit]):
            height = 1 - place / limit
            held = self.found[path]
            for term in terms:
                held[term.word] = max(held.get(term.word, 0.0), height)


def find(archive: Archive, wanted: Wanted) -> Candidates:
    """Return the articles that have all of the words or, if these are few, some of them."""
    known = wanted.known
    strict = archive.search_paths(" ".join(term.word for term in known), _COUNTED) if known else []
    searches = _Searches(archive)
    searches.add(known, strict, _DEEP if len(known) == 1 else _SHALLOW)
    if len(strict) < _ENOUGH:
        _relax(searches, known[:_TERMS])
    scores = _score(searches.found, wanted)
    for path, run in titles.runs(archive, wanted.text, wanted.language.stop_words).items():
        scores[path] = scores.get(path, 0.0) + _TITLE_FOUND * len(run) + _worth(run, wanted)
    best = sorted(scores, key=lambda path: (-scores[path], path))
    for path in best[:_TITLED]:
        scores[path] += _title_share(archive, path, wanted)
    return Candidates(sorted(scores.items(), key=lambda row: (-row[1], row[0])), strict)


def _relax(searches: _Searches, terms: Sequence[Term]) -> None:
    """Search for all words but one, for pairs of the rarest and for the rarest alone."""
    if len(terms) > _PAIR:
        for left_out in range(len(terms)):
            searches.run([*terms[:left_out], *terms[left_out + 1 :]], _SHALLOW)
    for pair in itertools.combinations(terms[:_PAIRED], _PAIR):
        searches.run(pair, _SHALLOW)
    for term in terms[:_SINGLE]:
        searches.run([term], _DEEP)


def _score(found: dict[str, dict[str, float]], wanted: Wanted) -> dict[str, float]:
    weights = {term.word: term.weight for term in wanted.terms}
    return {
        path: sum(weights[word] * (0.5 + 1.5 * height) for word, height in words.items())
        for path, words in found.items()
    }


def _worth(words: Sequence[str], wanted: Wanted) -> float:
    stems = {stem for word in words for stem in wanted.language.stems(normalize(word))}
    return sum(wanted.weights.get(stem, 0.0) for stem in stems)


def _title_share(archive: Archive, path: str, wanted: Wanted) -> float:
    """Return what the words of a title add: the more of the title the query covers, the more."""
    stop = wanted.language.stop_words
    title = wanted.language.stems(normalize(titles.bare(archive.title_of(path))))
    title = [stem for stem in title if stem not in stop]
    shared = [stem for stem in title if stem in wanted.weights]
    if not shared:
        return 0.0
    return _TITLE_SHARE * sum(wanted.weights[stem] for stem in set(shared)) * len(shared) / len(title)

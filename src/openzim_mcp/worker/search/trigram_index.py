"""The index of passages of an archive whose own index cannot find words, by groups of three characters (trigrams).

These are archives without a full-text index, and those in a script that libzim does not segment. `index_file.py`
describes the file.

The FTS5 tables are contentless and have `detail=none`: they say which passages contain a trigram, not where or how
often. That takes 0.8 bytes per byte of text instead of 3, and finds as much: of a short passage, how often it repeats
three characters says little. So BM25 is computed here, with every count being one.
"""

from __future__ import annotations

import itertools
from array import array
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from openzim_mcp.text import is_unspaced_script, normalize
from openzim_mcp.worker.search.index_file import IndexFile, quote_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.worker.search.query import Term

_TRIGRAM = 3
_MAX_TRIGRAMS = 20
"""How many trigrams of a long word are searched for."""
_MAX_EXPANSIONS = 50
"""How many trigrams stand for one or two characters that they start with."""
_MAX_POSTINGS = 300_000
"""How many postings a query may read, the rarest terms first: about a tenth of a second."""
_MAX_KEPT_EXPRESSIONS = 1000
_LENGTH_WEIGHT, _SATURATION = 0.75, 1.2
"""The usual parameters of BM25, b and k1."""
_TITLE_WEIGHT = 1.0
"""What a trigram in the title of a page adds to all of its passages, as a share of its weight."""


def tokenize_trigrams(text: str) -> str:
    """Return a text as it is indexed: with spaces around it, so that words at its ends are like others."""
    return f" {normalize(text)}  "


class TrigramIndex(IndexFile):
    """An index by trigrams."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._matches: dict[str, str] = {}

    @cached_property
    def passages(self) -> int:
        """How many passages there are."""
        return len(self._pages)

    @cached_property
    def _pages(self) -> array[int]:
        """The page of each passage."""
        return array("L", (page for (page,) in self._database.execute("SELECT page FROM passages ORDER BY id")))

    @cached_property
    def _length_factors(self) -> array[float]:
        """The factor of each passage's score: the longer it is, the less a match tells."""
        (average,) = self._database.execute("SELECT avg(chars) FROM passages").fetchone()
        rows = self._database.execute("SELECT chars FROM passages ORDER BY id")
        return array("f", (_length_factor(chars / average) for (chars,) in rows))

    def frequency(self, word: str) -> int:
        """Return how many passages contain a word; from three characters on, also as a part of longer words."""
        match = self._match_expression(word)
        if not match:
            return 0
        query = "SELECT count(*) FROM passage_text WHERE passage_text MATCH ?"
        return int(self._database.execute(query, (match,)).fetchone()[0])

    def score_pages(self, terms: Iterable[Term], limit: int) -> dict[str, float]:
        """Return the paths and scores of the pages with the best passages, the best first.

        A score is the weight of the terms in the best passage and in the title: BM25, every term counted once.
        """
        known = sorted((term for term in terms if term.frequency), key=lambda term: term.frequency)
        in_titles: defaultdict[int, float] = defaultdict(float)
        in_passages: defaultdict[int, float] = defaultdict(float)
        postings = 0
        for term in known:
            postings += term.frequency
            if postings > _MAX_POSTINGS and in_passages:
                break
            match = self._match_expression(term.search_prefix)
            for passage in self._rows("passage_text", match):
                in_passages[passage] += term.weight
            for page in self._rows("page_names", match):
                in_titles[page] += _TITLE_WEIGHT * term.weight
        return self._best_pages(in_passages, in_titles, limit)

    def _best_pages(self, in_passages: dict[int, float], in_titles: dict[int, float], limit: int) -> dict[str, float]:
        scores = dict(in_titles)
        for passage, weight in in_passages.items():
            if 0 < passage <= self.passages:
                page = self._pages[passage - 1]
                score = weight * self._length_factors[passage - 1] + in_titles.get(page, 0.0)
                scores[page] = max(scores.get(page, 0.0), score)
        best = sorted(scores, key=lambda page: (-scores[page], page))[:limit]
        return {path: scores[page] for page in best for path in self._paths(page)}

    def _paths(self, page: int) -> list[str]:
        rows = self._database.execute("SELECT path FROM pages WHERE id = ?", (page,))
        return [path for (path,) in rows if isinstance(path, str)]

    def _rows(self, table: Literal["passage_text", "page_names"], match: str) -> Iterator[int]:
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608  the name is one of two
        return (row for (row,) in self._database.execute(query, (match,)))

    def _match_expression(self, word: str) -> str:
        """Return the FTS5 expression for texts that contain a word: all of its trigrams; empty if none can."""
        match = self._matches.get(word)
        if match is None:
            if len(self._matches) >= _MAX_KEPT_EXPRESSIONS:
                self._matches.clear()
            match = self._matches[word] = self._make_expression(word)
        return match

    def _make_expression(self, word: str) -> str:
        text = normalize(word)
        if len(text) < _TRIGRAM and not is_unspaced_script(text):
            text = f" {text} "[: max(_TRIGRAM, len(text) + 1)]
        if len(text) < _TRIGRAM:
            return " OR ".join(map(quote_token, self._trigrams_from(text)))
        trigrams = dict.fromkeys(text[i : i + _TRIGRAM] for i in range(len(text) - _TRIGRAM + 1))
        return " AND ".join(map(quote_token, itertools.islice(trigrams, _MAX_TRIGRAMS)))

    def _trigrams_from(self, start: str) -> list[str]:
        """Return the most frequent trigrams that start with one or two characters."""
        query = "SELECT term FROM vocabulary WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?"
        rows = self._database.execute(query, (start, f"{start}\U0010ffff", _MAX_EXPANSIONS))
        return [term for (term,) in rows if start]


def _length_factor(relative_length: float) -> float:
    return (1 + _SATURATION) / (1 + _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * relative_length))

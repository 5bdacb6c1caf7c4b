"""The index of passages of a small archive by its words; `index_file.py` describes the file.

libzim finds only articles that contain all words of a query. Here a passage may lack some: BM25 ranks passages by the
words that they have, in their text, their headings and their title. A page is found by its other names too.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import normalize
from openzim_mcp.worker.search.index_file import DAMAGED, IndexFile, quote_token
from openzim_mcp.worker.search.language import detect_language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from openzim_mcp.worker.search.query import Term

_TITLE_WEIGHT, _HEADING_WEIGHT, _TEXT_WEIGHT = 2.0, 1.5, 1.0
_MAX_PASSAGES = 150
_MAX_NAMED_PAGES = 20
_NAME_WEIGHT = 1.0
_MIN_FREQUENT_PASSAGES, _MIN_FREQUENT_SHARE = 1000, 0.2
"""A word that more passages have is not searched for if there are rarer ones: it costs much and says little."""


class StemTokenizer:
    """Turns a text into its stems; the language is that of the text's script, among those of the archive."""

    def __init__(self, languages: str) -> None:
        self._languages = languages

    def __call__(self, text: str) -> str:
        """Return the stems, with spaces between them."""
        return " ".join(detect_language(self._languages, text).stems(normalize(text)))


class WordCounter:
    """Counts the passages that contain a word."""

    def __init__(self, index: WordIndex, languages: str) -> None:
        self._index = weakref.proxy(index)
        self._tokenize = str if index.tokens == "english" else StemTokenizer(languages)
        self._counts: dict[str, int] = {}

    def __call__(self, word: str) -> int:
        """Return in how many passages a word stands; 0 if the index turns out to be damaged."""
        if word not in self._counts:
            with contextlib.suppress(ReferenceError, *DAMAGED):
                self._counts[word] = self._index.count_token(self._tokenize(word))
        return self._counts.get(word, 0)


class PageHit(NamedTuple):
    """A page that fits some words; a score of 1 is about a passage with all of them.

    `passages` are the ids of those that were found, the best first; none if only a name of the page fits.
    """

    path: str
    score: float
    passages: list[int]


class WordIndex(IndexFile):
    """An index by words."""

    @cached_property
    def passages(self) -> int:
        """How many passages there are."""
        return int(self._database.execute("SELECT count(*) FROM passages").fetchone()[0])

    def frequency(self, term: Term) -> int:
        """Return how many passages contain a term, in their text, headings or title."""
        return self._count(self._token(term))

    def count_token(self, text: str) -> int:
        """Return how many passages contain what a word is indexed as."""
        return self._count(quote_token(text))

    def _count(self, match: str) -> int:
        query = "SELECT count(*) FROM passage_text WHERE passage_text MATCH ?"
        return int(self._database.execute(query, (match,)).fetchone()[0])

    def _token(self, term: Term) -> str:
        """Return the FTS5 string for a term."""
        return quote_token(term.word if self.tokens == "english" else term.stem)

    def find_pages(self, terms: Iterable[Term], limit: int) -> list[PageHit]:
        """Return the pages whose passages or names fit some terms best, the best first."""
        frequencies = {self._token(term): self.frequency(term) for term in terms}
        searched = self._searched_tokens(frequencies)
        if not searched:
            return []
        full_score = sum(map(self._inverse_frequency, frequencies.values())) or 1.0
        match = " OR ".join(searched)
        scores: dict[int, float] = {}
        passages: defaultdict[int, list[int]] = defaultdict(list)
        for page, passage, score in self._matching_passages(match):
            scores.setdefault(page, score / full_score)
            passages[page].append(passage)
        for page, score in self._matching_names(match):
            scores[page] = scores.get(page, 0.0) + _NAME_WEIGHT * score / full_score
        best = sorted(scores, key=lambda page: (-scores[page], page))[:limit]
        paths = self._paths(best)
        return [PageHit(paths[page], scores[page], passages[page]) for page in best if page in paths]

    def terms_in(self, passage: int, terms: Iterable[Term]) -> set[Term]:
        """Return which of some terms a passage contains, in its text, headings or title."""
        return {term for term in terms if self._contains(passage, self._token(term))}

    def terms_in_title(self, passage: int, terms: Iterable[Term]) -> set[Term]:
        """Return which of some terms stand in the title of a passage's page."""
        return {term for term in terms if self._contains(passage, f"title : {self._token(term)}")}

    def _contains(self, passage: int, match: str) -> bool:
        query = "SELECT 1 FROM passage_text WHERE passage_text MATCH ? AND rowid = ?"
        return self._database.execute(query, (match, passage)).fetchone() is not None

    def _searched_tokens(self, frequencies: dict[str, int]) -> list[str]:
        known = [token for token, frequency in frequencies.items() if frequency]
        limit = max(_MIN_FREQUENT_PASSAGES, _MIN_FREQUENT_SHARE * self.passages)
        rare = [token for token in known if frequencies[token] <= limit]
        return rare or known

    def _inverse_frequency(self, frequency: int) -> float:
        return max(0.0, math.log((self.passages - frequency + 0.5) / (frequency + 0.5)))

    def _matching_passages(self, match: str) -> list[tuple[int, int, float]]:
        """Return the best passages, each with its page before it and its score, the best first."""
        query = (
            "SELECT passages.page, passages.id, -best.score FROM (SELECT rowid, bm25(passage_text, ?, ?, ?) AS score"
            " FROM passage_text WHERE passage_text MATCH ? ORDER BY score LIMIT ?) AS best"
            " JOIN passages ON passages.id = best.rowid ORDER BY best.score"
        )
        weights = (_TITLE_WEIGHT, _HEADING_WEIGHT, _TEXT_WEIGHT)
        return self._database.execute(query, (*weights, match, _MAX_PASSAGES)).fetchall()

    def _matching_names(self, match: str) -> list[tuple[int, float]]:
        query = (
            "SELECT rowid, -bm25(page_names) AS score FROM page_names WHERE page_names MATCH ?"
            " ORDER BY score DESC LIMIT ?"
        )
        return self._database.execute(query, (match, _MAX_NAMED_PAGES)).fetchall()

    def _paths(self, pages: Collection[int]) -> dict[int, str]:
        marks = ", ".join("?" * len(pages))
        return dict(self._database.execute(f"SELECT id, path FROM pages WHERE id IN ({marks})", tuple(pages)))  # noqa: S608

"""A query as one archive understands it: its content words and their stems, their weights, corrected spelling."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.calls.search import Question, WordCounts
from openzim_mcp.text import is_unspaced_script, normalize, word_spans
from openzim_mcp.worker.search.archive_size import large_index
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.language import Word, language_by_code, query_language
from openzim_mcp.worker.search.spelling import correct_word, is_other_form
from openzim_mcp.worker.search.word_vectors import says_little

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from openzim_mcp.worker.search.language import Language
    from openzim_mcp.worker.zim import Archive

NO_COUNTS = WordCounts()
_MAX_CORRECTIONS = 4
_CONTEXT_WEIGHT = 0.5
"""The factor for the weight of words that were said around a question."""
_TYPE_WORD_WEIGHT = 0.35
"""The factor for words that ask for a kind of answer: what is old has an age, and what is long a length."""


class Term(NamedTuple):
    """A word of a query, the number of articles that contain it, and its weight: the rarer, the heavier."""

    word: str
    stem: str
    frequency: int
    weight: float

    @property
    def search_prefix(self) -> str:
        """A string that every form of the word contains: the prefix that it shares with its stem, or the stem."""
        length = 0
        while length < min(len(self.word), len(self.stem)) and self.word[length] == self.stem[length]:
            length += 1
        return self.word[:length] if length > 1 or self.stem not in self.word else self.stem


@dataclass(frozen=True)
class ParsedQuery:
    """A query in terms; `text` is the query with the corrections applied."""

    text: str
    language: Language
    terms: tuple[Term, ...]
    corrected: dict[str, str]
    question: Question

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each stem."""
        return {term.stem: term.weight for term in self.terms}

    @cached_property
    def word_weights(self) -> WordWeights:
        """The weight of each word of a text, as it is written."""
        return WordWeights(self)

    @cached_property
    def indexed_terms(self) -> list[Term]:
        """The terms that occur in the archive, the rarest first."""
        return sorted((term for term in self.terms if term.frequency), key=lambda term: -term.weight)

    @property
    def unknown_words(self) -> list[str]:
        """The words that no article contains."""
        return [term.word for term in self.terms if not term.frequency]

    @cached_property
    def total_weight(self) -> float:
        """The weight of all terms together."""
        return sum(term.weight for term in self.terms) or 1.0


def weight_terms(words: Sequence[Word], frequency: Callable[[Word], int], articles: int) -> tuple[Term, ...]:
    """Return words with their weights (inverse document frequency, as in BM25)."""
    terms = []
    for word in words:
        count = frequency(word)
        terms.append(Term(word.text, word.stem, count, inverse_frequency(count, articles)))
    return tuple(terms)


def count_articles(archive: Archive, word: Word) -> int:
    """Return how many articles contain a word; in a large archive the list is read that is needed next anyway."""
    index = None if archive.other_texts or is_unspaced_script(word.text) else large_index(archive)
    if index:
        with contextlib.suppress(NotReadable, OSError):
            return index.count(word.stem) or index.count(word.text) or archive.frequency(word.text)
    return archive.frequency(word.text)


def parse_query(archive: Archive, query: str | Question, counts: WordCounts | None = NO_COUNTS) -> ParsedQuery:
    """Parse a query, and correct the words that the archive does not contain.

    `counts` are of the whole library: words that it has are not corrected, and it weighs them; None: correct nothing.
    """
    question = query if isinstance(query, Question) else Question(query)
    text = question.text
    language = query_language(archive, text)
    corrected: dict[str, str] = {}
    by_stem: dict[str, Word] = {}
    ignored = language_by_code(question.language).stop_words if question.language else frozenset[str]()
    words = language.content_words(text, ignored)
    context = language.content_words(question.context, ignored) if question.context else []
    for word in [*words, *context]:
        correction = None
        is_known = counts is None or counts.frequencies.get(word.text) or count_articles(archive, word)
        is_known = is_known or word.text in question.type_words
        if not is_known and len(words) > 1 and _is_asking_word(word.text, language):
            continue
        if not is_known and len(corrected) < _MAX_CORRECTIONS:
            correction = correct_word(archive, word.text)
        # Where the index does not stem, another form of the word is searched for; that is not a correction.
        if correction and not is_other_form(word.text, correction, language.stem):
            corrected[word.text] = correction
        for part in correction.split() if correction else [word.text]:
            by_stem.setdefault(language.stem(part), Word(part, language.stem(part)))
    terms = weight_terms(list(by_stem.values()), lambda word: count_articles(archive, word), max(1, archive.text_count))
    if counts and counts.articles:
        terms = tuple(_weigh_in_library(term, counts) for term in terms)
    asked = {language.stem(part) for word in words for part in corrected.get(word.text, word.text).split()}
    terms = tuple(term._replace(weight=_weight_factor(term, asked, question) * term.weight) for term in terms)
    return ParsedQuery(_apply_corrections(text, corrected), language, terms, corrected, question)


def _is_asking_word(word: str, language: Language) -> bool:
    """Return whether a word that is unknown only asks, and is not missing: "wher", "say"."""
    return (language.code == "en" and says_little(word)) or language.is_misspelled_stop_word(word)


def _weight_factor(term: Term, asked: Collection[str], question: Question) -> float:
    if term.stem not in asked:
        return _CONTEXT_WEIGHT
    return _TYPE_WORD_WEIGHT if term.word in question.type_words else 1.0


def _weigh_in_library(term: Term, counts: WordCounts) -> Term:
    """Return a term with its weight in the whole library, so that scores of its archives can be compared."""
    frequency = max(term.frequency, counts.frequencies.get(term.word, 0))
    return term._replace(weight=inverse_frequency(frequency, counts.articles))


def inverse_frequency(frequency: int, articles: int) -> float:
    """Return the weight of a word: the fewer articles contain it, the heavier (as in BM25)."""
    return math.log(1 + max(0.5, articles - frequency + 0.5) / (frequency + 0.5))


def _apply_corrections(text: str, corrected: dict[str, str]) -> str:
    """Return a text with its whole words corrected."""
    for start, end in reversed(word_spans(text) if corrected else []):
        right = corrected.get(normalize(text[start:end]))
        text = text[:start] + right + text[end:] if right else text
    return text


class WordWeights(dict[str, float | None]):
    """The weights of words as they are written, each found once; None for those that a query does not have."""

    def __init__(self, query: ParsedQuery) -> None:
        super().__init__()
        self._weights = query.weights
        self._stem = query.language.stem

    def __missing__(self, word: str) -> float | None:
        self[word] = weight = self._weights.get(self._stem(normalize(word)))
        return weight

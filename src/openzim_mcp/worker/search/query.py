"""A query as one archive understands it: its content words and their stems, their weights, corrected spelling."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import Stemmer

from openzim_mcp.calls.search import Question, WordCounts
from openzim_mcp.languages import two_letter_code
from openzim_mcp.text import (
    edit_distance,
    find_words,
    is_unsegmented_script,
    is_unspaced_script,
    normalize,
    tokenize,
    word_spans,
)
from openzim_mcp.worker.search.spelling import correct_word, is_other_form

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from openzim_mcp.worker.zim import Archive

NO_COUNTS = WordCounts()
_MAX_CORRECTIONS = 4
_CONTEXT_WEIGHT = 0.5
"""The factor for the weight of words that were said around a question."""
_MAX_CACHED_STEMS = 50_000
_MAX_CACHED_LANGUAGES = 64
_POSSESSIVE = re.compile(r"['’]s?$")
_APOSTROPHE = re.compile("['’]")

# The Snowball algorithm of a language, by its two-letter code.
_STEMMER_NAMES = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
# The language to read a text in by its script, where the archive's own language does not use that script.
_SCRIPT_LANGUAGES = (
    (re.compile("[\u3040-\u30ff]"), ("ja",)),
    (re.compile("[\u3400-\u9fff]"), ("zh", "ja")),
    (re.compile("[\uac00-\ud7af]"), ("ko",)),
    (re.compile("[\u0400-\u052f]"), ("ru", "uk", "sr")),
    (re.compile("[\u0600-\u06ff]"), ("ar", "fa", "ur")),
    (re.compile("[\u0900-\u097f]"), ("hi", "ne")),
    (re.compile("[\u0980-\u09ff]"), ("bn",)),
    (re.compile("[\u0e00-\u0e7f]"), ("th",)),
    (re.compile("[\u0e80-\u0eff]"), ("lo",)),
    (re.compile("[\u1000-\u109f]"), ("my", "shn", "mnw")),
    (re.compile("[\u1780-\u17ff]"), ("km",)),
    (re.compile("[\u0370-\u03ff]"), ("el",)),
    (re.compile("[\u0590-\u05ff]"), ("he",)),
)
# Languages in which a stop word without its accents is another word: `là` and `la`, `şu` and `su` (water).
_ACCENTED_LANGUAGES = {"cs", "hu", "ro", "sv", "tr", "vi"}
_MIN_STOP_WORD_CHARS = 3
# Languages without spaces: a stop word is cut out wherever it occurs, if it has so many characters.
_MIN_STOP_PHRASE_CHARS = {"ja": 1, "zh": 1, "th": 2, "lo": 2, "km": 2, "my": 2}


class Word(NamedTuple):
    """A word as it is written, without case and accents, and its stem."""

    text: str
    stem: str


class Language:
    """Stop words and stems of one language."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._stemmer = Stemmer.Stemmer(_STEMMER_NAMES[code]) if code in _STEMMER_NAMES else None
        self.stem: Callable[[str], str] = lru_cache(_MAX_CACHED_STEMS)(self._compute_stem)

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The normalized words that do not tell what a query is about."""
        return frozenset(map(normalize, self._read_stop_words()))

    @cached_property
    def _accented_stop_words(self) -> frozenset[str]:
        return frozenset(self._read_stop_words())

    def _read_stop_words(self) -> list[str]:
        file = resources.files(__package__) / "stopwords" / f"{self.code}.txt"
        if not file.is_file():
            return []
        return [word for line in file.read_text("utf-8").splitlines()[1:] for word in line.split()]

    @cached_property
    def _stop_phrases(self) -> re.Pattern[str] | None:
        """The stop words to cut out of text without spaces, the longest first."""
        min_chars = _MIN_STOP_PHRASE_CHARS.get(self.code)
        if min_chars is None or not self.stop_words:
            return None
        phrases = sorted((word for word in self.stop_words if len(word) >= min_chars), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, phrases)))

    def _compute_stem(self, word: str) -> str:
        if is_unspaced_script(word):
            return word
        plain = _APOSTROPHE.sub("", _POSSESSIVE.sub("", word)) or word
        return self._stemmer.stemWord(plain) if self._stemmer else plain

    def stems(self, normalized: str) -> list[str]:
        """Return the stems of a normalized text in order."""
        return [self.stem(word) for word in tokenize(normalized)]

    def content_words(self, text: str, ignored: Collection[str] = ()) -> list[Word]:
        """Return the words that a text is about, each stem once, without those `ignored`; if there are none, all."""
        words = [word for word in self._without_stop_words(text) if word not in ignored]
        words = words or find_words(normalize(text))
        by_stem: dict[str, Word] = {}
        for word in words:
            for token in tokenize(word):
                stem = self.stem(token)
                by_stem.setdefault(stem, Word(_POSSESSIVE.sub("", token) or token, stem))
        return list(by_stem.values())

    def is_misspelled_stop_word(self, word: str) -> bool:
        """Return whether a word that is unknown is one letter away from a stop word: wher, teh, wich."""
        same_start = (
            other for other in self.stop_words if other[:1] == word[:1] and len(other) >= _MIN_STOP_WORD_CHARS
        )
        return len(word) >= _MIN_STOP_WORD_CHARS and any(edit_distance(word, other, 1) == 1 for other in same_start)

    def _without_stop_words(self, text: str) -> list[str]:
        if self.code in _ACCENTED_LANGUAGES and not text.isascii():
            words = find_words(unicodedata.normalize("NFC", text.lower()))
            return [normalize(word) for word in words if word not in self._accented_stop_words and _has_content(word)]
        normalized = normalize(text)
        without_phrases = self._stop_phrases.sub(" ", normalized) if self._stop_phrases else normalized
        return [word for word in find_words(without_phrases) if word not in self.stop_words and _has_content(word)]


def _has_content(word: str) -> bool:
    """Return whether a word is more than a letter; a single character is a word in Chinese, but not in Thai."""
    return len(word) > 1 or word.isdigit() or (is_unspaced_script(word) and not is_unsegmented_script(word))


@lru_cache(_MAX_CACHED_LANGUAGES)
def language_by_code(code: str) -> Language:
    """Return a language by its two-letter code; an unknown one has no stop words, and words are their own stems."""
    return Language(code)


def detect_language(codes: str, text: str) -> Language:
    """Return the language of a query, by the language codes of its archive (`eng`, `ara,jpn`) and by its script."""
    archive_codes = [two_letter_code(code) for code in codes.split(",")]
    for script, languages in _SCRIPT_LANGUAGES:
        if script.search(text):
            return language_by_code(next((code for code in archive_codes if code in languages), languages[0]))
    latin = [code for code in archive_codes if not any(code in languages for _, languages in _SCRIPT_LANGUAGES)]
    return language_by_code(latin[0] if latin and latin[0] else "en")


def query_language(archive: Archive, text: str) -> Language:
    """Return the language of a query to an archive."""
    return detect_language(archive.languages, text)


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


def weight_terms(words: Sequence[Word], frequency: Callable[[str], int], articles: int) -> tuple[Term, ...]:
    """Return words with their weights (inverse document frequency, as in BM25)."""
    terms = []
    for word in words:
        count = frequency(word.text)
        terms.append(Term(word.text, word.stem, count, inverse_frequency(count, articles)))
    return tuple(terms)


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
        is_known = counts is None or counts.frequencies.get(word.text) or archive.frequency(word.text)
        if not is_known and len(words) > 1 and language.is_misspelled_stop_word(word.text):
            continue
        if not is_known and len(corrected) < _MAX_CORRECTIONS:
            correction = correct_word(archive, word.text)
        # Where the index does not stem, another form of the word is searched for; that is not a correction.
        if correction and not is_other_form(word.text, correction, language.stem):
            corrected[word.text] = correction
        for part in correction.split() if correction else [word.text]:
            by_stem.setdefault(language.stem(part), Word(part, language.stem(part)))
    terms = weight_terms(list(by_stem.values()), archive.frequency, max(1, archive.counts["articles"]))
    if counts and counts.articles:
        terms = tuple(_weigh_in_library(term, counts) for term in terms)
    if context:
        asked = {language.stem(part) for word in words for part in corrected.get(word.text, word.text).split()}
        terms = tuple(
            term if term.stem in asked else term._replace(weight=_CONTEXT_WEIGHT * term.weight) for term in terms
        )
    return ParsedQuery(_apply_corrections(text, corrected), language, terms, corrected, question)


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

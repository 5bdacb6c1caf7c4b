"""Languages of queries and archives: stop words, stems, and which language a text is read in."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import Stemmer

from openzim_mcp.languages import two_letter_codes
from openzim_mcp.text import (
    edit_distance,
    find_words,
    is_unsegmented_script,
    is_unspaced_script,
    normalize,
    tokenize,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from openzim_mcp.worker.zim import Archive

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
    archive_codes = two_letter_codes(codes)
    for script, languages in _SCRIPT_LANGUAGES:
        if script.search(text):
            return language_by_code(next((code for code in archive_codes if code in languages), languages[0]))
    latin = [code for code in archive_codes if not any(code in languages for _, languages in _SCRIPT_LANGUAGES)]
    return language_by_code(latin[0] if latin and latin[0] else "en")


def query_language(archive: Archive, text: str) -> Language:
    """Return the language of a query to an archive."""
    return detect_language(archive.languages, text)


_SCRIPT_LETTERS = {
    "kana": re.compile("[\u3040-\u30ff]"),
    "han": re.compile("[\u3400-\u9fff]"),
    "hangul": re.compile("[\uac00-\ud7af]"),
    "cyrillic": re.compile("[\u0400-\u052f]"),
    "arabic": re.compile("[\u0600-\u06ff]"),
    "devanagari": re.compile("[\u0900-\u097f]"),
    "thai": re.compile("[\u0e00-\u0e7f]"),
    "greek": re.compile("[\u0370-\u03ff]"),
    "hebrew": re.compile("[\u0590-\u05ff]"),
}
_LETTER = re.compile(r"[^\W\d_]")
_MIN_SCRIPT_SHARE = 0.125
_SAMPLED_CHARS = 400


def script_of(text: str) -> str:
    """Return the script of most of a text; empty for Latin and others. Japanese is told from Chinese by its kana."""
    if text.isascii():
        return ""
    sample = text[:_SAMPLED_CHARS]
    letters = len(_LETTER.findall(sample)) or 1
    return next((n for n, p in _SCRIPT_LETTERS.items() if len(p.findall(sample)) >= _MIN_SCRIPT_SHARE * letters), "")

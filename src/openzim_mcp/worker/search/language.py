"""Words of a query or a text, by language: what counts as a word, which ones say what it is about, and their stems."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from importlib import resources
from typing import NamedTuple

import Stemmer

from openzim_mcp.languages import two_letter_code
from openzim_mcp.text import find_words, is_unspaced_script, normalize, tokenize

_STEMS = 50_000
_POSSESSIVE = re.compile(r"['’]s?$")

# The Snowball algorithm of a language, by its two-letter code.
_STEMMERS = {
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
_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), ("ja",)),
    (re.compile("[\u3400-\u9fff]"), ("zh", "ja")),
    (re.compile("[\uac00-\ud7af]"), ("ko",)),
    (re.compile("[\u0400-\u052f]"), ("ru", "uk", "sr")),
    (re.compile("[\u0600-\u06ff]"), ("ar", "fa", "ur")),
    (re.compile("[\u0900-\u097f]"), ("hi", "ne")),
    (re.compile("[\u0980-\u09ff]"), ("bn",)),
    (re.compile("[\u0e00-\u0e7f]"), ("th",)),
    (re.compile("[\u0370-\u03ff]"), ("el",)),
    (re.compile("[\u0590-\u05ff]"), ("he",)),
)


class Word(NamedTuple):
    """A word as it is written, without case and accents, and its stem."""

    text: str
    stem: str


class Language:
    """How the words of one language are found, left out and reduced to their stems."""

    def __init__(self, code: str) -> None:
        self.code = code
        self._stemmer = Stemmer.Stemmer(_STEMMERS[code]) if code in _STEMMERS else None
        self._stems: dict[str, str] = {}

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The words that say how something is asked, and not what about."""
        return frozenset(map(normalize, self._listed))

    @cached_property
    def _listed(self) -> list[str]:
        file = resources.files(__package__) / "stopwords" / f"{self.code}.txt"
        if not file.is_file():
            return []
        return [word for line in file.read_text("utf-8").splitlines()[1:] for word in line.split()]

    @cached_property
    def _stop_phrases(self) -> re.Pattern[str] | None:
        """What to cut out of text without spaces; the longest first."""
        if self.code not in {"ja", "th", "zh"}:
            return None
        shortest = 2 if self.code == "th" else 1
        phrases = sorted((word for word in self.stop_words if len(word) >= shortest), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, phrases)))

    def stem(self, word: str) -> str:
        """Return the stem of a folded word."""
        known = self._stems.get(word)
        if known is None and is_unspaced_script(word):
            return word
        if known is None:
            bare = _POSSESSIVE.sub("", word).replace("'", "").replace("’", "") or word
            known = self._stemmer.stemWord(bare) if self._stemmer else bare
            if len(self._stems) >= _STEMS:
                self._stems.clear()
            self._stems[word] = known
        return known

    def stems(self, folded: str) -> list[str]:
        """Return the stems of a folded text in order."""
        return [self.stem(word) for word in tokenize(folded)]

    def content_words(self, text: str) -> list[Word]:
        """Return the words that a text is about, each stem once; if there are none, all of its words."""
        folded = normalize(text)
        kept = self._stop_phrases.sub(" ", folded) if self._stop_phrases else folded
        words = [word for word in find_words(kept) if self._is_content(word)] or find_words(folded)
        found: dict[str, Word] = {}
        for word in words:
            for part in tokenize(word):
                stem = self.stem(part)
                found.setdefault(stem, Word(part, stem))
        return list(found.values())

    def _is_content(self, word: str) -> bool:
        return word not in self.stop_words and (len(word) > 1 or word.isdigit() or is_unspaced_script(word))


@lru_cache(maxsize=64)
def by_code(code: str) -> Language:
    """Return a language by its two-letter code; of an unknown one only words are known."""
    return Language(code)


def language_of(codes: str, text: str) -> Language:
    """Return the language to read a query in, from an archive's language codes (`eng`, `ara,jpn`) and its script."""
    named = [two_letter_code(code) for code in codes.split(",")]
    for script, languages in _SCRIPTS:
        if script.search(text):
            return by_code(next((code for code in named if code in languages), languages[0]))
    latin = [code for code in named if not any(code in languages for _, languages in _SCRIPTS)]
    return by_code(latin[0] if latin and latin[0] else "en")

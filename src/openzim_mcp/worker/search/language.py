"""Words of a query or a text, by language: what counts as a word, which ones say what it is about, and their stems."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property, lru_cache
from importlib import resources
from typing import NamedTuple

import Stemmer

# Scripts that are written without spaces, and Hangul, which the index treats alike: read as pairs of characters.
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_DENSE}]"
# A run of a dense script; initials (U.S.); or a word, of which C++, C#, AT&T and O'Brien are each one.
_WORD = re.compile(
    rf"[{_DENSE}]+|(?:[^\W\d_{_DENSE}]\.){{2,}}(?:[^\W\d_{_DENSE}]\b)?|{_LETTER}+(?:['’&]{_LETTER}+)*(?:\+{{1,2}}|\#)?"
)
_INSIDE = frozenset("'’&.")
_STEMS = 50_000
_DENSE_START = re.compile(f"[{_DENSE}]")
_POSSESSIVE = re.compile(r"['’]s?$")

# Two-letter code: the three-letter codes that archives carry, and the Snowball algorithm if there is one.
_LANGUAGES = {
    "ar": ("ara", "arabic"),
    "bn": ("ben", None),
    "ca": ("cat", "catalan"),
    "cs": ("ces cze", "czech"),
    "da": ("dan", "danish"),
    "de": ("deu ger", "german"),
    "el": ("ell gre", "greek"),
    "en": ("eng", "english"),
    "es": ("spa", "spanish"),
    "et": ("est", "estonian"),
    "eu": ("eus baq", "basque"),
    "fa": ("fas per pes", "persian"),
    "fi": ("fin", "finnish"),
    "fr": ("fra fre", "french"),
    "ga": ("gle", "irish"),
    "he": ("heb", None),
    "hi": ("hin", "hindi"),
    "hu": ("hun", "hungarian"),
    "hy": ("hye arm", "armenian"),
    "id": ("ind", "indonesian"),
    "it": ("ita", "italian"),
    "ja": ("jpn", None),
    "ko": ("kor", None),
    "lt": ("lit", "lithuanian"),
    "ne": ("nep", "nepali"),
    "nl": ("nld dut", "dutch"),
    "no": ("nor nob nno nb nn", "norwegian"),
    "pl": ("pol", "polish"),
    "pt": ("por", "portuguese"),
    "ro": ("ron rum", "romanian"),
    "ru": ("rus", "russian"),
    "sr": ("srp", "serbian"),
    "sv": ("swe", "swedish"),
    "sw": ("swa swh", None),
    "ta": ("tam", "tamil"),
    "th": ("tha", None),
    "tr": ("tur", "turkish"),
    "uk": ("ukr", None),
    "ur": ("urd", None),
    "vi": ("vie", None),
    "zh": ("zho chi cmn", None),
}
_SHORT = {code: short for short, (codes, _) in _LANGUAGES.items() for code in (short, *codes.split())}
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


def fold(text: str) -> str:
    """Return a text without case and accents, as the indexes hold it."""
    low = text.lower()
    if low.isascii():
        return low
    spread = unicodedata.normalize("NFD", low)
    for character in set(spread):
        if character > "\u02ff" and unicodedata.category(character).startswith("M"):
            spread = spread.replace(character, "")
    return unicodedata.normalize("NFC", spread)


def is_dense(word: str) -> bool:
    """Return whether a word is in a script that is written without spaces."""
    return not word.isascii() and bool(_DENSE_START.match(word))


class Language:
    """How the words of one language are found, left out and reduced to their stems."""

    def __init__(self, code: str) -> None:
        self.code = code
        algorithm = _LANGUAGES[code][1] if code in _LANGUAGES else None
        self._stemmer = Stemmer.Stemmer(algorithm) if algorithm else None
        self._stems: dict[str, str] = {}

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The words that say how something is asked, and not what about."""
        return frozenset(map(fold, self._listed))

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
        if known is None and is_dense(word):
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
        return [self.stem(word) for word in units(folded)]

    def content_words(self, text: str) -> list[Word]:
        """Return the words that a text is about, each stem once; if there are none, all of its words."""
        folded = fold(text)
        kept = self._stop_phrases.sub(" ", folded) if self._stop_phrases else folded
        words = [word for word in _WORD.findall(kept) if self._is_content(word)] or _WORD.findall(folded)
        found: dict[str, Word] = {}
        for word in words:
            for part in units(word):
                stem = self.stem(part)
                found.setdefault(stem, Word(part, stem))
        return list(found.values())

    def _is_content(self, word: str) -> bool:
        return word not in self.stop_words and (len(word) > 1 or word.isdigit() or is_dense(word))


def units(folded: str) -> list[str]:
    """Return the words of a folded text in order; dense scripts give pairs of characters."""
    words: list[str] = _WORD.findall(folded)
    if folded.isascii() or not _DENSE_START.search(folded):
        return words
    return [unit for word in words for unit in (_pairs(word) if is_dense(word) else (word,))]


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def word_at(folded: str, at: int) -> tuple[int, int, str]:
    """Return the word around a place of a folded text, and where it begins and ends."""
    start = at
    while start and (folded[start - 1].isalnum() or folded[start - 1] in _INSIDE):
        start -= 1
    found = _WORD.match(folded, start)
    while found and found.end() <= at:
        found = _WORD.search(folded, found.end())
    return (*found.span(), found.group()) if found else (at, at, "")


def spans(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text begin and end."""
    return [found.span() for found in _WORD.finditer(text)]


@lru_cache(maxsize=64)
def by_code(code: str) -> Language:
    """Return a language by its two-letter code; of an unknown one only words are known."""
    return Language(code)


def language_of(codes: str, text: str) -> Language:
    """Return the language to read a query in, from an archive's language codes (`eng`, `ara,jpn`) and its script."""
    named = [_SHORT.get(code.strip().partition("-")[0], code.strip()) for code in codes.lower().split(",")]
    for script, languages in _SCRIPTS:
        if script.search(text):
            return by_code(next((code for code in named if code in languages), languages[0]))
    latin = [code for code in named if not any(code in languages for _, languages in _SCRIPTS)]
    return by_code(latin[0] if latin and latin[0] else "en")

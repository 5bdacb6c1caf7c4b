"""A small language of phrases, in which the table of intents is written.

`(a|b)` is one of several, `[x]` may be missing, `<word>` is one of vocabulary.txt, `{slot}` is a value, `{slot=kind}`
one that is written like another.

A phrase is compiled with those words only that a sentence holds, so that a few of the hundreds cost anything.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from openzim_mcp.text import SENTENCE_MARKS

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPTS = {
    "latin": "a-z",
    "dense": "\u3040-\u30ff\u3400-\u9fff",
    "hangul": "\uac00-\ud7a3",
    "cyrillic": "\u0400-\u04ff",
    "arabic": "\u0600-\u06ff",
    "devanagari": "\u0900-\u097f",
}
DENSE = f"[{_SCRIPTS['dense']}]"
_BLANKS = dict.fromkeys(_SCRIPTS, r"(?:,?\s+|(?<='))") | {"dense": r"\s*"}
COMMA = r"\s*[,;、，；]\s*"
JOINED = rf"\s+&\s+|(?<!共)[和与與跟及](?![平谐諧服])|(?<={DENSE})と(?={DENSE})|(?<=\w)[와과]\s+|\s+و(?=\w)"
_SLOTS = {
    "title": r"\S.{0,200}?",
    "first": r"(?!(?:<asking>)\b|.*(?:<asked>))\S.{0,100}?",
    "section": r"(?:[\"“«][^\"”»]+[\"”»]|(?!(?:<asking>)\b)\S.{0,80}?)",
    "heading": r"(?!(?:<asking>|<fact>|<show>)\b|.*(?:<asked>))\S{1,40}(?: \S{1,40}){0,2}?",
    "topic": r"(?!.*(?:<asked>))(?:<topic>)",
    "query": r"\S.*?",
    "list": rf"(?!(?:<asking>)\b)(?=\S.*?(?:{COMMA}|\s(?:<and>|<and short>|<and weak>)\s|{JOINED}))\S.{{0,400}}?",
    "versus": r"(?!(?:<asking>)\b)(?:\S{1,40}\s+){1,5}?(?:vs\.?|versus)(?:\s+\S{1,40}){1,5}?",
    "differing": r"(?:\S{1,40}\s+){1,5}?(?:<differ>)\s+(?:<and weak>)(?:\s+\S{1,40}){1,5}?",
    "file": r"(?:[a-z-]/)?\S*\w\.[a-z]\w{1,4}|_assets_/\S+",
    "namespace": r"['\"]?[a-z-](?:/[^\s'\"]*)?['\"]?",
    "number": r"\d+",
    "archive": r"[\w.#&-]+?",
    "filler": r"(?:<filler>)(?:\s+(?:<filler>))*",
    "rest": r".*?",
}
_RUNS = re.compile(r"[^\W_]+")
_LAST_SPACED = "\u3000"
_INNERMOST = re.compile(r"[(\[][^()\[\]]*[)\]]")
_PARTS = re.compile(r"\s+|[()\[\]|]|<[a-z' ]+>|[^()\[\]|<\s]+")
_WORD = re.compile(r"<([a-z' ]+)>")
_SLOT = re.compile(r"\{(\w+)(?:=(\w+))?\}")
_APOSTROPHE = re.compile(r"(?<=\w)'")
_CLOSES = {"(": ")", "[": "]"}
_END = rf"[\s{SENTENCE_MARKS}]*"
_COMPILED = 4096
_PLAIN = {ord(a): b for a, b in zip("’‘ıłđøŁĐØ", "''ildoldo", strict=True)} | {
    code: letter
    for code in range(0xC0, 0x1F00)
    if (letter := unicodedata.normalize("NFD", chr(code))[0]).isascii() and letter.isalpha()
}
"""Letters whose accents do not count."""


def plain(text: str) -> str:
    """Return a text of the same length without case and Latin accents."""
    return text.translate(_PLAIN).lower()


@cache
def vocabulary() -> dict[str, list[str]]:
    """Return the words that each name stands for, the longest first."""
    text = (resources.files(__package__) / "vocabulary.txt").read_text("utf-8")
    lines = [line.split(": ", 1) for line in plain(text).splitlines()[1:]]
    return {name: sorted(set(words.split("|")), key=len, reverse=True) for name, words in lines}


def _words(name: str, held: frozenset[str] | None) -> str:
    """Return a pattern of the words that a name stands for: of those that a text holds, or of all."""
    return "|".join(_written(word) for word in vocabulary()[name] if held is None or word in held) or "(?!)"


@cache
def _first_runs() -> dict[str, str]:
    """Return what each word of the vocabulary begins with, up to a blank or a mark."""
    return {word: _first_run(word) for words in vocabulary().values() for word in words}


def _first_run(text: str) -> str:
    return str((_RUNS.findall(text.replace("'", "")) or [text])[0])


def _written(text: str) -> str:
    """Return a text as a pattern; an apostrophe in a word may be missing."""
    return _APOSTROPHE.sub("'?", text.replace(".", r"\.").replace(" ", r"\s+"))


def _filled(pattern: str, held: frozenset[str] | None = None) -> str:
    return _WORD.sub(lambda name: _words(name[1], held), pattern)


@cache
def pattern_of(pattern: str) -> re.Pattern[str]:
    """Return a pattern with all words of the vocabulary in it."""
    return re.compile(_filled(pattern))


def end_of(pattern: str, text: str) -> int:
    """Return where what a text begins with ends."""
    found = pattern_of(pattern).match(text)
    return found.end() if found else 0


@lru_cache(maxsize=_COMPILED)
def _compiled(phrase: str, script: str, held: frozenset[str]) -> re.Pattern[str]:
    """Return a phrase, with some words of the vocabulary, as a pattern of a plain query with a blank before it."""
    return re.compile(_sequence(iter(_PARTS.findall(phrase)), script, held, end="", lead=True) + _END)


def _sequence(parts: Iterator[str], script: str, held: frozenset[str], *, end: str, lead: bool) -> str:
    """Return a pattern of parts up to a bracket; each takes the blank before it along, so that it may be missing."""
    pattern = ""
    blank = lead
    for part in parts:
        if part == end:
            break
        if part.isspace():
            blank = True
        elif part == "|":
            pattern, blank = f"{pattern}|", lead
        elif part in _CLOSES:
            inside = _sequence(parts, script, held, end=_CLOSES[part], lead=blank)
            pattern, blank = f"{pattern}(?:{inside}){'?' if part == '[' else ''}", False
        else:
            pattern, blank = pattern + (_BLANKS[script] if blank else "") + _part(part, held), False
    return pattern


def _part(part: str, held: frozenset[str]) -> str:
    if _WORD.fullmatch(part):
        return f"(?:{_filled(part, held)})"
    return _SLOT.sub(lambda slot: f"(?P<{slot[1]}>{_filled(_SLOTS[slot[2] or slot[1]], held)})", _written(part))


@cache
def all_words() -> frozenset[str]:
    """Return every word of the vocabulary."""
    return frozenset(word for phrase in _first_runs() for word in phrase.split())


class Sentence:
    """A plain text with a blank before it, and what of the language of phrases may be in it."""

    def __init__(self, text: str) -> None:
        inside = {first for first in _first_runs().values() if first > _LAST_SPACED and first in text}
        self.runs = {*_RUNS.findall(text), *_RUNS.findall(text.replace("'", "")), *inside}
        self.held = frozenset(word for word, first in _first_runs().items() if first in self.runs)
        self.scripts = [name for name, letters in _SCRIPTS.items() if re.search(f"[{letters}]", text)]


class Phrase:
    """A phrase, and what it needs: for each part that may not be missing, what that can begin with."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _words(self) -> frozenset[str]:
        slots = "".join(_SLOTS[kind or name] for name, kind in _SLOT.findall(self._text))
        return frozenset(word for name in _WORD.findall(self._text + slots) for word in vocabulary()[name])

    @cached_property
    def _needs(self) -> list[frozenset[str]]:
        text = self._text
        while (outside := _INNERMOST.sub(" ", text)) != text:
            text = outside
        return [_beginnings(part) for part in _PARTS.findall(text) if part.strip() and "{" not in part]

    def patterns(self, sentence: Sentence) -> Iterator[re.Pattern[str]]:
        """Yield the phrase in each script of a sentence that has all it needs."""
        if not any(sentence.runs.isdisjoint(needed) for needed in self._needs):
            for script in sentence.scripts:
                yield _compiled(self._text, script, sentence.held & self._words)


def _beginnings(part: str) -> frozenset[str]:
    name = _WORD.fullmatch(part)
    return frozenset(map(_first_runs().__getitem__, vocabulary()[name[1]])) if name else frozenset({_first_run(part)})

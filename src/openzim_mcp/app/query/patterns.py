"""The language of the patterns in intents.py, compiled to regular expressions.

`(a|b)` is one of several, `[x]` is optional, `<word>` is one of the terms that vocabulary.txt lists under that name,
`{slot}` is a value, and `{slot=kind}` a value that is written like another slot.

A pattern is compiled with only those terms of the vocabulary that a query contains: few of the hundreds.
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
    "unspaced": "\u3040-\u30ff\u3400-\u9fff",
    "hangul": "\uac00-\ud7a3",
    "cyrillic": "\u0400-\u04ff",
    "arabic": "\u0600-\u06ff",
    "devanagari": "\u0900-\u097f",
}
UNSPACED_CHAR = f"[{_SCRIPTS['unspaced']}]"
_WORD_GAPS = dict.fromkeys(_SCRIPTS, r"(?:,?\s+|(?<='))") | {"unspaced": r"\s*"}
_LAST_SPACED_CHAR = "\u3000"
COMMA = r"\s*[,;、，；]\s*"
CONJUNCTION = (
    rf"\s+&\s+|(?<!共)[和与與跟及](?![平谐諧服])|(?<={UNSPACED_CHAR})と(?={UNSPACED_CHAR})|(?<=\w)[와과]\s+|\s+و(?=\w)"
)
_QUOTED = r"[\"“«„][^\"”»“]+[\"”»“]"
_NO_OTHER_REQUEST = r"(?!(?:<asking>|<article>|<articles>|<show>|<anything>)\b|.*(?:<asked>))"
_SLOT_REGEXES = {
    "title": r"\S.{0,200}?",
    "first": r"(?!(?:<asking>)\b|.*(?:<asked>))\S.{0,100}?",
    "section": r"(?:[\"“«][^\"”»]+[\"”»]|(?!(?:<asking>)\b)\S.{0,80}?)",
    "heading": r"(?!(?:<asking>|<fact>|<show>)\b|.*(?:<asked>))\S{1,40}(?: \S{1,40}){0,2}?",
    "words": rf"(?:{_QUOTED}|{_NO_OTHER_REQUEST}\S.{{0,100}}?)",
    "few": rf"(?:{_QUOTED}|{_NO_OTHER_REQUEST}(?!(?:<the>|<search>)\b)\S{{1,40}}(?: \S{{1,40}}){{0,2}}?)",
    "topic": r"(?!.*(?:<asked>))(?:<topic>)",
    "query": r"\S.*?",
    "list": rf"(?!(?:<asking>)\b)(?=\S.*?(?:{COMMA}|\s(?:<and>|<and short>|<and weak>)\s|{CONJUNCTION}))\S.{{0,400}}?",
    "versus": r"(?!(?:<asking>)\b)(?:\S{1,40}\s+){1,5}?(?:vs\.?|versus)(?:\s+\S{1,40}){1,5}?",
    "differing": r"(?:\S{1,40}\s+){1,5}?(?:<differ>)\s+(?:<and weak>)(?:\s+\S{1,40}){1,5}?",
    "file": r"(?:[a-z-]/)?\S*\w\.[a-z]\w{1,4}|_assets_/\S+",
    "namespace": r"['\"]?[a-z-](?:/[^\s'\"]*)?['\"]?",
    "number": r"\d+",
    "distance": r"\d{1,6}(?:[.,]\d{1,3})?[\s-]*(?:km|m|mi|<kilometres>|<metres>|<miles>)",
    "point": r"[+-]?\d{1,3}(?:\.\d{1,15})?\s*°?\s*[ns]?\s*[,;\s]\s*[+-]?\d{1,3}(?:\.\d{1,15})?\s*°?\s*[ew]?",
    "archive": r"[\w.#&-]+?",
    "named": r"\S.{0,80}?",
    "language": r"(?:<language>)",
    "filler": r"(?:<filler>)(?:\s+(?:<filler>))*",
    "anything": r".*?",
}
_REQUIRED_IN_SLOTS: dict[str, str | frozenset[str]] = {
    "versus": frozenset({"vs", "versus"}),
    "topic": "topic",
    "differing": "differ",
    "language": "language",
    "filler": "filler",
}
"""Words, or the name of terms, of which the value of a slot has one."""
_ALPHANUMERICS = re.compile(r"[^\W_]+")
_SYMBOL = re.compile(r"\s+|[()\[\]|]|<[a-z' ]+>|[^()\[\]|<\s]+")
_VOCABULARY_NAME = re.compile(r"<([a-z' ]+)>")
_SLOT = re.compile(r"\{(\w+)(?:=(\w+))?\}")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)'")
_CLOSING_BRACKETS = {"(": ")", "[": "]"}
_QUERY_END = rf"[\s{SENTENCE_MARKS}]*"
_MAX_COMPILED_PATTERNS = 4096
# Letters whose accents are ignored. The translation keeps the length of a text, as slots are cut out by position.
_UNACCENTED = {ord(a): b for a, b in zip("’‘ıłđøŁĐØ", "''ildoldo", strict=True)} | {
    code: letter
    for code in range(0xC0, 0x1F00)
    if (letter := unicodedata.normalize("NFD", chr(code))[0]).isascii() and letter.isalpha()
}


def simplify(text: str) -> str:
    """Return a text of the same length in lower case, without Latin accents."""
    return text.translate(_UNACCENTED).lower()


@cache
def load_vocabulary() -> dict[str, list[str]]:
    """Return the terms of each name, the longest first."""
    terms = _read_terms("vocabulary.txt") | {"language": list(_languages())}
    return {name: sorted(set(names), key=len, reverse=True) for name, names in terms.items()}


@cache
def _languages() -> dict[str, str]:
    """Return the codes of languages by their names."""
    return {name: code for code, names in _read_terms("language_names.txt").items() for name in names}


def language_code(name: str) -> str:
    """Return the two letters, or three, of a language by its name in a request."""
    return _languages()[simplify(name)]


def language_name(code: str) -> str:
    """Return the English name of a language; its code if it is not in the table."""
    return next((name.capitalize() for name, value in _languages().items() if value == code), code)


def _read_terms(file: str) -> dict[str, list[str]]:
    text = (resources.files(__package__) / file).read_text("utf-8")
    lines = [line.split(": ", 1) for line in simplify(text).splitlines()[1:]]
    return {name: terms.split("|") for name, terms in lines}


@cache
def vocabulary_words() -> frozenset[str]:
    """Return every word of the vocabulary."""
    return frozenset(word for terms in load_vocabulary().values() for term in terms for word in term.split())


@cache
def _terms_by_first_word() -> dict[str, dict[str, frozenset[str]]]:
    """Return the terms of the vocabulary by their first words, each with its words.

    Outside English only the first word counts: the others may be joined to those around them.
    """
    index: dict[str, dict[str, frozenset[str]]] = {}
    for term in {term for terms in load_vocabulary().values() for term in terms}:
        words = _split_words(term)[: None if term.isascii() else 1]
        index.setdefault(words[0], {})[term] = frozenset(words)
    return index


@cache
def _unspaced_words() -> list[str]:
    """Return the first words of terms in scripts without spaces."""
    return [word for word in _terms_by_first_word() if word > _LAST_SPACED_CHAR]


def _split_words(text: str) -> list[str]:
    return _ALPHANUMERICS.findall(text.replace("'", "")) or [text]


@cache
def compile_regex(regex: str) -> re.Pattern[str]:
    """Compile a regular expression in which `<name>` stands for all terms of that name."""
    return re.compile(_expand_names(regex))


def match_end(regex: str, text: str) -> int:
    """Return where the match of a regular expression at the start of a text ends; 0 without a match."""
    match = compile_regex(regex).match(text)
    return match.end() if match else 0


def _expand_names(regex: str, terms: frozenset[str] | None = None) -> str:
    """Replace each `<name>` by its terms: those among `terms`, or all of them."""
    return _VOCABULARY_NAME.sub(lambda match: _terms_regex(match[1], terms), regex)


def _terms_regex(name: str, terms: frozenset[str] | None) -> str:
    alternatives = [_literal_regex(term) for term in load_vocabulary()[name] if terms is None or term in terms]
    return "|".join(alternatives) or "(?!)"


def _literal_regex(text: str) -> str:
    """Return a regular expression for a text; an apostrophe inside a word is optional."""
    return _INNER_APOSTROPHE.sub("'?", text.replace(".", r"\.").replace(" ", r"\s+"))


@lru_cache(maxsize=_MAX_COMPILED_PATTERNS)
def _compile_pattern(pattern: str, script: str, terms: frozenset[str]) -> re.Pattern[str]:
    """Compile a pattern, with some terms of the vocabulary, for a simplified query with a space before it."""
    symbols = iter(_SYMBOL.findall(pattern))
    return re.compile(_sequence_regex(symbols, script, terms, closing="", starts_with_gap=True) + _QUERY_END)


def _sequence_regex(
    symbols: Iterator[str], script: str, terms: frozenset[str], *, closing: str, starts_with_gap: bool
) -> str:
    """Translate symbols up to a closing bracket; a gap belongs to the symbol after it, so that both are optional."""
    regex = ""
    needs_gap = starts_with_gap
    for symbol in symbols:
        if symbol == closing:
            break
        if symbol.isspace():
            needs_gap = True
        elif symbol == "|":
            regex, needs_gap = f"{regex}|", starts_with_gap
        elif symbol in _CLOSING_BRACKETS:
            bracket = _CLOSING_BRACKETS[symbol]
            group = _sequence_regex(symbols, script, terms, closing=bracket, starts_with_gap=needs_gap)
            regex, needs_gap = f"{regex}(?:{group}){'?' if symbol == '[' else ''}", False
        else:
            regex, needs_gap = regex + (_WORD_GAPS[script] if needs_gap else "") + _symbol_regex(symbol, terms), False
    return regex


def _symbol_regex(symbol: str, terms: frozenset[str]) -> str:
    if _VOCABULARY_NAME.fullmatch(symbol):
        return f"(?:{_expand_names(symbol, terms)})"
    return _SLOT.sub(
        lambda slot: f"(?P<{slot[1]}>{_expand_names(_SLOT_REGEXES[slot[2] or slot[1]], terms)})", _literal_regex(symbol)
    )


class TokenizedQuery:
    """The words, vocabulary terms and scripts of a simplified query with a space before it."""

    def __init__(self, text: str) -> None:
        # Words of scripts without spaces are not separated: they are looked for in the text.
        unspaced = {word for word in _unspaced_words() if word in text}
        self.words = {*_ALPHANUMERICS.findall(text), *_ALPHANUMERICS.findall(text.replace("'", "")), *unspaced}
        index = _terms_by_first_word()
        beginning = [index[word] for word in self.words if word in index]
        self.terms = frozenset(term for terms in beginning for term, words in terms.items() if words <= self.words)
        self.words_and_terms = self.words | self.terms
        self.scripts = [name for name, letters in _SCRIPTS.items() if re.search(f"[{letters}]", text)]


class Pattern:
    """A pattern of the table of intents."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _terms(self) -> frozenset[str]:
        slots = "".join(_SLOT_REGEXES[kind or name] for name, kind in _SLOT.findall(self._text))
        return frozenset(
            term for name in _VOCABULARY_NAME.findall(self._text + slots) for term in load_vocabulary()[name]
        )

    @cached_property
    def _required_words(self) -> list[frozenset[str]]:
        """Sets of words and terms: a query must have one of each set."""
        return _find_required_words(iter(_SYMBOL.findall(self._text)), closing="", is_separate=True)

    def regexes(self, query: TokenizedQuery) -> Iterator[re.Pattern[str]]:
        """Yield the pattern compiled for each script of a query, if the query has what it requires."""
        if not any(query.words_and_terms.isdisjoint(words) for words in self._required_words):
            for script in query.scripts:
                yield _compile_pattern(self._text, script, query.terms & self._terms)


def _find_required_words(symbols: Iterator[str], *, closing: str, is_separate: bool) -> list[frozenset[str]]:
    """Return what a query needs to match some symbols, up to a closing bracket; what is joined to a slot is no word."""
    alternatives: list[list[frozenset[str]]] = [[]]
    starts_separate = is_separate
    for symbol in symbols:
        if symbol == closing:
            break
        if symbol == "|":
            alternatives.append([])
        elif symbol in _CLOSING_BRACKETS:
            inside = _find_required_words(symbols, closing=_CLOSING_BRACKETS[symbol], is_separate=is_separate)
            alternatives[-1] += inside if symbol == "(" else []
        elif is_separate and not symbol.isspace():
            alternatives[-1] += _required_by_symbol(symbol)
        is_separate = symbol.isspace() or (symbol == "|" and starts_separate)
    if len(alternatives) == 1:
        return alternatives[0]
    return [frozenset().union(*(words[0] for words in alternatives))] if all(alternatives) else []


def _required_by_symbol(symbol: str) -> list[frozenset[str]]:
    name, slot = _VOCABULARY_NAME.fullmatch(symbol), _SLOT.search(symbol)
    if name is None and slot is None:
        return [frozenset(_split_words(symbol)[:1])] if symbol[0] < _LAST_SPACED_CHAR else []
    required = name[1] if name else _REQUIRED_IN_SLOTS.get(slot[2] or slot[1]) if slot else None
    if required is None:
        return []
    return [frozenset(load_vocabulary()[required]) if isinstance(required, str) else required]

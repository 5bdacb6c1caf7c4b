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
_ALPHANUMERICS = re.compile(r"[^\W_]+")
_INNERMOST_GROUP = re.compile(r"[(\[][^()\[\]]*[)\]]")
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
    return frozenset(word for term in _first_words() for word in term.split())


@cache
def _first_words() -> dict[str, str]:
    """Return the first word of each term of the vocabulary."""
    return {term: _first_word(term) for terms in load_vocabulary().values() for term in terms}


def _first_word(text: str) -> str:
    return str((_ALPHANUMERICS.findall(text.replace("'", "")) or [text])[0])


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
        unspaced = {word for word in _first_words().values() if word > _LAST_SPACED_CHAR and word in text}
        self.words = {*_ALPHANUMERICS.findall(text), *_ALPHANUMERICS.findall(text.replace("'", "")), *unspaced}
        self.terms = frozenset(term for term, first_word in _first_words().items() if first_word in self.words)
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
        """For each symbol that is not optional, the words of which a query must have one."""
        text = self._text
        while (outside := _INNERMOST_GROUP.sub(" ", text)) != text:
            text = outside
        return [_symbol_first_words(symbol) for symbol in _SYMBOL.findall(text) if symbol.strip() and "{" not in symbol]

    def regexes(self, query: TokenizedQuery) -> Iterator[re.Pattern[str]]:
        """Yield the pattern compiled for each script of a query, if the query has the words that it requires."""
        if not any(query.words.isdisjoint(words) for words in self._required_words):
            for script in query.scripts:
                yield _compile_pattern(self._text, script, query.terms & self._terms)


def _symbol_first_words(symbol: str) -> frozenset[str]:
    name = _VOCABULARY_NAME.fullmatch(symbol)
    if name is None:
        return frozenset({_first_word(symbol)})
    return frozenset(_first_words()[term] for term in load_vocabulary()[name[1]])

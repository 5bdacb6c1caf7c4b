"""What a question asks for: its language, the kind of answer, the relation, and the kinds of archives that have such.

The words by which languages ask are in question_words.py, those around a question in vocabulary.txt, relations in
relations.py.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.patterns import load_vocabulary, simplify
from openzim_mcp.app.query.question_words import (
    ENGLISH,
    asking_words,
    correct_asking_words,
    detect_language,
    expand_names,
    find_answer_type,
    function_words,
    split_terms,
    starts_with_question,
)
from openzim_mcp.app.query.relations import find_relations
from openzim_mcp.calls.search import Question
from openzim_mcp.text import SENTENCE_MARKS, find_words, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.calls.search import AnswerType, QuestionKind, TextPlace

_QUESTION_WORD_FIRST = frozenset({"", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru"})
"""Languages in which a question starts with the word that asks; in others it may stand anywhere."""
_MAX_CACHED_QUESTIONS = 256
_MIN_QUOTE_WORDS = 3
_MIN_SENTENCE_WORDS = 3
_QUOTED = re.compile(r"[\"“”„«‹]([^\"“”„«»‹›]{6,300})[\"“”»›]|(?<!\w)['‘]([^'‘’]{12,300})['’](?!\w)")
_LINE_BREAK = re.compile(r"\s*(?:[:;?]|\s[-–—]\s|\.{2,}|…)\s*")
_SENTENCE = re.compile(rf"(?<=[{SENTENCE_MARKS}])\s+|(?<=[。！？])(?=[^\s。！？」』”’])")
_QUESTION_MARK = re.compile("[?\uff1f\u061f]")
_EDGE_PUNCTUATION = " \t,;:.!-–—…、，。！"
_PUNCTUATION = r"[,.:;!?…、，。：！？؟،]"
_AFTER_OPENING = rf"\s*(?:{_PUNCTUATION}+|\s[-–—]\s|\s|$)\s*"
_AFTER_OPENING_WORD = rf"(?:\s*(?:{_PUNCTUATION}+|\s[-–—]\s)\s*|\s+(?=(?:<opening>|<opening word>|<speaking>)(?!\w)))"
_BEFORE_CLOSING = rf"(?:\s|(?<={_PUNCTUATION}))[\s–—-]*"
_BEFORE_CLOSING_WORD = rf"(?:(?<={_PUNCTUATION})|\s[-–—])\s*"


class _KindRow(NamedTuple):
    """A kind of question, and a regular expression over the simplified question that must match so many times."""

    kind: QuestionKind
    pattern: str
    min_terms: int = 1


# Which kinds of archives have the answer; `<name>` stands for terms of vocabulary.txt. Every row that fits counts.
# One of `<code word>` or `<how to word>` alone may mean anything.
_KINDS = (
    _KindRow("word", r"<word meaning>"),
    _KindRow("word", r"(?:^|\s)(?:<what is>) (?:(?:a|an) )?[a-z'-]+(?: in english)?\W*$"),
    _KindRow("word", r"\b(?:what|wat) (?:is|are|do you call|'s)? ?(?:a|an) [^?.]* called\b"),
    _KindRow(
        "word",
        r"\b(?:what|wat) (?:does|do|did|dose|dos) (?:the (?:word|term|phrase|expression|verb|adjective|name) )?"
        r"(?!(?:it|that|this|you|he|she|they|we|i|a|an|the|my|your|his|her|our)\b)\S+(?: \S+)? (?:mean|meen)"
        r"(?! (?:by|for|to)\b)\b",
    ),
    _KindRow("word", r"\b(?:what|wat) (?:does|dose) (?:it|that|this) mean(?: exactly| actually| please)*\W*$"),
    _KindRow("word", r"\b(?:what|wat) (?:does|dose) it mean to [a-z'-]+\W*$"),
    _KindRow("word", r"\bwhat(?: does| do| did| is|'s|s) (?:the word )?[\"'“„«][^\s\"'”»]+(?: [^\s\"'”»]+)?[\"'”“»]"),
    _KindRow("name", r"\b(?:what|wat|how) (?:do|does|would|did) (?:you|u|we|they|people|one) (?:call|name)\b"),
    _KindRow(
        "name",
        r"(?<!another )(?<!other )(?<!scientific )(?<!latin )(?<!full )\b(?:word|verb|noun|adjective|term|name)s? "
        r"(?:for|when) (?:when|an?|the|some\w+|people|things?|that|those|not) \w+ \w+",
    ),
    _KindRow("name", r"\b(?:fancy name|one word for|what (?:is|are|'s)? ?(?:it|that|this|those) called)\b"),
    _KindRow("name", r"\bwhat(?:'?s| is| are| was| were) (?:the|that|those) [a-z]+ (?:with|that|which|who|where)\b"),
    _KindRow("quote", r"<quotation>"),
    _KindRow("quote", r":\s*\S.{8,}(?:\.\.\.|…|__)[\s?!]*$"),
    _KindRow(
        "code",
        r"<code>|\w+\(\)|\b\w+(?:error|exception)\b|\b[a-z]+_[a-z_]+\b|\b\w+\.\w+\("
        r"|\b(?:select|insert|update|delete) (?:from|into)\b",
    ),
    _KindRow("code", r"<code>|<code word>", min_terms=2),
    _KindRow("howto", r"<how to>|^(?:can|could|should|may|must) (?:i|you|u|we|one)\b"),
    _KindRow("howto", r"<how to word>", min_terms=2),
    _KindRow("now", r"<now>"),
    _KindRow(
        "now",
        r"(?:^|[,.!?] )(?:whats?|what's|when|when's|where|where's|who|who's|which|how old|did|has|is|was|will|are|do|"
        r"wo|wann|wie|wer|ist|ou|quand|quel|quelle|donde|cuando|cual|quien|onde|qual|dove|где|когда|как|какой)\b[^,.?!]{0,30}"
        r"\b(?:my|mein|meine|meinen|meiner|mon|ma|mes|mi|mis|meu|minha|mio|mia|мой|моя|мои|моей) <private>",
    ),
)
_KINDS_OF_WHOLE_TEXT = frozenset({"quote", "code"})
"""Kinds that what surrounds a question tells too."""


@lru_cache(_MAX_CACHED_QUESTIONS)
def analyze_question(text: str) -> Question:
    """Return what a question asks for."""
    whole = strip_surroundings(text)
    # A line to complete or to find is not a story around the question.
    core, context = (whole, "") if "quote" in _find_kinds(simplify(text), "", None) else _split_context(whole)
    core, place = _split_place(core)
    language = detect_language(simplify(core))
    if language in ENGLISH:
        core = correct_asking_words(core)
    simplified = simplify(core)
    answer_type, type_term = find_answer_type(simplified, language)
    kinds = _find_kinds(simplify(text), simplified, answer_type)
    relations = find_relations(core, function_words(language), language)
    return Question(
        text=core,
        context=context,
        language=language,
        answer_type="definition" if answer_type and "word" in kinds else answer_type,
        type_words=find_words(type_term),
        kinds=kinds,
        relation_terms=relations.terms,
        relation_words=relations.words,
        fact_names=relations.fact_names,
        quotes=_find_quotes(text, kinds),
        place=place,
    )


def _split_place(text: str) -> tuple[str, TextPlace | None]:
    """Split "the first line" from what it is of; a text without the rest stays whole."""
    simplified = simplify(text)
    for place, pattern in _place_patterns().items():
        match = pattern.search(simplified)
        if match:
            rest = f"{text[: match.start()]} {text[match.end() :]}".strip(_EDGE_PUNCTUATION + "?")
            return (rest, place) if find_words(rest) else (text, None)
    return text, None


@cache
def _place_patterns() -> dict[TextPlace, re.Pattern[str]]:
    names: dict[TextPlace, str] = {"start": "<first lines>", "end": "<last lines>"}
    return {place: re.compile(expand_names(name)) for place, name in names.items()}


def strip_surroundings(text: str) -> str:
    """Return a question without greetings, politeness and phrases such as "I was wondering" around it.

    A word that may also start or end a title, such as "hello" or "help", needs punctuation or a question beside it.
    """
    rest = " ".join(text.split())
    while (match := _opening_pattern().match(simplify(rest))) and match.end() < len(rest):
        rest = rest[match.end() :]
    while (match := _closing_pattern().search(simplify(rest))) and match.start() > 0:
        rest = rest[: match.start()].rstrip(" ,;:-–—、，") + ("?" if "?" in match.group() else "")
    return rest.strip(_EDGE_PUNCTUATION) or text.strip()


@cache
def _opening_pattern() -> re.Pattern[str]:
    spaced, unspaced = split_terms(load_vocabulary()["opening"])
    words = expand_names(rf"(?:<opening word>){_AFTER_OPENING_WORD}")
    return re.compile(
        rf"[\s¿¡]*(?:(?:{spaced})(?!\s+to\s){_AFTER_OPENING}|(?:{unspaced})\s*{_PUNCTUATION}*\s*|{words})"
    )


@cache
def _closing_pattern() -> re.Pattern[str]:
    spaced, unspaced = split_terms(load_vocabulary()["closing"])
    words = expand_names(rf"{_BEFORE_CLOSING_WORD}(?:<closing word>)")
    return re.compile(rf"(?:{_BEFORE_CLOSING}(?:{spaced})|(?:{unspaced})|{words})[\s.!?…。！？؟]*$")


def _split_context(text: str) -> tuple[str, str]:
    """Split a story around a question from it: the sentences that ask, and the others."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    if len(sentences) < 2:  # noqa: PLR2004  a single sentence has nothing around it
        return text, ""
    asking = [sentence for sentence in sentences if _asks(sentence)]
    asking = [sentence for sentence in asking if len(tokenize(sentence)) >= _MIN_SENTENCE_WORDS] or asking
    core = " ".join(map(strip_surroundings, asking))
    if len(asking) == len(sentences) or not _stands_alone(core):
        return text, ""
    return core, " ".join(sentence for sentence in sentences if sentence not in asking)


def _stands_alone(core: str) -> bool:
    """Return whether a question says what it is about: "eschew? meaning?" does, "name?" and "can you?" do not."""
    return len(tokenize(core)) >= _MIN_SENTENCE_WORDS or "word" in _find_kinds("", simplify(core), None)


def _asks(sentence: str) -> bool:
    simplified = simplify(sentence)
    language = detect_language(simplified)
    return (
        bool(_QUESTION_MARK.search(sentence))
        or starts_with_question(simplified, language)
        or any(word in asking_words(language) for word in find_words(simplified)[:1])
        or (language not in _QUESTION_WORD_FIRST and bool(_asked_pattern().search(simplified)))
        or "word" in _find_kinds("", simplified, None)
    )


@cache
def _asked_pattern() -> re.Pattern[str]:
    return re.compile(expand_names("<asked>"))


@cache
def _kind_patterns() -> list[tuple[_KindRow, re.Pattern[str]]]:
    return [(row, re.compile(expand_names(row.pattern))) for row in _KINDS]


def _find_kinds(whole: str, core: str, answer_type: AnswerType | None) -> list[QuestionKind]:
    kinds = {}
    for row, pattern in _kind_patterns():
        text = whole if row.kind in _KINDS_OF_WHOLE_TEXT else core
        if len({match.group() for match in pattern.finditer(text)}) >= row.min_terms:
            kinds[row.kind] = True
    if answer_type == "person":  # who made something is not in documentation
        kinds.pop("code", None)
    return list(kinds)


def _find_quotes(text: str, kinds: Sequence[QuestionKind]) -> list[str]:
    """Return the quoted parts of a question that are long enough; of one about a line of a book, the line."""
    quotes = list(_quoted_parts(text))
    if quotes or "quote" not in kinds:
        return quotes
    asking = next(pattern for row, pattern in _kind_patterns() if row.kind == "quote")
    pieces = [piece for piece in _LINE_BREAK.split(text) if not asking.search(simplify(piece))]
    line = max(pieces, key=len, default="")
    return [line.strip()] if len(find_words(line)) >= _MIN_QUOTE_WORDS else []


def _quoted_parts(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip()
        if len(find_words(quote)) >= _MIN_QUOTE_WORDS:
            yield quote

"""What a question asks for: its language, the kind of answer, the relation, and the kinds of archives that have such.

The words by which languages ask are in question_words.txt, those around a question in vocabulary.txt, relations in
relations.py.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.patterns import compile_regex, simplify
from openzim_mcp.app.query.relations import find_relations
from openzim_mcp.calls.search import Question
from openzim_mcp.text import SENTENCE_MARKS, find_words, is_unspaced_script, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.calls.search import AnswerType, QuestionKind

ANSWER_TYPES: tuple[AnswerType, ...] = (
    "money", "age", "measure", "duration", "number", "date", "person", "place", "reason", "list", "steps", "definition",
)  # fmt: skip
"""The first of these that a question has a word of decides: "how many years" is a duration, "how many" a number."""
_MAX_CACHED_QUESTIONS = 256
_MIN_QUOTE_WORDS = 3
_MIN_SENTENCE_WORDS = 3
_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), "ja"),
    (re.compile("[\u3400-\u9fff]"), "zh"),
    (re.compile("[\uac00-\ud7af]"), "ko"),
    (re.compile("[\u0400-\u052f]"), "ru"),
    (re.compile("[\u0600-\u06ff]"), "ar"),
    (re.compile("[\u0900-\u097f]"), "hi"),
    (re.compile("[\u0e00-\u0e7f]"), "th"),
    (re.compile("[\u0370-\u03ff]"), "el"),
    (re.compile("[\u0590-\u05ff]"), "he"),
)
"""The language of a question by its script; the languages of a Latin script are told apart by their words."""
_QUOTED = re.compile(r"[\"“”„«‹]([^\"“”„«»‹›]{6,300})[\"“”»›]|(?<!\w)['‘]([^'‘’]{12,300})['’](?!\w)")
_SENTENCE = re.compile(rf"(?<=[{SENTENCE_MARKS}])\s+")
_QUESTION_MARK = re.compile("[?\uff1f\u061f]")
_EDGE_PUNCTUATION = " \t,;:.!-–—…"  # noqa: RUF001


class _KindRow(NamedTuple):
    """A kind of question, and a regular expression over the simplified question."""

    kind: QuestionKind
    pattern: str


# Which kinds of archives have the answer; `<name>` stands for words of vocabulary.txt. Every row that fits counts.
_KINDS = (
    _KindRow("word", r"<word meaning>"),
    _KindRow("word", r"(?:^|\s)(?:<what is>) (?:(?:a|an) )?[a-z'-]+(?: in english)?\W*$"),
    _KindRow(
        "word",
        r"\b(?:what|wat) (?:does|do|did|dose) (?:it mean to )?(?:the (?:word|term|verb|adjective|expression) )?\S+(?: \S+)? mean\W*$",
    ),
    _KindRow("quote", r"<quotation>"),
    _KindRow(
        "code",
        r"<code>|\w+\(\)|\b\w+(?:error|exception)\b|\b[a-z]+_[a-z_]+\b|\b(?:select|insert|update|delete) (?:from|into)\b",
    ),
    _KindRow("howto", r"<how to>"),
    _KindRow("now", r"<now>"),
)


@lru_cache(_MAX_CACHED_QUESTIONS)
def analyze_question(text: str) -> Question:
    """Return what a question asks for."""
    core, context = _split_context(strip_surroundings(text))
    simplified = simplify(core)
    language = detect_language(simplified)
    answer_type = _find_answer_type(simplified, language)
    relations = find_relations(core, function_words(language))
    return Question(
        text=core,
        context=context,
        language=language,
        answer_type=answer_type,
        kinds=_find_kinds(simplify(text), simplified),
        relation_terms=relations.terms,
        relation_words=relations.words,
        fact_names=relations.fact_names,
        quotes=_find_quotes(text),
    )


def strip_surroundings(text: str) -> str:
    """Return a question without greetings, politeness and phrases such as "I was wondering" around it."""
    opening = compile_regex(r"\s*(?:<opening>|<please>)(?:[\s,.:;!?…-]+|$)")
    closing = compile_regex(r"(?:^|[\s,.:;!?…-]+)(?:<closing>|<thanks>)[\s.!?…]*$")
    rest = text.strip()
    while (match := opening.match(simplify(rest))) and match.end() < len(rest):
        rest = rest[match.end() :]
    while (match := closing.search(simplify(rest))) and match.start() > 0:
        rest = rest[: match.start()]
    return rest.strip(_EDGE_PUNCTUATION) or text.strip()


def _split_context(text: str) -> tuple[str, str]:
    """Split a story around a question from it: the sentences that ask, and the others."""
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    if len(sentences) < 2:  # noqa: PLR2004  a single sentence has nothing around it
        return text, ""
    asking = [sentence for sentence in sentences if _asks(sentence)]
    asking = [sentence for sentence in asking if len(find_words(sentence)) >= _MIN_SENTENCE_WORDS] or asking
    if not asking or len(asking) == len(sentences):
        return text, ""
    others = (sentence for sentence in sentences if sentence not in asking)
    return " ".join(map(strip_surroundings, asking)), " ".join(others)


def _asks(sentence: str) -> bool:
    words = find_words(simplify(sentence))
    return bool(_QUESTION_MARK.search(sentence)) or bool(words and words[0] in _question_starts())


@cache
def _question_starts() -> frozenset[str]:
    terms = (
        term for names in question_words().values() for name, row in names.items() if name != "function" for term in row
    )
    return frozenset(term.partition(" ")[0] for term in terms)


@cache
def question_words() -> dict[str, dict[str, list[str]]]:
    """Return the terms of each kind of answer, the longest first, by language."""
    text = (resources.files(__package__) / "question_words.txt").read_text("utf-8")
    words: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines()[1:]:
        head, _, terms = line.partition(": ")
        language, _, name = head.partition(" ")
        words.setdefault(language, {})[name] = sorted(map(simplify, terms.split("|")), key=len, reverse=True)
    return words


def function_words(language: str) -> frozenset[str]:
    """Return the common words of a language other than English, in which they may mean something else."""
    terms = question_words().get(language, {}).get("function", []) if language != "en" else []
    return frozenset(map(normalize, terms))


def detect_language(simplified: str) -> str:
    """Return the two-letter code of the language in which a simplified question is asked; empty if nothing tells it."""
    for script, code in _SCRIPTS:
        if script.search(simplified):
            return code
    words = find_words(simplified)
    counts = {code: sum(word in known for word in words) for code, known in _known_words().items()}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ""


@cache
def _known_words() -> dict[str, frozenset[str]]:
    """Return the words of each language in the table, English first: it wins if others are as likely."""
    return {
        code: frozenset(word for terms in names.values() for term in terms for word in find_words(term))
        for code, names in question_words().items()
    }


def _find_answer_type(simplified: str, language: str) -> AnswerType | None:
    patterns = _type_patterns(language if language in question_words() else "en")
    return next((kind for kind in ANSWER_TYPES if kind in patterns and patterns[kind].search(simplified)), None)


@cache
def _type_patterns(language: str) -> dict[str, re.Pattern[str]]:
    names = question_words()[language]
    return {name: re.compile(_any_term(terms)) for name, terms in names.items() if name != "function"}


def _any_term(terms: list[str]) -> str:
    """Return a regular expression for any of some terms; in scripts without spaces, inside other words too."""
    literals = [re.escape(term).replace(r"\ ", r"\s+").replace("'", "'?") for term in terms]
    is_unspaced = any(map(is_unspaced_script, terms))
    return "|".join(literals) if is_unspaced else rf"(?<!\w)(?:{'|'.join(literals)})(?!\w)"


def _find_kinds(whole: str, core: str) -> list[QuestionKind]:
    kinds = [
        row.kind
        for row in _KINDS
        if compile_regex(_bounded(row.pattern)).search(whole if row.kind == "quote" else core)
    ]
    return list(dict.fromkeys(kinds))


@cache
def _bounded(pattern: str) -> str:
    """Put word boundaries around the terms that a name stands for."""
    return re.sub(r"(<[a-z' ]+>)", r"(?:(?<!\\w)(?:\1)(?!\\w))", pattern) if pattern.startswith("<") else pattern


def _find_quotes(text: str) -> list[str]:
    """Return the quoted parts of a question that are long enough to be searched as they are."""
    return list(_quoted_parts(text))


def _quoted_parts(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip()
        if len(find_words(quote)) >= _MIN_QUOTE_WORDS:
            yield quote

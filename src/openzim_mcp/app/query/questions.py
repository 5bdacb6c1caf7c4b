"""What a question asks for: its language, the kind of answer, the relation, and the kinds of archives that have such.

The words by which languages ask are in question_words.txt, those around a question in vocabulary.txt, relations in
relations.py.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, cast

from openzim_mcp.app.query.patterns import load_vocabulary, simplify
from openzim_mcp.app.query.relations import find_relations
from openzim_mcp.calls.search import Question
from openzim_mcp.text import SENTENCE_MARKS, find_words, is_unspaced_script, normalize, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openzim_mcp.calls.search import AnswerType, QuestionKind

ANSWER_TYPES: tuple[AnswerType, ...] = (
    "money", "age", "measure", "duration", "number", "date", "person", "place", "reason", "list", "steps", "definition",
)  # fmt: skip
"""Where terms start at the same place, the longest decides: "how many years" is a duration, "how many" a number."""
_QUESTION_WORD_FIRST = frozenset({"", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru"})
"""Languages in which a question starts with the word that asks; in others it may stand anywhere."""
_QUESTION_VERBS = frozenset(
    "is are was were do does did can could should would will has have had ist sind war kann darf est sont peut peux "
    "puis es son puede e pode puo kan mag czy ли هل क्या apakah".split()
)
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
_ENGLISH_HOMOGRAPHS = frozenset("art casa come comen mari mort nata nato peso prix re rei rey roi tod wo".split())
"""English words that name a relation in other languages."""
_QUOTED = re.compile(r"[\"“”„«‹]([^\"“”„«»‹›]{6,300})[\"“”»›]|(?<!\w)['‘]([^'‘’]{12,300})['’](?!\w)")
_SENTENCE = re.compile(rf"(?<=[{SENTENCE_MARKS}])\s+|(?<=[。！？])(?=[^\s。！？」』”’])")
_QUESTION_MARK = re.compile("[?\uff1f\u061f]")
_EDGE_PUNCTUATION = " \t,;:.!-–—…、，。！"
_PUNCTUATION = r"[,.:;!?…、，。：！？؟،]"
_AFTER_OPENING = rf"\s*(?:{_PUNCTUATION}+|\s[-–—]\s|\s|$)\s*"
_AFTER_OPENING_WORD = rf"(?:\s*(?:{_PUNCTUATION}+|\s[-–—]\s)\s*|\s+(?=(?:<opening>|<opening word>|<speaking>)(?!\w)))"
_BEFORE_CLOSING = rf"(?:\s|(?<={_PUNCTUATION}))[\s–—-]*"
_BEFORE_CLOSING_WORD = rf"(?:(?<={_PUNCTUATION})|\s[-–—])\s*"
_ENGLISH_CONJUNCTIONS = frozenset({"when", "where"})
"""They ask only after punctuation or words such as "know", or before a verb, unlike in "no error when it exists"."""
_BEFORE_QUESTION_WORD = re.compile(
    r"(?:[,;:.?!…\"'”»)-]|\b(?:and|or|know|remember|wonder|wondering|sure|idea|me|out|explain|since|until|in|by|from|to|for))$"
)
_AFTER_QUESTION_WORD = re.compile(
    r"[\s?!.]*$|\s(?:is|are|was|were|did|does|do|will|can|could|should|would|has|have|had)\b"
)
_NAME = re.compile(r"<([a-z' ]+)>")


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
_GENERAL_NAMES = ("quantity", "list", "definition")
"""Names of question_words.txt that decide only where a question has no term of the others: "what is the price of"."""


@lru_cache(_MAX_CACHED_QUESTIONS)
def analyze_question(text: str) -> Question:
    """Return what a question asks for."""
    whole = strip_surroundings(text)
    # A line to complete or to find is not a story around the question.
    core, context = (whole, "") if "quote" in _find_kinds(simplify(text), "", None) else _split_context(whole)
    simplified = simplify(core)
    language = detect_language(simplified)
    answer_type = _find_answer_type(simplified, language)
    kinds = _find_kinds(simplify(text), simplified, answer_type)
    relations = find_relations(core, function_words(language))
    return Question(
        text=core,
        context=context,
        language=language,
        answer_type="definition" if answer_type and "word" in kinds else answer_type,
        kinds=kinds,
        relation_terms=relations.terms,
        relation_words=relations.words,
        fact_names=relations.fact_names,
        quotes=_find_quotes(text),
    )


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
    spaced, unspaced = _split_terms(load_vocabulary()["opening"])
    words = _expand_names(rf"(?:<opening word>){_AFTER_OPENING_WORD}")
    return re.compile(
        rf"[\s¿¡]*(?:(?:{spaced})(?!\s+to\s){_AFTER_OPENING}|(?:{unspaced})\s*{_PUNCTUATION}*\s*|{words})"
    )


@cache
def _closing_pattern() -> re.Pattern[str]:
    spaced, unspaced = _split_terms(load_vocabulary()["closing"])
    words = _expand_names(rf"{_BEFORE_CLOSING_WORD}(?:<closing word>)")
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
        or _starts_with_question(simplified, language)
        or any(word in _asking_words(language) for word in find_words(simplified)[:1])
        or (language not in _QUESTION_WORD_FIRST and bool(re.search(_expand_names("<asked>"), simplified)))
        or "word" in _find_kinds("", simplified, None)
    )


@cache
def _asking_words(language: str) -> frozenset[str]:
    """Return the words by which a question starts in a language, such as "how" or "is"."""
    return frozenset(load_vocabulary()["asking"]) & _known_words().get(language, frozenset()) - {"if", "come"}


def _starts_with_question(simplified: str, language: str) -> bool:
    """Return whether a text starts with a term of question_words.txt."""
    start = simplified.lstrip("¿¡ ")
    return any(pattern.match(start) for pattern in _type_patterns(language).values())


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
    """Return the common words of a language, in which they may mean something else than in the others."""
    if language in {"", "en"}:
        return _ENGLISH_HOMOGRAPHS
    return frozenset(map(normalize, question_words().get(language, {}).get("function", [])))


def detect_language(simplified: str) -> str:
    """Return the two-letter code of the language in which a simplified question is asked; empty if nothing tells it."""
    for script, code in _SCRIPTS:
        if script.search(simplified):
            return code
    words = set(find_words(simplified))
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
    """Return the kind of answer by the first term that asks for a certain kind, else by a general one."""
    patterns = _type_patterns(language)
    found = [
        (match.start(), -match.end(), order)
        for order, name in enumerate(ANSWER_TYPES)
        for match in (patterns[name].finditer(simplified) if name not in _GENERAL_NAMES and name in patterns else ())
        if _is_asked(match, language)
    ]
    if found:
        return ANSWER_TYPES[min(found)[-1]]
    general = next((name for name in _GENERAL_NAMES if name in patterns and patterns[name].search(simplified)), None)
    return "number" if general == "quantity" else cast("AnswerType | None", general)


def _is_asked(match: re.Match[str], language: str) -> bool:
    """Return whether a question word is one, and not a conjunction: "what happens when", "no error when it exists"."""
    before, after = match.string[: match.start()].strip("¿¡ "), match.string[match.end() :]
    if not before or match.group() not in question_words().get(language, {}).get("conjunction", ()):
        return True
    if _starts_with_question(before, language) or before.split()[0] in _QUESTION_VERBS:
        return False
    if match.group() not in _ENGLISH_CONJUNCTIONS:
        return True
    return bool(_BEFORE_QUESTION_WORD.search(before) or _AFTER_QUESTION_WORD.match(after))


@cache
def _type_patterns(language: str) -> dict[str, re.Pattern[str]]:
    names = question_words().get(language) or question_words()["en"]
    return {
        name: re.compile(_any_term(tuple(terms)))
        for name, terms in names.items()
        if name not in {"function", "conjunction"}
    }


@cache
def _any_term(terms: tuple[str, ...]) -> str:
    """Return a regular expression for any of some terms; in scripts without spaces, inside other words too."""
    spaced, unspaced = _split_terms(terms)
    return rf"(?:(?<!\w)(?:{spaced})(?!\w)|{unspaced})"


def _split_terms(terms: Iterable[str]) -> tuple[str, str]:
    """Return regular expressions for the terms in scripts with spaces, and for those without; a star is any ending."""
    rows: tuple[list[str], list[str]] = ([], [])
    for term in terms:
        literal = re.escape(term).replace(r"\ ", r"\s+").replace("'", "'?").replace(r"\*", r"\w*")
        rows[is_unspaced_script(term)].append(literal)
    return "|".join(rows[0]) or "(?!)", "|".join(rows[1]) or "(?!)"


def _expand_names(pattern: str) -> str:
    """Replace each `<name>` by the terms of vocabulary.txt."""
    return _NAME.sub(lambda match: _any_term(tuple(load_vocabulary()[match[1]])), pattern)


@cache
def _kind_patterns() -> list[tuple[_KindRow, re.Pattern[str]]]:
    return [(row, re.compile(_expand_names(row.pattern))) for row in _KINDS]


def _find_kinds(whole: str, core: str, answer_type: AnswerType | None) -> list[QuestionKind]:
    kinds = {}
    for row, pattern in _kind_patterns():
        text = whole if row.kind in _KINDS_OF_WHOLE_TEXT else core
        if len({match.group() for match in pattern.finditer(text)}) >= row.min_terms:
            kinds[row.kind] = True
    if answer_type == "person":  # who made something is not in documentation
        kinds.pop("code", None)
    return list(kinds)


def _find_quotes(text: str) -> list[str]:
    """Return the quoted parts of a question that are long enough to be searched as they are."""
    return list(_quoted_parts(text))


def _quoted_parts(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        quote = (match[1] or match[2]).strip()
        if len(find_words(quote)) >= _MIN_QUOTE_WORDS:
            yield quote

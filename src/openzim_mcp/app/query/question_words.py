"""The words of question_words.txt by which languages ask: they tell the language, and the kind of answer asked for."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple, cast

from openzim_mcp.app.query.patterns import load_vocabulary, simplify
from openzim_mcp.text import find_words, is_unspaced_script, normalize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.calls.search import AnswerType

ANSWER_TYPES: tuple[AnswerType, ...] = (
    "money", "age", "measure", "duration", "number", "date", "person", "place", "reason", "list", "steps", "definition",
)  # fmt: skip
"""Where terms start at the same place, the longest decides: "how many years" is a duration, "how many" a number."""
_GENERAL_NAMES = ("quantity", "list", "definition")
"""Names of question_words.txt that decide only where a question has no term of the others: "what is the price of"."""
_QUESTION_VERBS = frozenset(
    "is are was were do does did can could should would will has have had ist sind war kann darf est sont peut peux "
    "puis es son puede e pode puo kan mag czy ли هل क्या apakah".split()
)
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
ENGLISH = frozenset({"", "en"})
"""A question whose words tell no language may be in English."""
_ENGLISH_HOMOGRAPHS = frozenset("art casa come comen mari mort nata nato peso prix re rei rey roi tod wo".split())
"""English words that name a relation in other languages."""
_ENGLISH_CONJUNCTIONS = frozenset({"when", "where"})
"""They ask only after punctuation or words such as "know", or before a verb, unlike in "no error when it exists"."""
_BEFORE_QUESTION_WORD = re.compile(
    r"(?:[,;:.?!…\"'”»)-]|\b(?:and|or|know|remember|wonder|wondering|sure|idea|me|out|explain|since|until|in|by|from|to|for))$"
)
_AFTER_QUESTION_WORD = re.compile(
    r"[\s?!.]*$|\s(?:is|are|was|were|did|does|do|will|can|could|should|would|has|have|had)\b"
)
_MISSPELLED = {
    "what": "waht whta wht whst wut wot",
    "where": "wher whre wehre whare",
    "when": "whn whem wehn",
    "which": "wich whcih wihch whitch whch",
    "who": "woh",
    "why": "whi wyh",
    "how": "hwo hou",
    "the": "teh hte",
    "does": "deos",
    "much": "mutch",
    "many": "meny",
    "synonym": "sinonym synonim synonymn synonom",
    "meaning": "meening meanning meaing",
    "definition": "defenition definiton defination definision",
    "difference": "diffrence diference differance diffrense",
}
"""How people misspell the words that tell what is asked in English, without what is a word itself: wen, wat, witch."""
_ASKING_WORDS = {wrong: right for right, words in _MISSPELLED.items() for wrong in words.split()}
_LATIN_WORD = re.compile(r"(?<![\w'’-])[a-z]+(?![\w'’-])", re.IGNORECASE)
_NAME = re.compile(r"<([a-z' ]+)>")


def correct_asking_words(text: str) -> str:
    """Return an English question with the words that ask spelled right: no archive has "wher"."""
    return _LATIN_WORD.sub(lambda match: _ASKING_WORDS.get(match.group().lower(), match.group()), text)


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
    if language in ENGLISH:
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


@cache
def asking_words(language: str) -> frozenset[str]:
    """Return the words by which a question starts in a language, such as "how" or "is"."""
    return frozenset(load_vocabulary()["asking"]) & _known_words().get(language, frozenset()) - {"if", "come"}


def starts_with_question(simplified: str, language: str) -> bool:
    """Return whether a text starts with a term of question_words.txt."""
    start = simplified.lstrip("¿¡ ")
    return any(pattern.match(start) for pattern in _type_patterns(language).values())


class AskedType(NamedTuple):
    """The kind of answer that a question asks for, and the words that say so."""

    answer_type: AnswerType | None = None
    term: str = ""


def find_answer_type(simplified: str, language: str) -> AskedType:
    """Return the kind of answer by the first term that asks for a certain kind, else by a general one."""
    patterns = _type_patterns(language)
    found = [
        (match.start(), -match.end(), order)
        for order, name in enumerate(ANSWER_TYPES)
        for match in (patterns[name].finditer(simplified) if name not in _GENERAL_NAMES and name in patterns else ())
        if _is_asked(match, language)
    ]
    if found:
        start, end, order = min(found)
        return AskedType(ANSWER_TYPES[order], simplified[start:-end])
    for name in _GENERAL_NAMES:
        match = patterns[name].search(simplified) if name in patterns else None
        if match:
            return AskedType("number" if name == "quantity" else cast("AnswerType", name), match.group())
    return AskedType()


def _is_asked(match: re.Match[str], language: str) -> bool:
    """Return whether a question word is one, and not a conjunction: "what happens when", "no error when it exists"."""
    before, after = match.string[: match.start()].strip("¿¡ "), match.string[match.end() :]
    if not before or match.group() not in question_words().get(language, {}).get("conjunction", ()):
        return True
    if starts_with_question(before, language) or before.split()[0] in _QUESTION_VERBS:
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
    spaced, unspaced = split_terms(terms)
    return rf"(?:(?<!\w)(?:{spaced})(?!\w)|{unspaced})"


def split_terms(terms: Iterable[str]) -> tuple[str, str]:
    """Return regular expressions for the terms in scripts with spaces, and for those without; a star is any ending."""
    rows: tuple[list[str], list[str]] = ([], [])
    for term in terms:
        literal = re.escape(term).replace(r"\ ", r"\s+").replace("'", "'?").replace(r"\*", r"\w*")
        rows[is_unspaced_script(term)].append(literal)
    return "|".join(rows[0]) or "(?!)", "|".join(rows[1]) or "(?!)"


def expand_names(pattern: str) -> str:
    """Replace each `<name>` by the terms of vocabulary.txt."""
    return _NAME.sub(lambda match: _any_term(tuple(load_vocabulary()[match[1]])), pattern)

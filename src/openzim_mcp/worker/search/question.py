"""How well a passage fits what a question asks for, beyond its words: kind of answer, relation, quote, language."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from openzim_mcp.text import find_words, normalize, sentence_ends, tokenize
from openzim_mcp.worker.search.answer_types import holds_answer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from openzim_mcp.worker.search.query import ParsedQuery

_QUOTE_RUN_WORDS = 4
"""A quote is compared in runs of so many words, as a book may break or spell it otherwise."""
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "zh": re.compile("[\u3400-\u9fff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "ru": re.compile("[\u0400-\u052f]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
}
_LETTER = re.compile(r"[^\W\d_]")
_MIN_SCRIPT_SHARE = 0.25
_SAMPLED_CHARS = 400
_NOT_A_WORD = re.compile(r"[^\w ]+")


def script_language(text: str) -> str:
    """Return the language that the script of a text tells, such as `ja` for kana; empty for Latin and others."""
    sample = text[:_SAMPLED_CHARS]
    letters = len(_LETTER.findall(sample)) or 1
    for code, pattern in _SCRIPTS.items():
        min_share = _MIN_SCRIPT_SHARE / 2 if code == "ja" else _MIN_SCRIPT_SHARE
        if len(pattern.findall(sample)) >= min_share * letters:
            return code
    return ""


class QuestionMatcher:
    """What a question asks for, prepared to be compared with many passages of one archive."""

    def __init__(self, query: ParsedQuery) -> None:
        self._query = query
        self._question = query.question
        self._words = frozenset(find_words(normalize(query.question.text)))
        stem = query.language.stem
        self._relation_stems = {stem(word) for word in query.question.relation_terms}
        said = (stem(word) for term in query.question.relation_words for word in term.split())
        self._said = [normalize(word) for word in dict.fromkeys(query.question.relation_words)]
        self._said_stems = frozenset(said)
        self._fact_names = frozenset(query.question.fact_names)
        self._is_script = script_language(query.question.text)

    @cached_property
    def _entity_weight(self) -> float:
        return self._weight(stem for stem in self._query.weights if stem not in self._relation_stems)

    def _weight(self, stems: Iterable[str]) -> float:
        return sum(self._query.weights.get(stem, 0.0) for stem in stems)

    def entity_share(self, title_stems: Collection[str]) -> float:
        """Return the share of the question in a title, without the words that name a relation."""
        named = self._weight(stem for stem in title_stems if stem not in self._relation_stems)
        return named / self._entity_weight if self._entity_weight else 0.0

    def holds_answer(self, text: str) -> bool:
        """Return whether a text holds the kind of answer that is asked for."""
        return holds_answer(self._question.answer_type, text, self._words)

    def typed_window(self, text: str, title_stems: Collection[str]) -> float:
        """Return the share of the question, a title included, in the best sentence that holds such an answer."""
        kind = self._question.answer_type
        if kind is None:
            return 0.0
        best = 0.0
        start = 0
        for end in (*sentence_ends(text), len(text)):
            sentence = text[start:end]
            start = end
            share = self._share(sentence, title_stems)
            if share > best and holds_answer(kind, sentence, self._words):
                best = share
        return best

    def _share(self, sentence: str, title_stems: Collection[str]) -> float:
        stem = self._query.language.stem
        stems = {stem(word) for word in tokenize(normalize(sentence))} | set(title_stems)
        if self._relation_stems and self._said_stems & stems:
            stems |= self._relation_stems
        return sum(weight for key, weight in self._query.weights.items() if key in stems) / self._query.total_weight

    def has_relation_fact(self, fact_names: Iterable[str]) -> bool:
        """Return whether one of some key facts has a name that expresses the relation asked for."""
        return any(is_fact_asked(name, self._fact_names) for name in fact_names)

    def says_relation(self, normalized: str) -> bool:
        """Return whether a normalized text expresses the relation asked for."""
        return any(word in normalized for word in self._said)

    def quoted_share(self, normalized: str) -> float:
        """Return the share of the quoted words that stand in a normalized text as they are quoted."""
        shares = [_run_share(find_words(normalize(quote)), normalized) for quote in self._question.quotes]
        return max(shares, default=0.0)

    def is_in_language(self, text: str) -> bool:
        """Return whether a text is in the language of the question, as far as scripts tell."""
        return script_language(text) == self._is_script

    @property
    def asks_definition(self) -> bool:
        """Whether the question asks what something is."""
        return self._question.answer_type == "definition" or "word" in self._question.kinds


def is_fact_asked(name: str, asked: Collection[str]) -> bool:
    """Return whether the name of a key fact is one of some names, or starts or ends with one."""
    key = " ".join(_NOT_A_WORD.sub(" ", normalize(name)).split())
    return key in asked or any(key.startswith(f"{other} ") or key.endswith(f" {other}") for other in asked)


def _run_share(words: list[str], text: str) -> float:
    """Return the share of the runs of some words that stand in a text, whatever stands between the words."""
    flat = f" {' '.join(find_words(text))} "
    size = min(_QUOTE_RUN_WORDS, len(words))
    runs = [f" {' '.join(words[start : start + size])} " for start in range(len(words) - size + 1)]
    return sum(run in flat for run in runs) / (len(runs) or 1)

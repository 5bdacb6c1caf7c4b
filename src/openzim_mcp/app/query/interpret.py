"""What a query asks for: every interpretation that the patterns of the intents allow, and which is the likeliest."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.intents import INTENTS, SHOW_PREFIX, Intent
from openzim_mcp.app.query.patterns import (
    COMMA,
    CONJUNCTION,
    UNSPACED_CHAR,
    Pattern,
    TokenizedQuery,
    compile_regex,
    load_vocabulary,
    match_end,
    simplify,
    vocabulary_words,
)
from openzim_mcp.text import edit_distance

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence

_PUNCTUATION = " \t'\"“”‘’«»„`.,;:!?¿¡。？！؟：、"
_GAP = rf"(?:[\s,]+|(?<=')|(?<={UNSPACED_CHAR}))"
_POLITE_START = rf"\s*(?:(?:<please>){_GAP})*"
_POLITE_END = rf"(?:[\s,.!]+|(?<={UNSPACED_CHAR}))(?:<thanks>)[\s.!?。]*$"
_SHOW = rf"\s+(?:(?:<show>){_GAP}(?:(?:<me>){_GAP})?)?(?:(?:<only>){_GAP})?(?:(?:<the>){_GAP})?(?=.*\w)"
_BEFORE_TITLE = (
    rf"(?:(?:<the>){_GAP}){{0,2}}(?:(?:<article>){_GAP}(?:(?:<named>|<of>){_GAP})?|(?:<named>){_GAP})?(?=\S)"
)
_AFTER_TITLE = rf"(?:(?:\s*(?:<'s>)\s*|\s+|(?<={UNSPACED_CHAR}))(?:<article>))?(?:\s+(?:<apart>))?$"
_GRAMMATICAL_ARTICLE = rf"(?!(?:<name>)\b)(?:<the>){_GAP}(?=\S)"
_QUOTED = r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)'[^']*'(?!\w)"
_LIST_SEPARATORS = (rf"\s+(?:<and>)\s+|{CONJUNCTION}", r"\s+(?:<and short>)\s+", r"\s+(?:<and weak>)\s+")
"""What separates the items of a list: the least ambiguous first."""
_REMEMBERED_QUERIES = 64
"""A query is interpreted more than once on its way."""
_MAX_LIST_ITEMS = 5
_MAX_COMMAND_WORDS = 3
_MIN_TYPO_CHARS = 5
"""A word of at least this length may be a typo if it differs by one letter; too many shorter ones are words."""
_MIN_TYPO_CHARS_IF_MATCHED = 6
"""The same if the query matches a pattern as it is written."""
_UNKNOWN_TITLE_SCORE = 0.2
_QUESTION_SCORE = 0.3
_TYPO_FACTOR = 0.95
_SCORE_MARGIN = 0.12
"""Interpretations whose scores differ by less are ambiguous."""


@dataclass(frozen=True)
class Interpretation:
    """One way to interpret a query; `has_typo` if a word of it was corrected for that.

    With `archive_match` its title is that of an archive.
    """

    intent: str
    slots: dict[str, str] = field(default_factory=dict)
    title_slot: str | None = None
    certainty: float = 0.9
    has_typo: bool = False
    archive_match: str | None = None

    @property
    def title(self) -> str | None:
        """The title of the article, or of the archive, that it needs."""
        return self.slots.get(self.title_slot) if self.title_slot else None

    @property
    def score_key(self) -> str | None:
        """What its title is scored under: an archive may have the title of an article."""
        return f"zim://{self.title}" if self.archive_match else self.title

    @property
    def canonical_request(self) -> str:
        """A query that is interpreted in this way only."""
        return _CANONICAL_REQUESTS[self.intent].format(**self.slots)

    def score(self, title_scores: Mapping[str, float]) -> float:
        """Return how likely it is, by how well the archives know its title; for a question, the whole query."""
        if self.intent == "question":
            return max(_QUESTION_SCORE, title_scores.get(self.slots["query"], 0.0))
        certainty = self.certainty * (_TYPO_FACTOR if self.has_typo else 1.0)
        if self.score_key is None:
            return certainty
        return max(_UNKNOWN_TITLE_SCORE, certainty * title_scores.get(self.score_key, 0.0))


class _Row(NamedTuple):
    """A pattern of an intent, and whether a request to be shown something may precede it."""

    intent: Intent
    may_follow_show: bool
    pattern: Pattern


@cache
def _pattern_table() -> list[_Row]:
    rows = [(intent, text) for intent in INTENTS for text in intent.patterns]
    return [
        _Row(intent, text.startswith(SHOW_PREFIX), Pattern(text.removeprefix(SHOW_PREFIX))) for intent, text in rows
    ]


_CANONICAL_REQUESTS = {intent.name: intent.canonical_request for intent in INTENTS}


def interpret(query: str) -> list[Interpretation]:
    """Return every interpretation of a query, in the order of the table; the last is that it is a question."""
    text = _strip_politeness(query)
    interpretations = _match_patterns(text)
    corrected = _correct_typos(text, _MIN_TYPO_CHARS_IF_MATCHED if interpretations else _MIN_TYPO_CHARS)
    with_typo = _match_patterns(corrected) if corrected != text else ()
    return [
        *(replace(interpretation, has_typo=True) for interpretation in with_typo),
        *interpretations,
        Interpretation("question", {"query": query}),
    ]


def _strip_politeness(query: str) -> str:
    text = unicodedata.normalize("NFC", query).strip().lstrip("¿¡")
    text = text[match_end(_POLITE_START, simplify(text)) :]
    thanks = compile_regex(_POLITE_END).search(simplify(text))
    return (text[: thanks.start()] if thanks else text).strip() or query.strip()


def _correct_typos(text: str, min_chars: int) -> str:
    """Replace the first words of a query by those of requests that they probably are."""
    words = text.split()
    if not words or simplify(words[0]) in load_vocabulary()["asking"]:
        return text
    for number, word in enumerate(map(str.lower, words[:_MAX_COMMAND_WORDS])):
        if word.isascii() and word not in vocabulary_words():
            similar = [command for command in load_vocabulary()["command"] if _is_typo(word, command, min_chars)]
            words[number] = similar[0] if similar else words[number]
    return " ".join(words)


def _is_typo(word: str, command: str, min_chars: int) -> bool:
    """Return whether a word is a command with letters swapped or, if it is long enough, with one letter wrong."""
    is_anagram = word[0] == command[0] and sorted(word) == sorted(command)
    return is_anagram or (len(word) >= min_chars and edit_distance(word, command, 1) <= 1)


@lru_cache(maxsize=_REMEMBERED_QUERIES)
def _match_patterns(text: str) -> tuple[Interpretation, ...]:
    """Return the interpretations of a query as it is written."""
    whole = f" {text}"
    without_show = f" {whole[match_end(_SHOW, simplify(whole)) :]}"
    simplified = {variant: simplify(variant) for variant in (without_show, whole)}
    interpretations: list[Interpretation] = []
    query = TokenizedQuery(simplified[whole])
    regexes = ((row, regex) for row in _pattern_table() for regex in row.pattern.regexes(query))
    for (intent, may_follow_show, _), regex in regexes:
        for variant in simplified if may_follow_show else (whole,):
            match = regex.fullmatch(simplified[variant])
            for slots in _fill_slots(match, variant, intent.title_slot) if match else ():
                interpretation = Interpretation(
                    intent.name, slots, intent.title_slot, intent.certainty, archive_match=intent.archive_match
                )
                if interpretation not in interpretations:
                    interpretations.append(interpretation)
    return tuple(interpretations)


def _fill_slots(match: re.Match[str], text: str, title_slot: str | None) -> Iterator[dict[str, str]]:
    """Yield the values of the slots, once for each form of the title."""
    slots = {
        name: text[slice(*match.span(name))].strip(_PUNCTUATION) for name, value in match.groupdict().items() if value
    }
    if "namespace" in slots:
        slots["namespace"] = slots["namespace"][:1].upper() + slots["namespace"][1:]
    if title_slot is None:
        yield slots
        return
    for title in _title_forms(slots[title_slot]):
        yield slots | {title_slot: title}


def _title_forms(text: str) -> list[str]:
    """Return a title as it is written and without words such as `the article on` around it, the likelier first."""
    start = match_end(_BEFORE_TITLE, simplify(text))
    after = compile_regex(_AFTER_TITLE).search(simplify(text), start + 1)
    title = text[start : after.start() if after else None].strip(_PUNCTUATION)
    forms = [_strip_grammatical_article(title), title, text]
    return list(dict.fromkeys(forms if text[:1].islower() else reversed(forms)))


def _strip_grammatical_article(name: str) -> str:
    name = name.strip()
    return name[match_end(_GRAMMATICAL_ARTICLE, simplify(name)) if name[:1].islower() else 0 :].strip(_PUNCTUATION)


def titles_to_score(query: str, interpretations: Sequence[Interpretation]) -> list[str]:
    """Return the titles of articles that decide between the interpretations of a query: first the query itself."""
    titles = [row.title for row in interpretations if row.title and not row.archive_match]
    return list(dict.fromkeys([query, *titles]))


def rank_interpretations(
    interpretations: Sequence[Interpretation], title_scores: Mapping[str, float]
) -> list[Interpretation]:
    """Return interpretations, the likeliest first, by how well the archives know the titles in them.

    A query that is itself a title is a question about that article, whatever else it may mean.
    """
    return sorted(interpretations, key=lambda interpretation: -interpretation.score(title_scores))


def find_alternatives(ranked: Sequence[Interpretation], title_scores: Mapping[str, float]) -> list[Interpretation]:
    """Return what else a query may ask for, each intent once, if others are nearly as likely as the first."""
    best = ranked[0]
    min_score = max(_QUESTION_SCORE, best.score(title_scores) - _SCORE_MARGIN)
    by_intent = {
        row.intent: row if row.intent != "question" else Interpretation("article", {"title": row.slots["query"]})
        for row in reversed(ranked[1:])
        if row.score(title_scores) > min_score
    }
    return [alternative for intent, alternative in reversed(by_intent.items()) if intent != best.intent]


def split_list(text: str, max_items: int = _MAX_LIST_ITEMS) -> list[str]:
    """Return the items of a list such as `A, B and C` or `A vs. B`, without quotes and grammatical articles."""
    parts = items = _split_outside_quotes(text, rf"{COMMA}(?:(?:<and>)\s+)?")
    for separator in _LIST_SEPARATORS if len(parts) == 1 else _LIST_SEPARATORS[:-1]:
        items = [item for part in parts for item in _split_outside_quotes(part, separator)]
        if len(items) > len(parts):
            break
    return [item for item in map(_strip_grammatical_article, items) if item][:max_items]


def _split_outside_quotes(text: str, separator: str) -> list[str]:
    matches = compile_regex(f"{_QUOTED}|({separator})").finditer(simplify(text))
    separators = [match for match in matches if match[1]]
    starts, ends = [0, *(match.end() for match in separators)], [*(match.start() for match in separators), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]

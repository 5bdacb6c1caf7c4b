"""Snippets: the part of a passage that matches a query best, with the matching words in bold."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from openzim_mcp.text import is_unspaced_script, ngram_size, normalize, remove_mark, sentence_ends, word_spans

if TYPE_CHECKING:
    from openzim_mcp.worker.search.query import ParsedQuery

_MAX_CONTEXT_CHARS = 80
"""How far before the first match a snippet may start, to start with a sentence."""

Match = tuple[int, int, float]
"""Start, end and weight of words of the query in a text."""


def make_snippet(text: str, query: ParsedQuery, max_chars: int) -> str:
    """Return about `max_chars` characters of a passage around the words of a query, these in bold."""
    line = " ".join(remove_mark(remove_mark(text, "**"), "`").split())
    matches = _find_matching_words(line, query)
    start, stop = best_window(line, matches, max_chars)
    spans = [(a, b) for a, b, _ in matches if start <= a and b <= stop]
    return ("… " if start else "") + _bold(line, start, stop, spans) + (" …" if stop < len(line) else "")


def _find_matching_words(text: str, query: ParsedQuery) -> list[Match]:
    """Return the words of a query in a text; touching groups of unspaced scripts are joined."""
    weights = query.word_weights
    is_ascii = text.isascii()
    matches: list[Match] = []
    for start, stop in word_spans(text):
        word = text[start:stop]
        if not is_ascii and is_unspaced_script(word):
            matches += _find_unspaced_matches(word, start, query.weights)
            continue
        weight = weights[word]
        if weight is not None:
            matches.append((start, stop, weight))
    return matches


def _find_unspaced_matches(run: str, offset: int, weights: dict[str, float]) -> list[Match]:
    matches: list[Match] = []
    size = ngram_size(run)
    for at in range(max(1, len(run) - size + 1)):
        weight = weights.get(normalize(run[at : at + size]))
        if weight is None:
            continue
        start, stop = (offset + end for end in _whole_letters(run, at, min(len(run), at + size)))
        if matches and matches[-1][1] >= start:
            start, _, previous_weight = matches.pop()
            weight += previous_weight
        matches.append((start, stop, weight))
    return matches


def _whole_letters(run: str, start: int, stop: int) -> tuple[int, int]:
    """Return a span with the letter that its first marks belong to, and with the marks of its last letter."""
    while start and unicodedata.category(run[start]).startswith("M"):
        start -= 1
    while stop < len(run) and unicodedata.category(run[stop]).startswith("M"):
        stop += 1
    return start, stop


def best_window(text: str, matches: list[Match], max_chars: int) -> tuple[int, int]:
    """Return start and end of the part with the heaviest matches, moved to the borders of sentences or words."""
    if len(text) <= max_chars:
        return 0, len(text)
    best_weight, start = -1.0, 0
    for number, (first, _, _) in enumerate(matches):
        last = first + max_chars - _MAX_CONTEXT_CHARS
        weight = sum({text[a:b].lower(): weight for a, b, weight in matches[number:] if b <= last}.values())
        if weight > best_weight:
            best_weight, start = weight, first
    start = _snippet_start(text, max(0, min(start, len(text) - max_chars + _MAX_CONTEXT_CHARS)))
    return start, _snippet_end(text, start, max_chars)


def _snippet_start(text: str, position: int) -> int:
    """Return where a sentence starts shortly before a position, or else a word."""
    earliest = max(0, position - _MAX_CONTEXT_CHARS)
    if not earliest:
        return 0
    sentence = max(sentence_ends(text, earliest, position), default=0)
    if sentence:
        return sentence
    blank = text.find(" ", max(0, position - _MAX_CONTEXT_CHARS // 2), position)
    return blank + 1 if blank >= 0 else position


def _snippet_end(text: str, start: int, max_chars: int) -> int:
    if start + max_chars >= len(text):
        return len(text)
    blank = text.rfind(" ", start + max_chars // 2, start + max_chars)
    return blank if blank > 0 else start + max_chars


def _bold(text: str, start: int, stop: int, spans: list[tuple[int, int]]) -> str:
    parts, at = [], start
    for a, b in spans:
        parts += [text[at:a], "**", text[a:b], "**"]
        at = b
    return "".join([*parts, text[at:stop]]).strip()

"""The part of a passage that shows why it was found, with the words in bold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.text import is_unspaced_script, normalize, sentence_ends, word_spans

if TYPE_CHECKING:
    from openzim_mcp.worker.search.query import Wanted

_LOOK_BACK = 80


def snippet(text: str, wanted: Wanted, length: int) -> str:
    """Return about `length` characters of a passage around the words of a query, these in bold."""
    flat = " ".join(text.replace("**", "").replace("`", "").split())
    hits = _hits(flat, wanted)
    start, stop = _window(flat, hits, length)
    shown = [(a, b) for a, b, _ in hits if start <= a and b <= stop]
    return ("… " if start else "") + _bold(flat, start, stop, shown) + (" …" if stop < len(flat) else "")


def _hits(text: str, wanted: Wanted) -> list[tuple[int, int, float]]:
    """Return where the words of a query stand, and what each is worth; touching pairs of dense scripts are joined."""
    weights = wanted.weights
    found: list[tuple[int, int, float]] = []
    for start, stop in word_spans(text):
        word = text[start:stop]
        if is_unspaced_script(word):
            found += _dense_hits(word, start, weights)
            continue
        weight = weights.get(wanted.language.stem(normalize(word)))
        if weight is not None:
            found.append((start, stop, weight))
    return found


def _dense_hits(run: str, offset: int, weights: dict[str, float]) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    for at in range(max(1, len(run) - 1)):
        weight = weights.get(normalize(run[at : at + 2]))
        if weight is None:
            continue
        start, stop = offset + at, offset + min(len(run), at + 2)
        if found and found[-1][1] >= start:
            start, _, before = found.pop()
            weight += before
        found.append((start, stop, weight))
    return found


def _window(text: str, hits: list[tuple[int, int, float]], length: int) -> tuple[int, int]:
    """Return the borders of the part that is worth most, moved to those of sentences or words."""
    if len(text) <= length:
        return 0, len(text)
    best, start = -1.0, 0
    for number, (first, _, _) in enumerate(hits):
        inside = {text[a:b].lower(): w for a, b, w in hits[number:] if b - first <= length - _LOOK_BACK}
        if sum(inside.values()) > best:
            best, start = sum(inside.values()), first
    start = _begin(text, max(0, min(start, len(text) - length + _LOOK_BACK)))
    return start, _end(text, start, length)


def _begin(text: str, at: int) -> int:
    """Return where a sentence begins shortly before a place, or else a word."""
    earliest = max(0, at - _LOOK_BACK)
    if not earliest:
        return 0
    sentence = max(sentence_ends(text, earliest, at), default=0)
    if sentence:
        return sentence
    blank = text.find(" ", max(0, at - _LOOK_BACK // 2), at)
    return blank + 1 if blank >= 0 else at


def _end(text: str, start: int, length: int) -> int:
    if start + length >= len(text):
        return len(text)
    blank = text.rfind(" ", start + length // 2, start + length)
    return blank if blank > 0 else start + length


def _bold(text: str, start: int, stop: int, shown: list[tuple[int, int]]) -> str:
    pieces, at = [], start
    for a, b in shown:
        pieces += [text[at:a], "**", text[a:b], "**"]
        at = b
    return "".join([*pieces, text[at:stop]]).strip()

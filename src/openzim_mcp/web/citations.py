"""How a cited text is marked: the words of the question in it, and the place of it in its article (text fragments)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from openzim_mcp.text import find_words, is_unspaced_script, normalize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INLINE_MARKS = re.compile(r"\*\*|~~|`|^\\|(?<!\w)\*|\*(?!\w)")
_BLOCK_MARKS = re.compile(r"^\s*(?:[->:] |\d+\. )")
_FACT_LINE = re.compile(r"- ([^:|]{1,60}): (.+)")
_FRAGMENT_WORDS = 5
_MARKED_PIECES = 4
_PUNCTUATION = ".,;:!?()[]\"'"
_MIN_MATCHED_CHARS = 3
_MIN_STEM_CHARS = 4
_MAX_ENDING_CHARS = 3
# What questions are made of; how often a word occurs in an archive is not known here.
_QUESTION_WORDS = frozenset(
    "all and any are but can did for had has her his how its not our the was who why you about after also been "
    "before between both could does during each from have here into just many more most much "
    "only other over same should some such than that their them then there these they this those through under very "
    "want were what when where which while will with would your".split()
)


def word_matcher(question: str) -> Callable[[str], bool]:
    """Return a function that tells whether a word of a text is one of the question's, in any of its forms."""
    words = {word for word in find_words(normalize(question)) if len(word) >= _MIN_MATCHED_CHARS or word.isdecimal()}
    words -= _QUESTION_WORDS

    def is_matched(word: str) -> bool:
        normalized = normalize(word)
        return normalized in words or any(_is_same_word(normalized, other) for other in words)

    return is_matched


def _is_same_word(word: str, other: str) -> bool:
    """Return whether two words differ in a short ending only."""
    if min(len(word), len(other)) < _MIN_STEM_CHARS or is_unspaced_script(word):
        return False
    longer = max(len(word), len(other))
    shared = next((n for n in range(longer) if word[n : n + 1] != other[n : n + 1]), longer)
    return shared >= _MIN_STEM_CHARS and 3 * shared >= 2 * longer and longer - shared <= _MAX_ENDING_CHARS


def text_fragment(passages: Sequence[str], is_matched: Callable[[str], bool] | None = None) -> str:
    """Return the fragment that marks passages, and scrolls to the piece of the first with the most matched words."""
    first, *others = map(_split_pieces, passages)
    first.sort(key=lambda parts: -_count_matches([word for part in parts for word in part], is_matched))
    pieces = [*first, *(piece for row in others for piece in row)]
    marked = "&".join(f"text={_quote_piece(parts)}" for parts in pieces[:_MARKED_PIECES])
    return f":~:{marked}" if marked else ""


def _split_pieces(text: str) -> list[list[list[str]]]:
    lines = [_INLINE_MARKS.sub("", line) for line in text.replace("…", "\n").split("\n")]
    return [piece for line in lines if (piece := _split_piece(line))]


def _split_piece(line: str) -> list[list[str]]:
    """Return the words of a line, apart where the page has several elements: cells, and a name and its value."""
    fact = _FACT_LINE.match(line)
    parts = list(fact.groups()) if fact else _BLOCK_MARKS.sub("", line).split("|")
    return [words for part in parts if (words := part.split()) and not set(part) <= set(" -|")]


def _quote_piece(parts: Sequence[Sequence[str]]) -> str:
    """Return a piece of text for a fragment; of one that is long, or in several elements, how it starts and ends."""
    if len(parts) == 1 and len(parts[0]) <= 2 * _FRAGMENT_WORDS:
        return _quote_fragment(parts[0])
    return f"{_quote_fragment(parts[0][:_FRAGMENT_WORDS])},{_quote_fragment(parts[-1][-_FRAGMENT_WORDS:])}"


def _count_matches(words: Sequence[str], is_matched: Callable[[str], bool] | None) -> int:
    return sum(is_matched(word.strip(_PUNCTUATION)) for word in words) if is_matched else 0


def _quote_fragment(words: Sequence[str]) -> str:
    return quote(" ".join(words), safe="").replace("-", "%2D")

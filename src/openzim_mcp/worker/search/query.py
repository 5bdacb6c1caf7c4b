"""A query as an archive understands it: the words it is about, what each is worth, what had to be put right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.search import spelling
from openzim_mcp.worker.search.language import Language, Word, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from openzim_mcp.worker.zim import Archive

_CORRECTED = 4


class Term(NamedTuple):
    """A word of a query with the number of articles that have it, and what that makes it worth."""

    word: str
    stem: str
    frequency: int
    weight: float

    @property
    def probe(self) -> str:
        """What every form of the word has in it: the start that it shares with its stem, or the stem."""
        same = 0
        while same < min(len(self.word), len(self.stem)) and self.word[same] == self.stem[same]:
            same += 1
        return self.word[:same] if same > 1 or self.stem not in self.word else self.stem


@dataclass(frozen=True)
class Wanted:
    """A query, read. `text` has the corrections in it."""

    text: str
    language: Language
    terms: tuple[Term, ...]
    corrected: dict[str, str]

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each stem is worth."""
        return {term.stem: term.weight for term in self.terms}

    @cached_property
    def known(self) -> list[Term]:
        """The terms that occur in the archive, the rarest first."""
        return sorted((term for term in self.terms if term.frequency), key=lambda term: -term.weight)

    @property
    def unknown(self) -> list[str]:
        """The words that no article has."""
        return [term.word for term in self.terms if not term.frequency]

    @cached_property
    def total(self) -> float:
        """What an article is worth that has all the words."""
        return sum(term.weight for term in self.terms) or 1.0


def weigh(words: Sequence[Word], frequency: Callable[[str], int], articles: int) -> tuple[Term, ...]:
    """Return words with their weights; one that no article has weighs like the rarest."""
    found = []
    for word in words:
        count = frequency(word.text)
        found.append(Term(word.text, word.stem, count, math.log(1 + max(0.5, articles - count + 0.5) / (count + 0.5))))
    return tuple(found)


def language_for(archive: Archive, text: str) -> Language:
    """Return the language to read a query to an archive in."""
    return language_of(archive.languages, text)


def read(archive: Archive, text: str, known: Collection[str] | None = ()) -> Wanted:
    """Read a query with the help of an archive's index; words that are known to be right are left as they are.

    Without a list of them, all are taken to be right.
    """
    language = language_for(archive, text)
    words = language.content_words(text)
    corrected: dict[str, str] = {}
    found: dict[str, Word] = {}
    for word in words:
        right = None
        is_right = known is None or word.text in known or archive.frequency(word.text)
        if not is_right and len(corrected) < _CORRECTED:
            right = spelling.correct(archive, word.text)
        if right:
            corrected[word.text] = right
        for part in right.split() if right else [word.text]:
            found.setdefault(language.stem(part), Word(part, language.stem(part)))
    terms = weigh(list(found.values()), archive.frequency, max(1, archive.counts["articles"]))
    return Wanted(_replaced(text, corrected), language, terms, corrected)


def _replaced(text: str, corrected: dict[str, str]) -> str:
    """Return a text with its corrections; it is lower-cased if there are any."""
    if not corrected:
        return text
    low = text.lower()
    for wrong, right in corrected.items():
        low = low.replace(wrong, right)
    return low

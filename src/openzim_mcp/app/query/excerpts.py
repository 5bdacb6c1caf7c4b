"""Which sentences of some passages to show: those that are likeliest to have an answer, for what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import tokens
from openzim_mcp.text import normalize, sentence_ends, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.search.language import Language

Cost = Callable[[str], float]

_SURE = 12.0
"""How much likelier a passage has the answer than one whose score is 1 less: e to this power."""
_TELLING = 3.0
"""How much likelier a sentence has it that has all words of a question than one that has none: e to this power."""
_BESIDE = 0.2
"""Which part of its chance a sentence gets from each of its neighbours."""
_GOES_ON = 1.2
"""How much more a sentence is worth next to one that is shown: text in one piece is easier to read."""
_SPACE = 0.5
"""What stands between two sentences costs about that."""
_SHORTEST = 20
_NEW_LINE = "\n"
_FENCE = "```"
_ALIKE = 0.8
"""A sentence is not shown that has this part of its words in common with one that is."""
_FEW_WORDS = 4


class Asked(NamedTuple):
    """The words of a question, as one archive weighs them."""

    language: Language
    weights: dict[str, float]

    def share(self, words: Sequence[str]) -> float:
        """Return the share of the question that some words have."""
        held = {stem for word in words if (stem := self.language.stem(word)) in self.weights}
        return sum(self.weights[stem] for stem in held) / (sum(self.weights.values()) or 1.0)


class Passage(NamedTuple):
    """A text that may be shown, what it scores, and what naming its source costs: in all, or after another of it."""

    text: str
    score: float
    asked: Asked
    source: str
    naming: float
    naming_again: float


@dataclass(frozen=True)
class _Sentence:
    """A sentence: where it stands, what it costs, and how likely it has the answer."""

    passage: int
    place: int
    words: frozenset[str]
    cost: float
    chance: float


def choose(passages: Sequence[Passage], budget: float, cost: Cost) -> list[str]:
    """Return what to show of each passage within a budget; nothing of some."""
    split = [_sentences(passage.text) for passage in passages]
    kept = _Kept(passages, budget)
    waiting = _weighed(passages, split, cost)
    while waiting:
        best = max(waiting, key=kept.worth)
        waiting.remove(best)
        if kept.worth(best):
            kept.add(best)
    shown = [_join(sentences, kept.places(number)) for number, sentences in enumerate(split)]
    if not any(shown) and passages:
        shown[0] = tokens.truncate(passages[0].text, (budget - passages[0].naming) / tokens.SAFETY_FACTOR)
    return shown


def _sentences(text: str) -> list[str]:
    """Return a text in sentences and lines, each with the blank after it; a very short one stays with the next."""
    found = []
    start = 0
    for end in sentence_ends(text):
        sentence = text[start:end]
        if len(sentence) >= _SHORTEST or "\n" in sentence[len(sentence.rstrip()) :]:
            found.append(sentence)
            start = end
    found.append(text[start:])
    return _with_whole_code([sentence for sentence in found if sentence.strip()])


def _with_whole_code(sentences: Sequence[str]) -> list[str]:
    """Return sentences, the lines between two fences as one."""
    found: list[str] = []
    is_code = False
    for sentence in sentences:
        if is_code:
            found[-1] += sentence
        else:
            found.append(sentence)
        is_code ^= sentence.startswith(_FENCE)
    return found


def _weighed(passages: Sequence[Passage], split: Sequence[Sequence[str]], cost: Cost) -> list[_Sentence]:
    """Return all sentences with their chances: that of the passage, shared out among its sentences."""
    best = max((passage.score for passage in passages), default=0.0)
    found = []
    for number, (passage, sentences) in enumerate(zip(passages, split, strict=True)):
        words = [tokenize(normalize(sentence)) for sentence in sentences]
        chances = _spread([math.exp(_TELLING * passage.asked.share(held)) for held in words])
        chance = math.exp(_SURE * (passage.score - best))
        found += [
            _Sentence(number, place, frozenset(words[place]), cost(sentence) + _SPACE, chance * chances[place])
            for place, sentence in enumerate(sentences)
        ]
    return found


def _spread(values: list[float]) -> list[float]:
    """Return shares of the whole, each with a part of its neighbours'; at the ends with more of its own."""
    whole = sum(values)
    before, after = [*values[:1], *values], [*values[1:], *values[-1:]]
    return [
        ((1 - 2 * _BESIDE) * here + _BESIDE * (left + right)) / whole
        for left, here, right in zip(before, values, after, strict=False)
    ]


class _Kept:
    """The sentences that are shown, and what is left of the budget."""

    def __init__(self, passages: Sequence[Passage], budget: float) -> None:
        self._passages = passages
        self._left = budget
        self._places: dict[int, set[int]] = {}
        self._sources: set[str] = set()
        self._words: list[frozenset[str]] = []

    def worth(self, sentence: _Sentence) -> float:
        """Return the chance of a sentence for each token that it costs now; nothing if there is no room for it."""
        cost = self._cost(sentence)
        neighbours = {sentence.place - 1, sentence.place + 1}
        goes_on = _GOES_ON if neighbours & self.places(sentence.passage) else 1.0
        return goes_on * sentence.chance / cost if cost <= self._left else 0.0

    def _cost(self, sentence: _Sentence) -> float:
        if sentence.passage in self._places:
            return sentence.cost
        passage = self._passages[sentence.passage]
        return sentence.cost + (passage.naming_again if passage.source in self._sources else passage.naming)

    def add(self, sentence: _Sentence) -> None:
        """Show a sentence, unless another one says the same."""
        if self._repeats(sentence.words):
            return
        self._left -= self._cost(sentence)
        self._places.setdefault(sentence.passage, set()).add(sentence.place)
        self._sources.add(self._passages[sentence.passage].source)
        self._words.append(sentence.words)

    def _repeats(self, words: frozenset[str]) -> bool:
        enough = _ALIKE * len(words)
        return len(words) > _FEW_WORDS and any(len(words & other) >= enough for other in self._words)

    def places(self, passage: int) -> set[int]:
        """Return which sentences of a passage are shown."""
        return self._places.get(passage, set())


def _join(sentences: Sequence[str], places: set[int]) -> str:
    """Return some of the sentences of a text, with a mark where others are left out."""
    shown = ""
    for place in sorted(places):
        if place and place - 1 not in places:
            shown = f"{shown.rstrip()}{_NEW_LINE if shown.endswith(_NEW_LINE) else ' '}… "
        shown += sentences[place]
    return shown.strip() if not places or len(sentences) - 1 in places else f"{shown.strip()} …"

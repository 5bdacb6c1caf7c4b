"""What to show of the passages that may answer a question: the sentences that are likeliest to, for what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import tokens, uris
from openzim_mcp.calls import Struct
from openzim_mcp.text import normalize, safe_line, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.calls.search import Passage, Passages

Cost = Callable[[str], float]

_MAX_PASSAGES = 8
_MAX_SCORE_GAP = 0.4
"""A further passage is shown if its score is at most that much below the first's: beyond, it only costs."""
_PREVIEW_CHARS = 160
_PASSAGE_CERTAINTY = 12.0
"""How much likelier a passage has the answer than one whose score is 1 less: e to this power."""
_SENTENCE_CERTAINTY = 3.0
"""How much likelier a sentence has it that has all words of a question than one that has none: e to this power."""
_NEIGHBOUR_SHARE = 0.2
"""The part of its probability that a sentence gets from each of its neighbours."""
_CONTINUATION_BONUS = 1.2
"""How much more a sentence gains next to one that is shown: text in one piece is easier to read."""
_SPACE_TOKENS = 0.5
_SAME_WORDS = 0.8
"""A sentence is not shown that has this part of its words in common with one that is."""
_MIN_COMPARED_WORDS = 4


@dataclass(frozen=True)
class Excerpt:
    """What is shown of a passage."""

    passage: Passage
    text: str

    @property
    def uri(self) -> str:
        """The URI of the article."""
        return uris.entry_uri(self.passage.archive.removesuffix(".zim"), self.passage.path)


class BriefingPassage(Struct, frozen=True):
    """A passage of a briefing: how it starts, as the whole text is in the answer."""

    archive: str
    path: str
    title: str
    section_id: str
    section_title: str
    text: str
    score: float


class Citation(Struct, frozen=True):
    """A numbered source."""

    id: int
    archive: str
    path: str
    title: str
    uri: str


class Briefing(Struct, frozen=True):
    """An answer from several sources, with numbered citations."""

    query: str
    answer_markdown: str
    passages: list[BriefingPassage]
    citations: list[Citation]
    archives_searched: list[str]
    total_chars: int


@dataclass(frozen=True)
class _Candidate:
    """A sentence that may be shown: where it stands, what it costs, and how likely it has the answer."""

    passage: int
    position: int
    words: frozenset[str]
    cost: float
    probability: float


def by_characters(text: str) -> float:
    """Return the size of a text in tokens as English has them: four characters each."""
    return len(text) / 4


def by_estimate(text: str) -> float:
    """Return the estimated number of tokens, with a margin for error."""
    return tokens.estimate(text) * tokens.SAFETY_FACTOR


def select_excerpts(
    answers: Iterable[Passages], budget: float, cost: Cost, max_score_gap: float = _MAX_SCORE_GAP
) -> list[Excerpt]:
    """Return what is likeliest to answer of all archives' passages, as much as fits a budget."""
    passages = sorted((passage for answer in answers for passage in answer.passages), key=lambda row: -row.score)
    passages = [row for row in passages if row.score >= passages[0].score - max_score_gap][:_MAX_PASSAGES]
    texts = select_sentences(passages, budget, cost)
    excerpts = [Excerpt(passage, text) for passage, text in zip(passages, texts, strict=True) if text]
    while len(excerpts) > 1 and cost(to_markdown(excerpts)) > budget:
        excerpts.pop()
    return excerpts


def select_sentences(passages: Sequence[Passage], budget: float, cost: Cost) -> list[str]:
    """Return what to show of each passage within a budget; nothing of some."""
    selection = _Selection(passages, budget, cost)
    candidates = _candidates(passages, cost)
    while candidates:
        best = max(candidates, key=selection.gain)
        candidates.remove(best)
        if selection.gain(best):
            selection.add(best)
    texts = [_join(passage, selection.positions(number)) for number, passage in enumerate(passages)]
    if not any(texts) and passages:
        room = budget - selection.citation_cost(0)
        texts[0] = tokens.truncate(passages[0].text, room / tokens.SAFETY_FACTOR)
    return texts


def _candidates(passages: Sequence[Passage], cost: Cost) -> list[_Candidate]:
    """Return all sentences with their probabilities: that of the passage, shared out among its sentences."""
    best = max((passage.score for passage in passages), default=0.0)
    candidates = []
    for number, passage in enumerate(passages):
        probability = math.exp(_PASSAGE_CERTAINTY * (passage.score - best))
        shares = _spread([math.exp(_SENTENCE_CERTAINTY * sentence.share) for sentence in passage.sentences])
        candidates += [
            _Candidate(
                number,
                position,
                frozenset(tokenize(normalize(sentence.text))),
                cost(sentence.text) + _SPACE_TOKENS,
                probability * shares[position],
            )
            for position, sentence in enumerate(passage.sentences)
        ]
    return candidates


def _spread(values: list[float]) -> list[float]:
    """Return shares of the whole, each with a part of its neighbours'; at the ends with more of its own."""
    total = sum(values)
    before, after = [*values[:1], *values], [*values[1:], *values[-1:]]
    return [
        ((1 - 2 * _NEIGHBOUR_SHARE) * value + _NEIGHBOUR_SHARE * (left + right)) / total
        for left, value, right in zip(before, values, after, strict=False)
    ]


class _Selection:
    """The sentences that are shown, and what is left of the budget."""

    def __init__(self, passages: Sequence[Passage], budget: float, cost: Cost) -> None:
        self._passages = passages
        self._budget = budget
        self._source_costs = [cost(_source_line([Excerpt(passage, "")])) + 1 for passage in passages]
        self._section_costs = [cost(passage.section_title) + 1 for passage in passages]
        self._positions: dict[int, set[int]] = {}
        self._articles: set[tuple[str, str]] = set()
        self._words: list[frozenset[str]] = []

    def gain(self, sentence: _Candidate) -> float:
        """Return the probability of a sentence for each token that it costs now; 0 if it does not fit."""
        cost = self._total_cost(sentence)
        neighbours = {sentence.position - 1, sentence.position + 1}
        bonus = _CONTINUATION_BONUS if neighbours & self.positions(sentence.passage) else 1.0
        return bonus * sentence.probability / cost if cost <= self._budget else 0.0

    def citation_cost(self, number: int) -> float:
        """Return what naming the source of a passage costs, or only its section if the article is cited already."""
        passage = self._passages[number]
        is_cited = (passage.archive, passage.path) in self._articles
        return self._section_costs[number] if is_cited else self._source_costs[number]

    def _total_cost(self, sentence: _Candidate) -> float:
        is_shown = sentence.passage in self._positions
        return sentence.cost + (0 if is_shown else self.citation_cost(sentence.passage))

    def add(self, sentence: _Candidate) -> None:
        """Show a sentence, unless another one says the same."""
        if self._repeats(sentence.words):
            return
        self._budget -= self._total_cost(sentence)
        passage = self._passages[sentence.passage]
        self._positions.setdefault(sentence.passage, set()).add(sentence.position)
        self._articles.add((passage.archive, passage.path))
        self._words.append(sentence.words)

    def _repeats(self, words: frozenset[str]) -> bool:
        enough = _SAME_WORDS * len(words)
        return len(words) > _MIN_COMPARED_WORDS and any(len(words & shown) >= enough for shown in self._words)

    def positions(self, passage: int) -> set[int]:
        """Return which sentences of a passage are shown."""
        return self._positions.get(passage, set())


def _join(passage: Passage, positions: set[int]) -> str:
    """Return some of the sentences of a passage, with a mark where others are left out."""
    text = ""
    for position in sorted(positions):
        if position and position - 1 not in positions:
            separator = "\n" if text.endswith("\n") else " "
            text = f"{text.rstrip()}{separator}… "
        text += passage.sentences[position].text
    is_end = not positions or len(passage.sentences) - 1 in positions
    return text.strip() if is_end else f"{text.strip()} …"


def to_markdown(excerpts: Iterable[Excerpt]) -> str:
    """Return excerpts as they are read: those of one article together, above the line that names it."""
    return "\n\n".join(
        "\n\n".join(excerpt.text for excerpt in group) + "\n" + _source_line(group) for group in _by_article(excerpts)
    )


def source_lines(excerpts: Iterable[Excerpt]) -> list[str]:
    """Return the lines that name the articles of excerpts."""
    return [_source_line(group) for group in _by_article(excerpts)]


def _by_article(excerpts: Iterable[Excerpt]) -> Iterable[list[Excerpt]]:
    articles: dict[str, list[Excerpt]] = {}
    for excerpt in excerpts:
        articles.setdefault(excerpt.uri, []).append(excerpt)
    return articles.values()


def _source_line(excerpts: Sequence[Excerpt]) -> str:
    sections = "; ".join(dict.fromkeys(e.passage.section_title for e in excerpts if e.passage.section_title))
    first = excerpts[0]
    return source_line(first.passage.title, sections, first.passage.archive, first.uri)


def source_line(title: str, section: str, archive: str, uri: str) -> str:
    """Return the line that says where a text is from."""
    return f"Source: {title}{' › ' if section else ''}{section} — {archive} — {uri}"


def to_briefing(query: str, excerpts: Sequence[Excerpt], archives: Sequence[str]) -> Briefing:
    """Return excerpts of several sources, those of one together, with numbered citations."""
    numbers: dict[str, int] = {}
    for excerpt in excerpts:
        numbers.setdefault(excerpt.uri, len(numbers) + 1)
    ordered = sorted(excerpts, key=lambda excerpt: numbers[excerpt.uri])
    text = "\n\n".join(f"{excerpt.text} [{numbers[excerpt.uri]}]" for excerpt in ordered)
    cited = {excerpt.uri: excerpt.passage for excerpt in reversed(ordered)}
    return Briefing(
        query=query,
        answer_markdown=text,
        passages=[_briefing_passage(excerpt) for excerpt in ordered],
        citations=[
            Citation(n, cited[uri].archive, cited[uri].path, cited[uri].title, uri) for uri, n in numbers.items()
        ],
        archives_searched=list(archives),
        total_chars=len(text),
    )


def _briefing_passage(excerpt: Excerpt) -> BriefingPassage:
    row = excerpt.passage
    start = safe_line(excerpt.text, _PREVIEW_CHARS)
    return BriefingPassage(row.archive, row.path, row.title, row.section_id, row.section_title, start, row.score)

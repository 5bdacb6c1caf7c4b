"""Which sentences of which passages to show: those likeliest to answer the question, for the tokens they cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp import tokens, uris
from openzim_mcp.calls import Struct
from openzim_mcp.text import is_introduction, normalize, place_in_page, safe_line, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.calls.search import Passage, Sentence

Cost = Callable[[str], float]

_MAX_PASSAGES = 8
_MAX_SCORE_GAP = 0.4
"""How much lower than the best a passage may score to be shown."""
_PREVIEW_CHARS = 160
_MAX_PLACE_CHARS = 400
_PASSAGE_CERTAINTY = 8.0
"""A passage is e to this power times likelier to have the answer than one whose score is 1 lower."""
_SENTENCE_CERTAINTY = 4.0
"""A sentence with all words of the question is e to this power times likelier to have it than one with none."""
_ANSWER_BONUS = 2.0
"""The logarithm of how much likelier a sentence is that holds the kind of answer asked for."""
_NEIGHBOUR_SHARE = 0.2
"""The share of its probability that a sentence gets from each neighbour."""
_CONTINUATION_BONUS = 1.2
"""The factor on the gain of a sentence next to a selected one: continuous text is easier to read."""
_MIN_GAIN = 0.0003
"""The probability per token that a sentence must add to be shown: an answer ends when more would hardly help."""
_SPACE_TOKENS = 0.5
_MAX_SHARED_WORD_RATIO = 0.8
"""A sentence that shares this part of its words with a selected one is a repetition."""
_MIN_COMPARED_WORDS = 4
_CODE_FENCE = "```"


class Source(Struct, frozen=True):
    """Where a text is from; `url` is where a browser opens it, if this server has a page."""

    archive: str
    path: str
    title: str
    uri: str
    section: str | None = None
    section_id: str | None = None
    url: str | None = None
    locator: str | None = None
    """The page or time: `p. 12`, `03:15`."""

    @property
    def line(self) -> str:
        """The line below the text that says where it is from."""
        return source_line(self.title, place_in_page(self.section or "", self.locator or ""), self.archive, self.uri)


@dataclass(frozen=True)
class Excerpt:
    """The part of a passage that is shown."""

    passage: Passage
    text: str

    @property
    def uri(self) -> str:
        """The URI of the article."""
        return uris.entry_uri(self.passage.archive.removesuffix(".zim"), self.passage.path)

    @property
    def source(self) -> Source:
        """Where it is from."""
        row = self.passage
        return Source(
            row.archive,
            row.path,
            row.title,
            self.uri,
            row.section_title or None,
            row.section_id or None,
            locator=row.locator or None,
        )


class CitedPassage(Source, frozen=True, kw_only=True):
    """A passage of an answer as its text shows it, and where it is from."""

    text: str
    score: float


class BriefingPassage(Struct, frozen=True):
    """A passage of a briefing; `text` is only its start, as the answer contains all of it."""

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
    answered: bool
    confidence: float
    answer_markdown: str
    passages: list[BriefingPassage]
    citations: list[Citation]
    archives_searched: list[str]
    total_chars: int


@dataclass(frozen=True)
class _Unit:
    """Sentences that may only be selected together; `passage` is the index of their passage."""

    passage: int
    start: int
    stop: int
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
    passages: Sequence[Passage], budget: float, cost: Cost, max_score_gap: float = _MAX_SCORE_GAP
) -> list[Excerpt]:
    """Select what is likeliest to answer of some passages, the best first, as much as fits the budget."""
    passages = _without_askers(passages)
    passages = [row for row in passages if row.score >= passages[0].score - max_score_gap][:_MAX_PASSAGES]
    texts = select_sentences(passages, budget, cost)
    excerpts = [Excerpt(passage, text) for passage, text in zip(passages, texts, strict=True) if text]
    while len(excerpts) > 1 and cost(to_markdown(excerpts)) > budget:
        excerpts.pop()
    return excerpts


def _without_askers(passages: Sequence[Passage]) -> Sequence[Passage]:
    """Leave out what askers wrote, unless there is nothing else: it is not advice."""
    return [passage for passage in passages if not passage.is_asked] or passages


def select_sentences(passages: Sequence[Passage], budget: float, cost: Cost) -> list[str]:
    """Return the text to show of each passage within a budget; it is empty where none is shown."""
    selection = _Selection(passages, budget, cost)
    units = _units(passages, cost)
    while units:
        best = max(units, key=selection.gain)
        units.remove(best)
        if selection.gain(best) > _MIN_GAIN:
            selection.add(best)
    texts = [_join_sentences(passage, selection.positions(number)) for number, passage in enumerate(passages)]
    if not any(texts) and passages:
        budget_left = budget - selection.citation_cost(0)
        texts[0] = tokens.truncate(passages[0].text, budget_left / tokens.SAFETY_FACTOR)
    return texts


def _units(passages: Sequence[Passage], cost: Cost) -> list[_Unit]:
    """Return all that may be selected; the probability of a passage is distributed over its sentences."""
    best = max((passage.score for passage in passages), default=0.0)
    odds = [math.exp(_PASSAGE_CERTAINTY * (passage.score - best)) for passage in passages]
    units = []
    for number, passage in enumerate(passages):
        probability = odds[number] / sum(odds)
        shares = _smooth_shares([_sentence_weight(sentence) for sentence in passage.sentences])
        for start, stop in _unit_bounds(passage.sentences):
            text = "".join(sentence.text for sentence in passage.sentences[start:stop])
            if passage.sentences[start].is_fact or not _has_asked_fact(passage):
                words = frozenset(tokenize(normalize(text)))
                share = sum(shares[start:stop])
                units.append(_Unit(number, start, stop, words, cost(text) + _SPACE_TOKENS, probability * share))
    return units


def _unit_bounds(sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
    """Return where the units of a passage start and stop.

    An introduction and what it introduces are one, and so are code and its sentence. An introduction at the end of a
    passage that has more than it belongs to no unit, as nothing follows it.
    """
    bounds: list[tuple[int, int]] = []
    start = 0
    for stop, sentence in enumerate(sentences, 1):
        is_before_code = stop < len(sentences) and sentences[stop].text.startswith(_CODE_FENCE)
        is_code = sentence.text.startswith(_CODE_FENCE)
        if sentence.is_fact or not (is_introduction(sentence.text) or (is_before_code and not is_code)):
            bounds.append((start, stop))
            start = stop
    return bounds or [(0, len(sentences))]


def _has_asked_fact(passage: Passage) -> bool:
    """Return whether a passage has a key fact that is asked for: its other facts are not shown then."""
    return any(sentence.is_fact for sentence in passage.sentences)


def _sentence_weight(sentence: Sentence) -> float:
    """Return how likely a sentence has the answer, relative to others of its passage."""
    bonus = _ANSWER_BONUS if sentence.has_answer else 0.0
    return math.exp(_SENTENCE_CERTAINTY * sentence.share + bonus)


def _smooth_shares(values: list[float]) -> list[float]:
    """Normalize values to shares of their sum, and give each a part of its neighbours' shares."""
    total = sum(values)
    before, after = [*values[:1], *values], [*values[1:], *values[-1:]]
    return [
        ((1 - 2 * _NEIGHBOUR_SHARE) * value + _NEIGHBOUR_SHARE * (previous + following)) / total
        for previous, value, following in zip(before, values, after, strict=False)
    ]


class _Selection:
    """The selected sentences, and the remaining budget."""

    def __init__(self, passages: Sequence[Passage], budget: float, cost: Cost) -> None:
        self._passages = passages
        self._budget = budget
        self._source_costs = [
            cost(f"{passage.post_title}{_source_line([Excerpt(passage, '')])}") + 1 for passage in passages
        ]
        self._section_costs = [cost(passage.post_title or passage.place) + 1 for passage in passages]
        self._positions: dict[int, set[int]] = {}
        self._articles: set[tuple[str, str]] = set()
        self._words: list[frozenset[str]] = []

    def gain(self, unit: _Unit) -> float:
        """Return the probability per token of a unit; 0 if it does not fit the budget."""
        cost = self._total_cost(unit)
        neighbours = {unit.start - 1, unit.stop}
        bonus = _CONTINUATION_BONUS if neighbours & self.positions(unit.passage) else 1.0
        return bonus * unit.probability / cost if cost <= self._budget else 0.0

    def citation_cost(self, number: int) -> float:
        """Return the cost of citing a passage; if its article is cited already, only of its section."""
        passage = self._passages[number]
        is_cited = (passage.archive, passage.path) in self._articles
        return self._section_costs[number] if is_cited else self._source_costs[number]

    def _total_cost(self, unit: _Unit) -> float:
        is_cited = unit.passage in self._positions
        return unit.cost + (0 if is_cited else self.citation_cost(unit.passage))

    def add(self, unit: _Unit) -> None:
        """Select a unit, unless it repeats a selected one."""
        if self._repeats(unit.words):
            return
        self._budget -= self._total_cost(unit)
        passage = self._passages[unit.passage]
        self._positions.setdefault(unit.passage, set()).update(range(unit.start, unit.stop))
        self._articles.add((passage.archive, passage.path))
        self._words.append(unit.words)

    def _repeats(self, words: frozenset[str]) -> bool:
        enough = _MAX_SHARED_WORD_RATIO * len(words)
        return len(words) > _MIN_COMPARED_WORDS and any(len(words & selected) >= enough for selected in self._words)

    def positions(self, passage: int) -> set[int]:
        """Return the positions of the selected sentences of a passage."""
        return self._positions.get(passage, set())


def _join_sentences(passage: Passage, positions: set[int]) -> str:
    """Return some sentences of a passage, with … where sentences are left out; key facts need none."""
    if _has_asked_fact(passage):
        return "".join(passage.sentences[position].text for position in sorted(positions)).strip()
    text = ""
    for position in sorted(positions):
        if position and position - 1 not in positions:
            separator = "\n" if text.endswith("\n") else " "
            text = f"{text.rstrip()}{separator}… "
        text += passage.sentences[position].text
    is_end = not positions or len(passage.sentences) - 1 in positions
    return text.strip() if is_end else f"{text.strip()} …"


def to_markdown(excerpts: Iterable[Excerpt]) -> str:
    """Return excerpts as Markdown, grouped by article, each group above the line of its source."""
    return "\n\n".join(
        "\n\n".join(text for _, text in _texts(group)) + "\n" + _source_line(group) for group in _by_article(excerpts)
    )


def _texts(excerpts: Sequence[Excerpt]) -> list[tuple[Excerpt, str]]:
    """Return the excerpts of one article with their texts, each post below the line that says who wrote it."""
    texts = []
    post = ""
    for excerpt in _in_page_order(excerpts):
        title = excerpt.passage.post_title
        texts.append((excerpt, f"{title}:\n{excerpt.text}" if title and title != post else excerpt.text))
        post = title
    return texts


def _in_page_order(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Sort the excerpts of one article: the best section first, each in the order of the page; posts best first.

    An infobox is a section of its own, and the first one if it has the key fact that is asked for.
    """
    sections = list(dict.fromkeys((row.passage.section_id, row.passage.is_facts) for row in excerpts))

    def order(excerpt: Excerpt) -> tuple[int, int]:
        row = excerpt.passage
        is_first = row.post_title or _has_asked_fact(row)
        return -1 if is_first else sections.index((row.section_id, row.is_facts)), row.position

    return sorted(excerpts, key=order)


def source_lines(excerpts: Iterable[Excerpt]) -> list[str]:
    """Return the source line of each article."""
    return [_source_line(group) for group in _by_article(excerpts)]


def _by_article(excerpts: Iterable[Excerpt]) -> Iterable[list[Excerpt]]:
    articles: dict[str, list[Excerpt]] = {}
    for excerpt in excerpts:
        articles.setdefault(excerpt.uri, []).append(excerpt)
    return articles.values()


def _source_line(excerpts: Sequence[Excerpt]) -> str:
    titles = (row.passage.place for row in excerpts if not row.passage.post_title)
    sections = "; ".join(dict.fromkeys(filter(None, titles)))
    first = excerpts[0]
    return source_line(first.passage.title, sections, first.passage.archive, first.uri)


def source_line(title: str, section: str, archive: str, uri: str) -> str:
    """Return the line that says where a text is from; a title cannot look like the parts that follow it."""
    place = safe_line(f"{title}{' › ' if section else ''}{section}".replace(" — ", " - "), _MAX_PLACE_CHARS)
    return f"Source: {place} — {archive} — {uri}"


def cite(excerpts: Iterable[Excerpt]) -> list[Source]:
    """Return the source of each article, with the section of its first excerpt."""
    return [group[0].source for group in _by_article(excerpts)]


def cite_passages(excerpts: Iterable[Excerpt]) -> list[CitedPassage]:
    """Return the excerpts in the order of the Markdown, each with its source."""
    return [
        CitedPassage(**msgspec.structs.asdict(row.source), text=text, score=row.passage.score)
        for group in _by_article(excerpts)
        for row, text in _texts(group)
    ]


def best_sentence(passage: Passage) -> str:
    """Return the sentence of a passage that is likeliest to answer."""
    return max(passage.sentences, key=_sentence_weight).text


def to_briefing(
    query: str, excerpts: Sequence[Excerpt], archives: Sequence[str], *, is_answered: bool, confidence: float
) -> Briefing:
    """Return excerpts as a briefing, grouped by article, with numbered citations."""
    numbers: dict[str, int] = {}
    for excerpt in excerpts:
        numbers.setdefault(excerpt.uri, len(numbers) + 1)
    shown = [row for group in _by_article(excerpts) for row in _texts(group)]
    ordered = [excerpt for excerpt, _ in shown]
    text = "\n\n".join(f"{text} [{numbers[excerpt.uri]}]" for excerpt, text in shown)
    first_passages = {excerpt.uri: excerpt.passage for excerpt in reversed(ordered)}
    return Briefing(
        query=query,
        answered=is_answered,
        confidence=confidence,
        answer_markdown=text,
        passages=[_briefing_passage(excerpt) for excerpt in ordered],
        citations=[
            Citation(number, first_passages[uri].archive, first_passages[uri].path, first_passages[uri].title, uri)
            for uri, number in numbers.items()
        ],
        archives_searched=list(archives),
        total_chars=len(text),
    )


def _briefing_passage(excerpt: Excerpt) -> BriefingPassage:
    row = excerpt.passage
    start = safe_line(excerpt.text, _PREVIEW_CHARS)
    return BriefingPassage(row.archive, row.path, row.title, row.section_id, row.place, start, row.score)

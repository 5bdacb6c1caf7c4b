"""Rank the passages of one archive as answers to a question: by their words, and by what the question asks for.

The best passages by their words are ranked again, by features that cost more: whether a passage holds the kind of
answer that is asked for, has a key fact of that relation, or is near in meaning.
"""

from __future__ import annotations

import re
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import fact_key, find_words, normalize, sentence_ends, tokenize
from openzim_mcp.worker.search.answer_features import (
    ANSWER_WEIGHTS,
    NAMING_ANSWER_WEIGHTS,
    NAMING_WORD_WEIGHTS,
    WORD_WEIGHTS,
    AnswerFeatures,
)
from openzim_mcp.worker.search.answer_types import holds_answer
from openzim_mcp.worker.search.language import script_of
from openzim_mcp.worker.search.meaning import NearestWords, question_vectors, score_bonuses
from openzim_mcp.worker.search.preview import run_share
from openzim_mcp.worker.search.titles import without_qualifier

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from openzim_mcp.calls.search import TextPlace
    from openzim_mcp.worker.document import Passage
    from openzim_mcp.worker.search.meaning import QuestionVectors
    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.search.ranking import Page, RankedPassage

MAX_RANKED_PASSAGES = 30
_SHORT_PAGE_PASSAGES = 12
_MIN_MISSING_SHARE = 0.1
"""A word that a page lacks is named from this share of the question on."""
_HEAVIEST_SHARE = 0.95
"""A word of this share of the heaviest one's weight is one of the heaviest."""
_SCALE_WITHOUT_VECTORS = 1.4
"""The factor for scores that lack what meaning adds, so that all scores say as much."""
_MIN_QUOTED_SHARE = 0.5
_MIN_TITLE_SHARE = 0.5
"""From this share of the question in its title on, a text is the one whose start or end is asked for."""
_MIN_PLACE_CHARS, _MIN_PLACE_LINE_CHARS = 80, 40
_PLACE_BONUS = 0.1
_CONTINUATION_GAP = 0.02
_MAX_ENCODED_PASSAGES = 30
_MAX_ENCODING_SECONDS = 2.0
_COMMON_TYPES = frozenset({"steps", "definition"})
"""Kinds of answers that most passages hold, by the words that tell them."""
_PICTURE = re.compile(r"\[Image:[^\]]*\]")
_LIST_OF_NAMES = re.compile(r"(?m)^\s*[-*] [^.:;]{1,60}$")
_RUNNING_CHARS = 120
_TABLE_LANGUAGES = frozenset({"", "en"})
"""The table of word vectors is English."""


class RankedAnswer(NamedTuple):
    """A passage with its features as an answer and its score."""

    ranked: RankedPassage
    features: AnswerFeatures
    score: float


class AnswerRanking:
    """The passages of one archive, ranked as answers to a question.

    By path, `qualities` are those of their pages, and `names` what the question calls them.
    """

    def __init__(
        self,
        query: ParsedQuery,
        passages: Sequence[RankedPassage],
        qualities: dict[str, float],
        names: dict[str, str] | None = None,
    ) -> None:
        self._query = query
        self._question = query.question
        self.ranked = passages[:MAX_RANKED_PASSAGES]
        self._qualities = qualities
        self._words = frozenset(find_words(normalize(query.question.text)))
        stem = query.language.stem
        self._relation_stems = {stem(word) for word in query.question.relation_terms}
        self._relation_words = {stem(word) for term in query.question.relation_words for word in term.split()}
        self._fact_names = frozenset(query.question.fact_names)
        self._title_similarities: dict[str, float] = {}
        names = names or {}
        self._pages = {
            ranked.page.path: _PageText(ranked.page, query, names.get(ranked.page.path, "")) for ranked in self.ranked
        }

    def best(self, count: int) -> list[RankedAnswer]:
        """Return the best passages, the best first."""
        answers = []
        is_naming = "name" in self._question.kinds and self._vectors is not None
        word_weights = NAMING_WORD_WEIGHTS if is_naming else WORD_WEIGHTS
        answer_weights = NAMING_ANSWER_WEIGHTS if is_naming else ANSWER_WEIGHTS
        for ranked in self.ranked:
            features = self.features(ranked)
            score = sum(map(mul, ranked.features, word_weights)) + sum(map(mul, features, answer_weights))
            answers.append(RankedAnswer(ranked, features, score * (1.0 if self._vectors else _SCALE_WITHOUT_VECTORS)))
        by_score = sorted(answers, key=lambda row: -row.score)
        return self._with_place(self._with_continuation(self._with_bonuses(by_score)))[:count]

    def _with_place(self, answers: list[RankedAnswer]) -> list[RankedAnswer]:
        """Put the start or the end of the text first that the question asks for by its title."""
        titled = [row for row in answers if row.features.entity >= _MIN_TITLE_SHARE]
        if not self._question.place or not titled:
            return answers
        page = max(titled, key=lambda row: (row.features.entity, row.score)).ranked.page
        asked = _find_place(page.document.passages, self._question.place)
        if asked is None:
            return answers
        best = next(row for row in titled if row.ranked.page is page)
        ranked = best.ranked._replace(passage=asked)
        first = best._replace(ranked=ranked, score=max(row.score for row in answers) + _PLACE_BONUS)
        return [first, *(row for row in answers if row.ranked.passage is not asked)]

    def _with_continuation(self, answers: list[RankedAnswer]) -> list[RankedAnswer]:
        """Let the next passage follow one that has what is quoted: it may be asked how it goes on."""
        if not answers or answers[0].features.quote < _MIN_QUOTED_SHARE:
            return answers
        best = answers[0]
        passages = best.ranked.page.document.passages
        position = next(number for number, row in enumerate(passages) if row is best.ranked.passage)
        if position + 1 == len(passages):
            return answers
        following = passages[position + 1]
        next_row = best._replace(ranked=best.ranked._replace(passage=following), score=best.score - _CONTINUATION_GAP)
        return [best, next_row, *(row for row in answers[1:] if row.ranked.passage is not following)]

    def _with_bonuses(self, answers: list[RankedAnswer]) -> list[RankedAnswer]:
        """Add what a sentence encoder says, if one is installed."""
        texts = [
            None if row.features.asked_post else row.ranked.passage.text for row in answers[:_MAX_ENCODED_PASSAGES]
        ]
        bonuses = score_bonuses(self._question.text, texts, _MAX_ENCODING_SECONDS)
        if not any(bonuses):
            return answers
        least = min(bonuses)
        bonuses += [least] * (len(answers) - len(bonuses))
        changed = [row._replace(score=row.score + bonus) for row, bonus in zip(answers, bonuses, strict=True)]
        return sorted(changed, key=lambda row: -row.score)

    def features(self, ranked: RankedPassage) -> AnswerFeatures:
        """Return the features of a passage."""
        page = self._pages[ranked.page.path]
        passage = ranked.passage
        kind = ranked.page.document.sections[passage.section].kind
        words = tokenize(passage.normalized)
        entity = self._entity_share(page.title_stems)
        is_answer = passage.section == page.first_answer
        return AnswerFeatures(
            heading_window=min(1.0, ranked.features.window + self._share(page.heading_stems(passage.section))),
            entity=entity,
            answer_type=self._holds_telling_answer(passage.text),
            typed_window=self._typed_window(passage.text, page.title_stems),
            relation_fact=entity * self._has_asked_fact(passage) if passage.fact_names else 0.0,
            near_words=self._near_share([*words, *page.heading_words(passage.section)]),
            similarity=self._vectors.similarity_of_words(words) if self._vectors else 0.0,
            title_similarity=self._title_similarity(page, passage.section),
            quote=self._quoted_share(passage.normalized),
            language=script_of(passage.text) == self._script,
            asked_post=kind == "question",
            answer_post=is_answer,
            answer_page=page.share if is_answer else 0.0,
            references=kind == "references",
            quality=self._qualities.get(ranked.page.path, 1.0),
            named_start=self._is_named_start(page, passage),
            thinness=_thinness(passage.text),
            table=passage.text.lstrip().startswith("|"),
        )

    def _is_named_start(self, page: _PageText, passage: Passage) -> bool:
        is_about_all = self._question.answer_type in {None, "definition"} and page.is_named_by_query
        return is_about_all and passage is page.start

    def _holds_telling_answer(self, text: str) -> bool:
        kind = self._question.answer_type
        return kind not in _COMMON_TYPES and holds_answer(kind, text, self._words)

    def _share(self, stems: Collection[str]) -> float:
        """Return the share of the query's weight that some stems have, in the order of the query."""
        return sum(weight for stem, weight in self._query.weights.items() if stem in stems) / self._query.total_weight

    def _entity_share(self, title_stems: Collection[str]) -> float:
        asked = {stem: weight for stem, weight in self._query.weights.items() if stem not in self._relation_stems}
        total = sum(asked.values())
        return sum(weight for stem, weight in asked.items() if stem in title_stems) / total if total else 0.0

    def _typed_window(self, text: str, title_stems: frozenset[str]) -> float:
        best = 0.0
        start = 0
        for end in (*sentence_ends(text), len(text)) if self._question.answer_type else ():
            sentence = text[start:end]
            start = end
            share = self._sentence_share(sentence, title_stems)
            if share > best and holds_answer(self._question.answer_type, sentence, self._words):
                best = share
        return best

    def sentence_share(self, sentence: str) -> float:
        """Return the share of the question in a sentence; other words for the relation count, and a key fact is all."""
        return 1.0 if self.is_asked_fact(sentence) else self._sentence_share(sentence, frozenset())

    def has_answer(self, sentence: str) -> bool:
        """Return whether a sentence holds the kind of answer that is asked for, or is a key fact of the relation."""
        return self.is_asked_fact(sentence) or holds_answer(self._question.answer_type, sentence, self._words)

    def is_asked_fact(self, line: str) -> bool:
        """Return whether a line is a key fact of the relation asked for, with the kind of answer as its value."""
        name, colon, value = line.removeprefix("- ").partition(": ")
        if not colon or not line.startswith("- ") or not is_fact_asked(name, self._fact_names):
            return False
        return self._question.answer_type is None or holds_answer(self._question.answer_type, value, self._words)

    def _has_asked_fact(self, passage: Passage) -> bool:
        return any(map(self.is_asked_fact, passage.text.split("\n")))

    def lacks_relation(self, page: Page) -> bool:
        """Return whether a page has neither the words that name the relation asked for nor others for it."""
        asked = [term.search_prefix for term in self._query.terms if term.stem in self._relation_stems]
        return bool(asked) and not any(map(self._pages[page.path].contains, {*asked, *self._relation_words}))

    def absence(self, page: Page) -> float:
        """Return how far a page is from the heaviest words of the question: 0 if it has them, 1 if no near ones."""
        if self._near_words is None:
            return 0.0
        text = self._pages[page.path]
        min_weight = _HEAVIEST_SHARE * max((term.weight for term in self._query.terms), default=0.0)
        heaviest = [term for term in self._query.terms if term.weight >= min_weight]
        lacking = [term.word for term in heaviest if not text.contains(term.search_prefix)]
        if not lacking:
            return 0.0
        shares = NearestWords(lacking).shares(text.words)
        return max(1.0 - share for share in shares.values())

    def missing_words(self, page: Page) -> list[str]:
        """Return the words of the question that a page lacks, the heaviest first; light ones are left out."""
        text = self._pages[page.path]
        has_relation = any(map(text.contains, self._relation_words))
        lacking = [
            term
            for term in self._query.terms
            if not text.contains(term.search_prefix) and not (has_relation and term.stem in self._relation_stems)
        ]
        min_weight = _MIN_MISSING_SHARE * self._query.total_weight
        return [term.word for term in sorted(lacking, key=lambda term: -term.weight) if term.weight >= min_weight]

    def _sentence_share(self, sentence: str, title_stems: frozenset[str]) -> float:
        stem = self._query.language.stem
        stems = {stem(word) for word in tokenize(normalize(sentence))} | title_stems
        return self._share(stems | self._relation_stems if self._relation_words & stems else stems)

    @cached_property
    def _near_words(self) -> NearestWords | None:
        words = (term.word for term in self._query.terms)
        return NearestWords(words) if self._question.language in _TABLE_LANGUAGES else None

    def _near_share(self, words: Collection[str]) -> float:
        if self._near_words is None:
            return 0.0
        shares = self._near_words.shares(words)
        return sum(term.weight * shares.get(term.word, 0.0) for term in self._query.terms) / self._query.total_weight

    @cached_property
    def _vectors(self) -> QuestionVectors | None:
        return question_vectors(self._question.text) if self._question.language in _TABLE_LANGUAGES else None

    def _title_similarity(self, page: _PageText, section: int) -> float:
        if self._vectors is None:
            return 0.0
        headings = page.headings(section)
        if headings not in self._title_similarities:
            self._title_similarities[headings] = self._vectors.similarity_of_words(page.heading_words(section))
        return self._title_similarities[headings]

    @cached_property
    def _script(self) -> str:
        return script_of(self._question.text)

    def _quoted_share(self, normalized: str) -> float:
        if not self._question.quotes:
            return 0.0
        flat = f" {' '.join(find_words(normalized))} "
        return max(run_share(find_words(normalize(quote)), flat) for quote in self._question.quotes)


def _thinness(text: str) -> float:
    running = _LIST_OF_NAMES.sub("", _PICTURE.sub("", text)).strip()
    is_short_by_itself = len(running) == len(text.strip())
    return 0.0 if is_short_by_itself else max(0.0, 1 - len(running) / _RUNNING_CHARS)


class _PageText:
    """Title, headings and words of a page, compared with a query."""

    def __init__(self, page: Page, query: ParsedQuery, name: str) -> None:
        self._page = page
        self._name = name
        self._query = query
        self._headings: dict[int, str] = {}
        self._heading_words: dict[int, list[str]] = {}

    @cached_property
    def is_named_by_query(self) -> bool:
        """Whether the query is the name of the page, and nothing else."""
        return bool(self._name) and self._stems(self._name) == self._query.weights.keys()

    @cached_property
    def start(self) -> Passage | None:
        """The first passage that is text."""
        return next((passage for passage in self._page.document.passages if passage.kind == "prose"), None)

    @cached_property
    def title_stems(self) -> frozenset[str]:
        """The query's stems in the title, or in another name of the page that the query uses."""
        return self._stems(f"{without_qualifier(self._page.title)} {self._name}")

    def _stems(self, text: str) -> frozenset[str]:
        return frozenset(self._query.language.stems(normalize(text))) & self._query.weights.keys()

    def headings(self, section: int) -> str:
        """Return the names of the page and the headings above a section."""
        if section not in self._headings:
            row = self._page.document.sections[section]
            above = f"{self._page.title} {self._name}" if row.parent is None else self.headings(row.parent)
            self._headings[section] = f"{above} {row.title}"
        return self._headings[section]

    def heading_words(self, section: int) -> list[str]:
        """Return the words of the same, normalized."""
        if section not in self._heading_words:
            self._heading_words[section] = tokenize(normalize(self.headings(section)))
        return self._heading_words[section]

    def heading_stems(self, section: int) -> frozenset[str]:
        """Return the query's stems in the headings above a section, without the title."""
        return self._stems(self.headings(section)[len(f"{self._page.title} {self._name}") :])

    @cached_property
    def _texts(self) -> list[str]:
        """The title, the headings and the passages, normalized."""
        headings = (normalize(section.title) for section in self._page.document.sections)
        passages = (passage.normalized for passage in self._page.document.passages)
        return [normalize(self._page.title), *headings, *passages]

    @cached_property
    def words(self) -> set[str]:
        """The words of the page, normalized."""
        return {word for text in self._texts for word in tokenize(text)}

    def contains(self, prefix: str) -> bool:
        """Return whether the page has a word with a prefix."""
        return any(prefix in text for text in self._texts)

    @cached_property
    def first_answer(self) -> int | None:
        """The section of the first answer, on a page of questions and answers."""
        sections = enumerate(self._page.document.sections)
        return next((number for number, section in sections if section.kind == "answer"), None)

    @cached_property
    def share(self) -> float:
        """The share of the query anywhere on the page, less for a page of many passages."""
        passages = self._page.document.passages
        prefixes = ((term.search_prefix, term.weight) for term in self._query.terms)
        weight = sum(weight for prefix, weight in prefixes if any(prefix in passage.normalized for passage in passages))
        return weight / self._query.total_weight * min(1.0, _SHORT_PAGE_PASSAGES / (len(passages) or 1))


def _find_place(passages: Sequence[Passage], place: TextPlace) -> Passage | None:
    """Return the first or last passage that is running text, not a title, a list of chapters or a signature."""
    rows = passages if place == "start" else reversed(passages)
    return next((row for row in rows if row.kind == "prose" and _is_running_text(row.text)), None)


def _is_running_text(text: str) -> bool:
    return len(text) >= _MIN_PLACE_CHARS and len(text) >= _MIN_PLACE_LINE_CHARS * (text.count("\n") + 1)


def is_fact_asked(name: str, asked: Collection[str]) -> bool:
    """Return whether the name of a key fact is one of some names, or starts or ends with one."""
    key = fact_key(name)
    return key in asked or any(key.startswith(f"{other} ") or key.endswith(f" {other}") for other in asked)

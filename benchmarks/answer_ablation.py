"""Ablation of how passages are found and ranked for a question: each feature alone switched off.

It runs in one process, without a server: the functions that workers run are called directly, with other tables. So it
measures passages, not replies: the share of questions whose answer stands in the first one, three and eight of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

from openzim_mcp.app.query import archive_fit, questions
from openzim_mcp.app.query.archive_fit import count_words, kind_fit, select_archives
from openzim_mcp.calls.search import Estimate, EstimateAnswer, FindPassages, Passages, Question, WordCounts
from openzim_mcp.worker.search import answer_features, answer_ranking, candidate_pages
from openzim_mcp.worker.search.answer import estimate_answer, find_passages
from openzim_mcp.worker.zim import Archive

Row = Mapping[str, Any]
Judge = Callable[[str, Row], bool]
"""Returns whether a text has the answer of a question."""

FIRST_PASSAGES = (1, 3, 8)
_SCAN_SECONDS = 8.0


@contextmanager
def without_weights(*features: str) -> Iterator[None]:
    """Set the weights of some features of passages to zero, each in the table that has it."""
    with ExitStack() as stack:
        for name in features:
            table = next(it for it in ("WORD_WEIGHTS", "ANSWER_WEIGHTS") if hasattr(getattr(answer_ranking, it), name))
            weights = getattr(answer_ranking, table)._replace(**{name: 0.0})
            stack.enter_context(mock.patch.object(answer_ranking, table, weights))
        yield


ABLATIONS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "all": nullcontext,
    "without types of answers": partial(without_weights, "answer_type", "typed_window"),
    "without key facts of the relation": partial(without_weights, "relation_fact"),
    "without kinds of archives": partial(mock.patch.dict, archive_fit.FITS, clear=True),
    "without meaning": partial(without_weights, "near_words", "similarity", "title_similarity"),
    "without answers before the asker's post": partial(without_weights, "asked_post", "answer_post", "answer_page"),
    "without the lead of the article": partial(without_weights, "lead"),
    "without rough passages": partial(
        mock.patch.object, candidate_pages, "_LIMITS", ((math.inf, candidate_pages.ReadingLimits(12, 12, 12)),)
    ),
    "without weights for descriptions": partial(
        mock.patch.multiple,
        answer_ranking,
        NAMING_WORD_WEIGHTS=answer_features.WORD_WEIGHTS,
        NAMING_ANSWER_WEIGHTS=answer_features.ANSWER_WEIGHTS,
    ),
    "without pictures, lists and tables after text": partial(without_weights, "thinness", "table"),
    "without quotes": partial(mock.patch.object, questions, "_find_quotes", lambda _text, _kinds: []),
    "without stripping what surrounds a question": partial(
        mock.patch.object, questions, "strip_surroundings", str.strip
    ),
}


def measure_shares(rows: Iterable[Row], archives: Iterable[Archive], has_answer: Judge) -> dict[str, tuple[float, ...]]:
    """Return for each ablation the shares of questions answered by the first passages, as many as FIRST_PASSAGES."""
    ranks: dict[str, list[int]] = {name: [] for name in ABLATIONS}
    pipeline = Pipeline(archives)
    # All ablations of a question follow each other, as its pages have been read then.
    for row in rows:
        for name, switch_off in ABLATIONS.items():
            with switch_off():
                passages = pipeline.rank_passages(row["q"])
            ranks[name].append(next((rank for rank, text in enumerate(passages, 1) if has_answer(text, row)), 0))
    return {name: shares(values) for name, values in ranks.items()}


def shares(ranks: Sequence[int]) -> tuple[float, ...]:
    """Return the shares of ranks that are at most each of FIRST_PASSAGES; 0 is no rank."""
    return tuple(sum(1 <= rank <= count for rank in ranks) / (len(ranks) or 1) for count in FIRST_PASSAGES)


class Found(NamedTuple):
    """What archives have for a question: the estimates of all, and the passages of those that are read."""

    question: Question
    estimates: dict[str, Estimate]
    counts: WordCounts
    answers: dict[str, Passages]


class Pipeline:
    """Answers questions from some archives as the server does, up to the ranked passages of all."""

    def __init__(self, archives: Iterable[Archive]) -> None:
        self._archives = {archive.name: archive for archive in archives}
        self._question: Question | None = None
        self._estimates: dict[str, Estimate] = {}

    def rank_passages(self, query: str) -> list[str]:
        """Return the passages for a question, the best first, each text once."""
        found = self.find(query)
        scored = [
            (passage.score + kind_fit(found.question, found.estimates[name].kind), passage.text)
            for name, answer in found.answers.items()
            for passage in answer.passages
        ]
        return list(dict.fromkeys(text for _, text in sorted(scored, key=lambda row: -row[0])))

    def find(self, query: str) -> Found:
        """Return what the archives that are read have for a question."""
        questions.analyze_question.cache_clear()
        question = questions.analyze_question(query)
        estimates = self._estimate(question)
        counts = count_words(estimates)
        call = FindPassages(question, scan_seconds=_SCAN_SECONDS, counts=counts)
        names = sorted(select_archives(question, estimates, counts))
        return Found(question, estimates, counts, {name: find_passages(self._archives[name], call) for name in names})

    def _estimate(self, question: Question) -> dict[str, Estimate]:
        """Return the estimates of all archives, of which no ablation changes anything but the question."""
        if question != self._question:
            call = EstimateAnswer(question)
            self._estimates = {name: estimate_answer(archive, call) for name, archive in self._archives.items()}
            self._question = question
        return self._estimates

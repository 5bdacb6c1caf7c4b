"""Fit weights of answers: of passages (worker/search/answer_features.py) or of the chance (app/query/confidence.py).

    python benchmarks/answer_weights.py passages
    python benchmarks/answer_weights.py chance

The questions are those of people.jsonl, in halves: weights that are fitted on one are measured on the other, and only
what helps both is worth taking. The fit starts at the present weights and is pulled back to them, as 240 questions
cannot tell 28 weights apart. It prints the figures before and after, and the weights; nothing is written. Indexes of
passages are used where the server has built them.

- Passages: a choice among the passages that are ranked for a question; a passage whose score is 1 lower is e to the
  power of 12 times less likely to be the one with the answer.
- Chance: a logistic regression of whether a question is answerable.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any
from unittest import mock

import people
from answer_ablation import Pipeline
from measure import table

from openzim_mcp.app.query import confidence
from openzim_mcp.app.query.answers import merge_passages
from openzim_mcp.app.query.archive_fit import kind_fit
from openzim_mcp.worker.search import answer_features, answer_ranking
from openzim_mcp.worker.search.answer_ranking import AnswerRanking
from openzim_mcp.worker.zim import Archive

Vector = list[float]

CERTAINTY = 12.0
STEPS, RATE, DECAY, SQUARE_DECAY = 150, 0.02, 0.9, 0.99
FIRST = (1, 3, 8)


@dataclass(frozen=True)
class Choice:
    """The passages of a question: their features, what their archives add, and which have the answer."""

    features: list[Vector]
    offsets: Vector
    right: list[bool]

    def rank(self, weights: Vector) -> int:
        """Return the rank of the first passage with the answer; 0 if there is none."""
        scores = map(add_offset(weights), self.features, self.offsets)
        ordered = sorted(zip(scores, self.right, strict=True), key=lambda row: -row[0])
        return next((rank for rank, (_, is_right) in enumerate(ordered, 1) if is_right), 0)


@dataclass(frozen=True)
class Example:
    """The signals of a question, and whether it can be answered."""

    signals: Vector
    is_answerable: bool


def add_offset(weights: Vector) -> Callable[[Vector, float], float]:
    """Return the function that scores a passage."""
    return lambda features, offset: sum(map(mul, features, weights)) + offset


def collect_choices(pipeline: Pipeline, questions: Sequence[dict[str, Any]]) -> Iterator[Choice]:
    """Search for each answerable question and keep the features of the passages that are ranked."""
    recorded: list[list[tuple[Vector, str]]] = []

    def best(ranking: AnswerRanking, count: int) -> list[answer_ranking.RankedAnswer]:
        rows = [([*row.features, *ranking.features(row)], row.passage.text) for row in ranking.ranked]
        recorded.append(rows)
        return present(ranking, count)

    present = AnswerRanking.best
    with mock.patch.object(AnswerRanking, "best", best):
        for row in questions:
            if row["answerable"]:
                recorded.clear()
                found = pipeline.find(row["q"])
                fits = [kind_fit(found.question, found.estimates[name].kind) for name in found.answers]
                rows = [(*pair, fit) for group, fit in zip(recorded, fits, strict=True) for pair in group]
                right = [people.has_answer(text, row) for _, text, _ in rows]
                yield Choice([features for features, _, _ in rows], [fit for _, _, fit in rows], right)


def collect_examples(pipeline: Pipeline, questions: Sequence[dict[str, Any]]) -> Iterator[Example]:
    """Search for each question and keep the signals of its passages."""
    for row in questions:
        found = pipeline.find(row["q"])
        fits = {name: kind_fit(found.question, estimate.kind) for name, estimate in found.estimates.items()}
        passages = merge_passages(found.answers, fits)
        if passages:
            signals = confidence.find_signals(found.question, passages, found.counts)
            yield Example([*map(float, signals), 1.0], row["answerable"])


def choice_gradient(weights: Vector, choices: Sequence[Choice]) -> Vector:
    """Return the gradient of the surprise that the right passages are chosen."""
    total = [0.0] * len(weights)
    for choice in choices:
        if any(choice.right):
            scores = list(map(add_offset(weights), choice.features, choice.offsets))
            highest = max(scores)
            odds = [math.exp(CERTAINTY * (score - highest)) for score in scores]
            right = sum(odd for odd, is_right in zip(odds, choice.right, strict=True) if is_right) or 1e-9
            for features, odd, is_right in zip(choice.features, odds, choice.right, strict=True):
                share = CERTAINTY * (odd / sum(odds) - (odd / right if is_right else 0.0))
                if abs(share) > 1e-6:
                    total = [value + share * feature for value, feature in zip(total, features, strict=True)]
    return total


def example_gradient(weights: Vector, examples: Sequence[Example]) -> Vector:
    """Return the gradient of the surprise that questions can be answered or not."""
    total = [0.0] * len(weights)
    for example in examples:
        error = chance(weights, example) - example.is_answerable
        total = [value + error * signal for value, signal in zip(total, example.signals, strict=True)]
    return total


def chance(weights: Vector, example: Example) -> float:
    """Return the chance that a question is answered."""
    return 1 / (1 + math.exp(-sum(map(mul, example.signals, weights))))


def passage_figures(weights: Vector, choices: Sequence[Choice]) -> list[str]:
    """Return the shares of questions with the answer in the first passages."""
    ranks = [choice.rank(weights) for choice in choices]
    return [f"{sum(0 < rank <= count for rank in ranks) / (len(ranks) or 1):.3f}" for count in FIRST]


def chance_figures(weights: Vector, examples: Sequence[Example]) -> list[str]:
    """Return the shares of unanswerable and of answerable questions below the threshold, and how well both separate."""
    chances = [(chance(weights, example), example.is_answerable) for example in examples]
    no, yes = ([value for value, is_answerable in chances if is_answerable == wanted] for wanted in (False, True))
    below = [
        f"{sum(not confidence.is_answer(value, 'normal', 2) for value in rows) / len(rows):.3f}" for rows in (no, yes)
    ]
    pairs = sum(low < high for low in no for high in yes)
    return [*below, f"{pairs / (len(no) * len(yes)):.3f}"]


@dataclass(frozen=True)
class Model:
    """Weights that can be fitted: their names and present values, what they are fitted on, and what measures them."""

    names: Sequence[str]
    start: Vector
    collect: Callable[[Pipeline, Sequence[dict[str, Any]]], Iterator[Any]]
    gradient: Callable[[Vector, Sequence[Any]], Vector]
    figures: Callable[[Vector, Sequence[Any]], list[str]]
    header: Sequence[str]
    pull: float
    """How strongly the weights are pulled back to the present ones."""

    def fit(self, rows: Sequence[Any]) -> Vector:
        """Return the weights after some steps against the gradient (Adam)."""
        weights, means, squares = list(self.start), [0.0] * len(self.start), [0.0] * len(self.start)
        for step in range(1, STEPS + 1):
            slopes = self.gradient(weights, rows)
            for number, slope in enumerate(slopes):
                pulled = slope + self.pull * (weights[number] - self.start[number])
                means[number] += (1 - DECAY) * (pulled - means[number])
                squares[number] += (1 - SQUARE_DECAY) * (pulled * pulled - squares[number])
                size = math.sqrt(squares[number] / (1 - SQUARE_DECAY**step)) or 1.0
                weights[number] -= RATE * means[number] / (1 - DECAY**step) / size
        return weights


MODELS = {
    "passages": Model(
        names=[*answer_features.WORD_WEIGHTS._fields, *answer_features.ANSWER_WEIGHTS._fields],
        start=[*answer_features.WORD_WEIGHTS, *answer_features.ANSWER_WEIGHTS],
        collect=collect_choices,
        gradient=choice_gradient,
        figures=passage_figures,
        header=[f"first {count}" for count in FIRST],
        pull=30.0,
    ),
    "chance": Model(
        names=[*confidence.WEIGHTS._fields, "bias"],
        start=[*confidence.WEIGHTS, confidence.BIAS],
        collect=collect_examples,
        gradient=example_gradient,
        figures=chance_figures,
        header=["refused", "wrongly refused", "area under the curve"],
        pull=2.0,
    ),
}


def main() -> None:
    """Collect, fit on each half, and print what the other half says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", choices=MODELS)
    parser.add_argument("--n", type=int, help="only so many questions, evenly distributed over the set")
    options = parser.parse_args()
    model = MODELS[options.weights]
    pipeline = Pipeline(Archive(path.stem, [str(path)]) for path in people.library_paths())
    rows = list(model.collect(pipeline, people.load_questions("own", options.n or people.ALL)))
    halves = (rows[0::2], rows[1::2])
    fitted = [model.fit(half) for half in halves]
    report = []
    for number, (half, other) in enumerate(zip(halves, reversed(fitted), strict=True), 1):
        report.append([f"half {number}, present weights", *model.figures(model.start, half)])
        report.append([f"half {number}, fitted on the other", *model.figures(other, half)])
    print(table([f"{len(rows)} questions", *model.header], report), end="\n\n")
    columns = zip(model.names, model.start, *fitted, model.fit(rows), strict=True)
    cells = [[name, *(f"{value:.2f}" for value in values)] for name, *values in columns]
    print(table(["weight", "present", "half 1", "half 2", "all"], cells))


if __name__ == "__main__":
    main()

"""Sensitivity of the weights in worker/search/ranking.py: the change of the ranking when one weight changes.

Half of the questions of each set are for tuning, the other half is held out. The articles of these sets have generic
headings (`Section 1`, …), so they say nothing about the weight of `heading`.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, replace
from itertools import groupby
from operator import mul

from measure import ROOT, table

from openzim_mcp.text import normalize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.candidates import FULL_MATCH_SCORE, find_candidates
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.search.ranking import NEXT_PASSAGE_WEIGHTS, WEIGHTS, Features, Page, rank_passages
from openzim_mcp.worker.zim import Archive

EVAL = ROOT.parent / "shared" / "eval"
SETS = [
    ("squad_pub", "squad_dev"),
    ("squad_pub", "ir_mid"),
    *((f"xquad_{x}", f"xquad_{x}") for x in ("de", "ar", "zh")),
]
FACTORS = (0.0, 0.5, 1.5)
CANDIDATES_READ = 30


@dataclass(frozen=True)
class Weights:
    """One setting of the weights."""

    features: Features = WEIGHTS
    next: tuple[float, ...] = NEXT_PASSAGE_WEIGHTS

    def scaled(self, name: str, factor: float) -> Weights:
        """Return a copy with one weight multiplied."""
        if name == "next":
            return replace(self, next=tuple(factor * weight for weight in self.next))
        return replace(self, features=self.features._replace(**{name: getattr(self.features, name) * factor}))


@dataclass(frozen=True)
class Question:
    """By article, the features of the candidate passages and whether each contains an answer."""

    articles: dict[str, list[tuple[Features, bool]]]
    correct_path: str

    def outcome(self, weights: Weights) -> tuple[bool, bool]:
        """Return whether the correct article is first, and whether its best passage contains an answer."""
        best = (float("-inf"), "", False)
        for path, rows in self.articles.items():
            scored = sorted(
                ((sum(map(mul, features, weights.features)), has_answer) for features, has_answer in rows), reverse=True
            )
            score = scored[0][0] + sum(map(mul, weights.next, (score for score, _ in scored[1:])))
            best = max(best, (score, path, scored[0][1]))
        is_correct = best[1] == self.correct_path
        return is_correct, is_correct and best[2]


def collect(archive: Archive, row: dict[str, object]) -> Question:
    """Read the candidates of a question and rank their passages."""
    query = parse_query(archive, str(row["q"]))
    pages = []
    for path, score in find_candidates(archive, query).scored[:CANDIDATES_READ]:
        item = archive.find_entry(path)
        assert item
        prior = min(1.0, score / (FULL_MATCH_SCORE * query.total_weight))
        pages.append(Page(item.path, item.title, article.document(archive, item), prior))
    answers = [normalize(str(answer)) for answer in row["answers"]]  # type: ignore[attr-defined]
    ranked = sorted(rank_passages(pages, query), key=lambda match: match.page.path)
    articles = {
        path: [(match.features, any(answer in match.passage.normalized for answer in answers)) for match in group]
        for path, group in groupby(ranked, key=lambda match: match.page.path)
    }
    return Question(articles, str(row["path"]))


def sample(questions: str, name: str, count: int) -> list[Question]:
    """Return random questions of a set, with the candidates from an archive."""
    archive = Archive(name, [str(EVAL / "zims" / f"{name}.zim")])
    rows = json.loads((EVAL / "data" / f"{questions}.json").read_text(encoding="utf-8"))["questions"]
    return [collect(archive, row) for row in random.Random(17).sample(rows, count)]


def figures(samples: list[list[Question]], weights: Weights) -> list[str]:
    """Return hit@1 and the share of answers in the best passage: the mean of the sets, for each half."""
    outcomes = [[question.outcome(weights) for question in questions] for questions in samples]
    cells = []
    for figure in (0, 1):
        halves = [
            [sum(row[figure] for row in rows[half::2]) / len(rows[half::2]) for rows in outcomes] for half in (0, 1)
        ]
        cells.append(" / ".join(f"{sum(half) / len(half):.1%}" for half in halves))
    return cells


def main() -> None:
    """Collect the candidates once, then score them with each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="questions per set")
    samples = [sample(questions, name, parser.parse_args().n) for questions, name in SETS]
    header = ["hit@1, tuning / held out", "answer in the best passage, tuning / held out"]
    rows = [[f"`{name}`", *figures([questions], Weights())] for (_, name), questions in zip(SETS, samples, strict=True)]
    print(table(["current weights", *header], rows), end="\n\n")
    rows = [["current weights", *figures(samples, Weights())]]
    for name in (*Features._fields, "next"):
        for factor in FACTORS:
            rows.append([f"`{name}` times {factor:g}", *figures(samples, Weights().scaled(name, factor))])
    print(table([f"mean of {len(SETS)} sets", *header], rows))


if __name__ == "__main__":
    main()

"""How the weights of services/passages.py stand: what the ranking gains or loses when one of them is another.

Half of the questions of each set are those that weights may be tuned on, the other half is held out. The articles
of these sets have no headings of their own (`Section 1`, …), so that they tell nothing of the weight of `heading`.
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
from openzim_mcp.worker.search import candidates, query, ranking
from openzim_mcp.worker.search.ranking import NEXT, WEIGHTS, Features
from openzim_mcp.worker.zim import Archive

EVAL = ROOT.parent / "shared" / "eval"
SETS = [
    ("squad_pub", "squad_dev"),
    ("squad_pub", "ir_mid"),
    *((f"xquad_{x}", f"xquad_{x}") for x in ("de", "ar", "zh")),
]
FACTORS = (0.0, 0.5, 1.5)
READ, PRIOR = 30, 3.0
"""How many candidates a search reads, and what the score of one that has all words is divided by."""


@dataclass(frozen=True)
class Weights:
    """What is tried."""

    of: Features = WEIGHTS
    next: tuple[float, ...] = NEXT

    def times(self, name: str, factor: float) -> Weights:
        """Return the same with one weight changed."""
        if name == "next":
            return replace(self, next=tuple(factor * weight for weight in self.next))
        return replace(self, of=self.of._replace(**{name: getattr(self.of, name) * factor}))


@dataclass(frozen=True)
class Asked:
    """A question: the features of its candidates' passages and whether each has an answer, by article."""

    articles: dict[str, list[tuple[Features, bool]]]
    right: str

    def outcome(self, weights: Weights) -> tuple[bool, bool]:
        """Return whether the right article comes first, and whether its best passage has an answer."""
        best = (float("-inf"), "", False)
        for path, rows in self.articles.items():
            scored = sorted(((sum(map(mul, features, weights.of)), has) for features, has in rows), reverse=True)
            score = scored[0][0] + sum(map(mul, weights.next, (score for score, _ in scored[1:])))
            best = max(best, (score, path, scored[0][1]))
        return best[1] == self.right, best[1] == self.right and best[2]


def collect(archive: Archive, row: dict[str, object]) -> Asked:
    """Read the candidates of a question and rank their passages."""
    wanted = query.read(archive, query.text_of(str(row["q"])))
    pages = []
    for path, score in candidates.find(archive, wanted).scored[:READ]:
        item = archive.find(path)
        assert item
        prior = min(1.0, score / (PRIOR * wanted.total))
        pages.append(ranking.Page(item.path, item.title, article.document_of(archive, item), prior))
    answers = [normalize(str(answer)) for answer in row["answers"]]  # type: ignore[attr-defined]
    ranked = sorted(ranking.rank(pages, wanted), key=lambda found: found.page.path)
    held = {
        path: [(found.features, any(answer in found.passage.folded for answer in answers)) for found in group]
        for path, group in groupby(ranked, key=lambda found: found.page.path)
    }
    return Asked(held, str(row["path"]))


def sample(questions: str, name: str, count: int) -> list[Asked]:
    """Return some questions of a set, as an archive answers them."""
    archive = Archive(name, [str(EVAL / "zims" / f"{name}.zim")])
    every = json.loads((EVAL / "data" / f"{questions}.json").read_text(encoding="utf-8"))["questions"]
    return [collect(archive, row) for row in random.Random(17).sample(every, count)]


def figures(samples: list[list[Asked]], weights: Weights) -> list[str]:
    """Return hit@1 and answers in the best passage: the mean of the sets, for each half."""
    outcomes = [[asked.outcome(weights) for asked in asked_of] for asked_of in samples]
    cells = []
    for figure in (0, 1):
        halves = [
            [sum(row[figure] for row in rows[half::2]) / len(rows[half::2]) for rows in outcomes] for half in (0, 1)
        ]
        cells.append(" / ".join(f"{sum(half) / len(half):.1%}" for half in halves))
    return cells


def main() -> None:
    """Collect once, then try weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=300, help="questions of each set")
    samples = [sample(questions, name, parser.parse_args().n) for questions, name in SETS]
    header = ["hit@1, tuning / held out", "answer in the best passage, tuning / held out"]
    rows = [[f"`{name}`", *figures([found], Weights())] for (_, name), found in zip(SETS, samples, strict=True)]
    print(table(["weights as they are", *header], rows), end="\n\n")
    rows = [["as they are", *figures(samples, Weights())]]
    for name in (*Features._fields, "next"):
        for factor in FACTORS:
            rows.append([f"`{name}` times {factor:g}", *figures(samples, Weights().times(name, factor))])
    print(table([f"mean of {len(SETS)} sets", *header], rows))


if __name__ == "__main__":
    main()

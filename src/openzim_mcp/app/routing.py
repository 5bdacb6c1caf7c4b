"""Which of many archives to ask: those that have most of the words, by their records, before one is opened.

A rare word counts more than a frequent one, and an archive that has it in several articles more than one that has it
once. Of 1,000 archives with 32 articles each, the one with the answer was among the fifty for .89 of 150 questions
(`benchmarks/many_archives.py --routing 1000`).
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.archive_fit import FIT_SCALE, count_words, kind_fit, word_weights
from openzim_mcp.app.word_records import MIN_ARCHIVES
from openzim_mcp.calls.search import CountWords, Question, WordCounts
from openzim_mcp.text import find_words, normalize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.search import KnownWords
    from openzim_mcp.zimfile import ArchiveFile

MAX_ASKED = MIN_ARCHIVES
_MAX_MADE = 80
"""How many records a question makes on its way, where the background has not made them: less than a second."""
_MAX_UNKNOWN = 3
"""How many of the archives whose words are not known, as their index is damaged, are asked among many."""
_MIN_TITLE_SHARE = 0.5
_ONE_ARTICLE_SHARE, _SEVERAL_ARTICLES = 0.4, 3


class Route(NamedTuple):
    """The archives to ask, in their order, and how many articles of all archives have each word.

    `known` is what is known of the words of each, by name; `passed_over` is how many others have some of the words,
    `unknown` of how many it is not known yet.
    """

    archives: list[ArchiveFile]
    counts: WordCounts
    known: Mapping[str, KnownWords]
    passed_over: int = 0
    unknown: int = 0


async def find_route(
    app: App,
    archives: Sequence[ArchiveFile],
    question: Question,
    *,
    is_prefix: bool = False,
    min_share: float = 0.0,
) -> Route:
    """Return the archives that have most of the words of a question; all of them if they are few.

    With `is_prefix` the last word may be the start of one. Archives that have less than `min_share` of what the best
    one has are left out.
    """
    call = CountWords(question, keep=app.settings.records_enabled, is_prefix=is_prefix)
    left_out = await _leave_out(app, archives, question) if len(archives) > MAX_ASKED else set[str]()
    archives = [archive for archive in archives if archive.name not in left_out]
    known = (await app.workers.call_each(archives, call)).results
    counts = count_words(known)
    if len(archives) <= MAX_ASKED:
        return Route(list(archives), counts, known, unknown=len(left_out))
    scores = score_archives(question, known, word_weights(counts))
    least = min_share * max(scores.values(), default=0.0)
    scores = {name: score for name, score in scores.items() if score >= least}
    best = set(heapq.nlargest(MAX_ASKED, scores, key=scores.__getitem__))
    best.update([archive.name for archive in archives if archive.name not in known][:_MAX_UNKNOWN])
    passed_over = max(0, len(scores) - MAX_ASKED)
    asked = [archive for archive in archives if archive.name in best]
    return Route(asked, counts, known, passed_over, len(left_out))


async def _leave_out(app: App, archives: Sequence[ArchiveFile], question: Question) -> set[str]:
    """Return the names of the archives that are not asked, as too many have no record yet; names may tell which."""
    missing = await app.word_records.find_missing(archives)
    words = set(find_words(normalize(question.text)))
    missing.sort(key=lambda archive: -len(words.intersection(find_words(normalize(archive.name.replace("_", " "))))))
    return {archive.name for archive in missing[_MAX_MADE:]}


async def route_words(app: App, archives: Sequence[ArchiveFile], text: str, *, is_prefix: bool = False) -> Route:
    """Return the archives that have most of the words of a text; all of them, without asking, if they are few."""
    if len(archives) <= MAX_ASKED:
        return Route(list(archives), WordCounts(), {})
    return await find_route(app, archives, Question(text), is_prefix=is_prefix)


async def route_titles(app: App, archives: Sequence[ArchiveFile], titles: Sequence[str]) -> list[ArchiveFile]:
    """Return the archives that may have an article of one of some titles: they need most of its words."""
    if len(archives) <= MAX_ASKED:
        return list(archives)
    return (await find_route(app, archives, Question(" ".join(titles)), min_share=_MIN_TITLE_SHARE)).archives


async def route_entry(app: App, archives: Sequence[ArchiveFile], reference: str) -> list[ArchiveFile]:
    """Return the archives that may have an entry of some title or path, by its words; all if too many have these."""
    if len(archives) <= MAX_ASKED:
        return list(archives)
    words = Question(" ".join(find_words(reference.replace("_", " "))))
    route = await find_route(app, archives, words, min_share=_MIN_TITLE_SHARE)
    is_certain = not (route.passed_over or route.unknown)
    return route.archives if is_certain else list(archives)


def score_archives(
    question: Question, known: Mapping[str, KnownWords], weights: Mapping[str, float]
) -> dict[str, float]:
    """Return the scores of the archives that have any word."""
    scores = {}
    for name, words in known.items():
        rows = words.counts.frequencies.items()
        score = sum(weights.get(word, 0.0) * _share(count) for word, count in rows if count)
        if score:
            scores[name] = score * math.exp(FIT_SCALE * kind_fit(question, words.kind))
    return scores


def _share(articles: int) -> float:
    """Return how much of its weight a word counts that so many articles of an archive have."""
    return _ONE_ARTICLE_SHARE + (1 - _ONE_ARTICLE_SHARE) * articles / (articles + _SEVERAL_ARTICLES)

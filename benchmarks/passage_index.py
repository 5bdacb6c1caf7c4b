"""The index of passages: what it finds in scripts without spaces and in archives without an index, and what it costs.

`unsegmented.jsonl` has paragraphs in Thai, Lao, Khmer and Burmese, with questions in other words than theirs.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from libzim.writer import Creator
from measure import ROOT, ZIMS, report, table
from search import Page

from openzim_mcp.calls.archive import BuildPassageIndex, PassageIndexResult
from openzim_mcp.calls.search import Question
from openzim_mcp.text import format_size
from openzim_mcp.worker.jobs.passage_index import build_passage_index
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.search import article_scan, fulltext
from openzim_mcp.worker.search.fulltext import Filter, SearchResults
from openzim_mcp.worker.search.language import detect_language
from openzim_mcp.worker.search.passage_index import open_trigrams
from openzim_mcp.worker.zim import Archive

QUESTIONS = ROOT / "benchmarks" / "unsegmented.jsonl"
LANGUAGES = {"tha": "Thai", "lao": "Lao", "khm": "Khmer", "mya": "Burmese"}
WITHOUT_INDEX = (ZIMS / "real" / "wikipedia_ay_all_nopic_2017-03.zim", ZIMS / "built" / "noindex.zim")
FILLERS = 3000
FILLER_PIECES = 60
SAMPLED_PAGES = 100
SAMPLED_WORDS = 2
MAX_WORD_FREQUENCY = 50
"""A word that more passages have is one of a template, and says nothing about a page."""
MIN_WORD_CHARS = 4
SCAN_SECONDS = 60.0

Search = Callable[[Archive, str], SearchResults]


@dataclass
class Score:
    """How often the right article came first and among the first five, the answer in the first passage; and times."""

    first: list[bool] = field(default_factory=list)
    first_five: list[bool] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)

    def add(self, search: Search, archive: Archive, query: str, title: str, answer: str = "") -> None:
        """Add the results of a query."""
        started = time.perf_counter()
        hits = search(archive, query).hits
        self.milliseconds.append((time.perf_counter() - started) * 1000)
        titles = [hit.best.page.title for hit in hits[:5]]
        self.first.append(titles[:1] == [title])
        self.first_five.append(title in titles)
        self.answered.append(any(answer in f"{hit.best.page.title} {hit.best.passage.text}" for hit in hits[:1]))

    @property
    def cells(self) -> list[str]:
        """The shares, and the median time."""
        shares = (statistics.mean(values) for values in (self.first, self.first_five, self.answered))
        return [" / ".join(f"{share:.2f}" for share in shares), f"{statistics.median(self.milliseconds):.1f}"]


def by_libzim(archive: Archive, query: str) -> SearchResults:
    """Search with the archive's own index only."""
    return fulltext.search_index(archive, Question(query), Filter(archive))


def by_default(archive: Archive, query: str) -> SearchResults:
    """Search as a server does: with the index of passages if it is there."""
    return fulltext.search_or_scan(archive, Question(query), Filter(archive), SCAN_SECONDS)


def without_passages(archive: Archive, query: str) -> SearchResults:
    """Search as a server does before the index of passages is there."""
    with mock.patch.object(fulltext, "search_passages", return_value=None):
        return by_default(archive, query)


def load_articles(language: str) -> list[dict[str, Any]]:
    """Return the articles of a language, with their questions."""
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["language"] == language]


def filler_texts(articles: list[dict[str, Any]], count: int) -> Iterator[str]:
    """Yield texts of syllables and short words of the articles, in random order, among which these must be found."""
    chance = random.Random(5)
    for _ in range(count):
        pieces = []
        for _ in range(FILLER_PIECES):
            text = chance.choice(articles)["text"]
            start = chance.randrange(len(text) - 12)
            pieces.append(text[start : start + chance.randint(3, 8)])
        yield "".join(pieces)


def write_archive(target: Path, language: str, articles: list[dict[str, Any]], fillers: int) -> Path:
    """Write an archive with a full-text index, as libzim makes it."""
    with Creator(target).config_indexing(True, language).config_nbworkers(1) as creator:
        creator.set_mainpath("0")
        for number, row in enumerate(articles):
            creator.add_item(Page(str(number), row["title"], f"<h1>{row['title']}</h1><p>{row['text']}</p>"))
        for number, text in enumerate(filler_texts(articles, fillers)):
            creator.add_item(Page(f"filler/{number}", f"{number}", f"<p>{text}</p>"))
        creator.add_metadata("Language", language)
    return target


def build(path: Path) -> tuple[PassageIndexResult, float]:
    """Build the index of an archive; return what it came to, and the seconds."""
    started = time.perf_counter()
    result = build_passage_index([str(path)], BuildPassageIndex(), lambda *_: None)
    return result, time.perf_counter() - started


def measure_questions(folder: Path) -> str:
    """Measure questions in scripts without spaces."""
    rows = []
    for language, fillers in [(code, 0) for code in LANGUAGES] + [("tha", FILLERS)]:
        articles = load_articles(language)
        path = write_archive(folder / f"{language}{fillers}.zim", language, articles, fillers)
        scores = []
        for search in (by_libzim, without_passages, by_default):
            if search is by_default:
                build(path)
            archive, score = Archive(path.stem, [str(path)]), Score()
            for row in articles:
                for question in row["questions"]:
                    score.add(search, archive, question["q"], row["title"], question["a"])
            scores.append(score)
        label = f"{LANGUAGES[language]}, {len(articles) + fillers:,} articles, {len(scores[0].first)} questions"
        rows.append([label, *(cell for score in scores for cell in score.cells)])
    kinds = ("index of the archive", "before the index is built", "index of passages")
    header = [f"{kind}: {figure}" for kind in kinds for figure in ("hit@1 / hit@5 / answer", "ms")]
    return table(["questions", *header], rows)


def sample_words(archive: Archive) -> Iterator[tuple[str, str]]:
    """Yield the titles of pages all over an archive, and rare words of one passage of each."""
    index = open_trigrams(archive)
    assert index is not None
    chance = random.Random(3)
    language = detect_language(archive.languages, "")
    paths = list(article_scan.text_paths(archive))
    for path in chance.sample(paths, len(paths)):
        item = archive.find_entry(path)
        passages = read_document(archive, item).passages if item else []
        if not item or not passages:
            continue
        words = [word.text for word in language.content_words(chance.choice(passages).text)]
        rare = [word for word in words if len(word) >= MIN_WORD_CHARS and index.frequency(word) <= MAX_WORD_FREQUENCY]
        if len(rare) >= SAMPLED_WORDS:
            yield item.title, " ".join(chance.sample(rare, SAMPLED_WORDS))


def measure_archive(path: Path) -> list[str]:
    """Measure an archive without an index: what its index of passages costs, and what is found with it."""
    result, seconds = build(path)
    archive = Archive(path.stem, [str(path)])
    sample = [row for row, _ in zip(sample_words(archive), range(SAMPLED_PAGES), strict=False)]
    before, after = Score(), Score()
    for title, words in sample:
        before.add(without_passages, archive, words, title)
        after.add(by_default, archive, words, title)
    size = [format_size(number) for number in (result.text_bytes, result.index_bytes)]
    articles = archive.counts["articles"] or archive.counts["entries"]
    label = f"`{path.name}`, {articles:,} articles"
    cells = [cell.rpartition(" / ")[0] or cell for score in (before, after) for cell in score.cells]
    return [label, f"{result.passages:,}", *size, f"{seconds:.1f}", str(len(sample)), *cells]


def measure_archives() -> str:
    """Measure the archives that have no full-text index."""
    header = ["archive", "passages", "text", "index", "built in s", "pages asked for"]
    header += [f"{when}: {figure}" for when in ("before", "with it") for figure in ("hit@1 / hit@5", "ms")]
    return table(header, [measure_archive(path) for path in WITHOUT_INDEX if path.exists()])


def main() -> None:
    """Measure in a cache of its own, and write the report."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        questions, archives = measure_questions(Path(folder)), measure_archives()
    notes = (
        f"The {FILLERS:,} other articles of the last row are pieces of 3 to 8 characters of the same texts. Words: "
        f"{SAMPLED_WORDS} of one passage that at most {MAX_WORD_FREQUENCY} passages have; before, an archive with more "
        "than 2,000 articles is searched by title."
    )
    report("passage_index", "python benchmarks/passage_index.py", f"{questions}\n\n{archives}\n\n{notes}")


if __name__ == "__main__":
    main()

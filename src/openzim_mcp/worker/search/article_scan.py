"""Search a small archive that has no index by reading all of its articles."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.text import normalize
from openzim_mcp.worker.readers import is_prose, is_text
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.query import Term, weight_terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.search.language import Word
    from openzim_mcp.worker.zim import Archive

_MAX_ARTICLES = 2000


@dataclass(frozen=True)
class ArticleScan:
    """The terms with their frequencies, the scores of the articles that contain some, and a note for the caller."""

    terms: tuple[Term, ...]
    scores: dict[str, float]
    note: str


def can_scan(archive: Archive) -> bool:
    """Return whether an archive is small enough to read all of its articles."""
    return _count_articles(archive) <= _MAX_ARTICLES


def _count_articles(archive: Archive) -> int:
    return archive.counts["articles"] or archive.counts["entries"]


def scan_articles(archive: Archive, words: Sequence[Word], max_seconds: float) -> ArticleScan:
    """Search every article of a small archive for the words, within a time limit."""
    if not can_scan(archive):
        articles = _count_articles(archive)
        note = f"It has no full-text index and {articles} articles, too many to read: only titles were compared."
        return ArticleScan(weight_terms(words, lambda _: 0, articles), {}, f"{note} zim_browse lists it.")
    prefixes = {word.text: Term(word.text, word.stem, 0, 0.0).search_prefix for word in words}
    deadline = time.monotonic() + max_seconds
    words_by_path: dict[str, list[str]] = {}
    count = 0
    is_complete = True
    for path in text_paths(archive):
        if time.monotonic() > deadline:
            is_complete = False
            break
        count += 1
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            text = normalize(_scanned_text(archive, path, list(prefixes.values())))
            contained = [word for word, prefix in prefixes.items() if prefix in text]
            if contained:
                words_by_path[path] = contained
    terms = weight_terms(words, lambda word: sum(word.text in contained for contained in words_by_path.values()), count)
    weights = {term.word: term.weight for term in terms}
    scores = {path: sum(weights[word] for word in contained) for path, contained in words_by_path.items()}
    extent = f"all {count} articles were read" if is_complete else f"{count} articles were read within the time limit"
    return ArticleScan(terms, scores, f"It has no full-text index: {extent}.")


def _scanned_text(archive: Archive, path: str, prefixes: Sequence[str]) -> str:
    """Return the text of an entry to search for words: that of a page with its markup, which is faster."""
    item = archive.find_entry(path)
    if item is None or is_text(item.mime_type):
        return archive.read_content(path).decode(errors="replace")
    return "\n".join(passage.text for passage in article.document_around(archive, item, prefixes).passages)


def text_paths(archive: Archive) -> Iterator[str]:
    """Yield the paths of all texts among the content."""
    for number in archive.content:
        entry = archive.entry_by_id(number)
        if entry.redirect_to is None and is_prose(entry.mime_type, entry.path):
            yield entry.path

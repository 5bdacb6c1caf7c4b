"""Searching an archive that has no index: by reading it, as long as it is small."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.text import normalize
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.search import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.search.language import Word
    from openzim_mcp.worker.zim import Archive

_ARTICLES = 2000


@dataclass(frozen=True)
class Scanned:
    """The words with the number of articles that have them, articles by what they have, and what was done."""

    terms: tuple[query.Term, ...]
    scored: dict[str, float]
    note: str


def texts(archive: Archive, words: Sequence[Word], seconds: float) -> Scanned:
    """Read every article of a small archive for the words, as long as there is time."""
    articles = archive.counts["articles"] or archive.counts["entries"]
    if articles > _ARTICLES:
        note = f"It has no full-text index and {articles} articles, too many to read: only titles were compared."
        return Scanned(query.weigh(words, lambda _: 0, articles), {}, f"{note} zim_browse lists it.")
    probes = {word: query.Term(word.text, word.stem, 0, 0.0).probe for word in words}
    ends = time.monotonic() + seconds
    held: dict[str, set[Word]] = {}
    read = 0
    complete = True
    for path in _paths(archive):
        if time.monotonic() > ends:
            complete = False
            break
        read += 1
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            text = normalize(archive.read_content(path).decode(errors="replace"))
            found = {word for word, probe in probes.items() if probe in text}
            if found:
                held[path] = found
    terms = query.weigh(words, lambda text: sum(any(w.text == text for w in has) for has in held.values()), read)
    weights = {term.word: term.weight for term in terms}
    scored = {path: sum(weights[word.text] for word in has) for path, has in held.items()}
    done = f"all {read} articles were read" if complete else f"{read} articles were read in the time there was"
    return Scanned(terms, scored, f"It has no full-text index: {done}.")


def _paths(archive: Archive) -> Iterator[str]:
    """Yield the paths of all texts among the content."""
    for number in archive.content:
        entry = archive.entry_by_id(number)
        if entry.redirect_to is None and (is_page(entry.mime_type) or (entry.mime_type or "").startswith("text/plain")):
            yield entry.path

"""Whether an archive has many articles: then the lists of its index are read, instead of many searches by libzim."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openzim_mcp.worker.search.index_postings import PostingIndex
    from openzim_mcp.worker.zim import Archive

MANY_ARTICLES = 40_000


def has_many_articles(archive: Archive) -> bool:
    """Return whether each result is a read of its own, and many articles have all words by chance."""
    return archive.counts["articles"] > MANY_ARTICLES


def large_index(archive: Archive) -> PostingIndex | None:
    """Return the index of an archive with many articles; None if it has fewer, or its lists cannot be read."""
    return archive.posting_index if has_many_articles(archive) else None

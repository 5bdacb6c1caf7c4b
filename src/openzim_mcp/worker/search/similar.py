"""Articles that are about the same as another, by its words: for pages without links."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from openzim_mcp.calls.reading import RelatedArticle, RelatedArticles
from openzim_mcp.calls.search import SearchText
from openzim_mcp.text import find_words, normalize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.query import count_articles, weight_terms
from openzim_mcp.worker.search.titles import is_listing_page, without_qualifier

if TYPE_CHECKING:
    from openzim_mcp.calls.reading import FindSimilar
    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.zim import Archive

_MAX_SIMILAR = 20
_MIN_SCORE = 0.42
"""Below it, articles have only one of the words, by chance."""
_MAX_LEAD_CHARS = 3000
_WEIGHED_WORDS = 20
_QUERY_WORDS = 4
_SNIPPET_CHARS = 50


def find_similar(archive: Archive, call: FindSimilar) -> RelatedArticles:
    """Return the articles that a search for the title and the characteristic words of an article finds."""
    item, page = article.load_page(archive, call.path)
    query = f"{without_qualifier(item.title)} {_characteristic_words(archive, page)}"
    search = SearchText(query, 0, _MAX_SIMILAR + 1, snippet_chars=_SNIPPET_CHARS, scan_seconds=call.scan_seconds)
    hits = [
        hit
        for hit in search_text(archive, search).results
        if hit.score >= _MIN_SCORE and hit.path not in {item.path, archive.main_path} and not _is_list(hit.path)
    ][:_MAX_SIMILAR]
    related = [RelatedArticle(hit.path, hit.title, 0) for hit in hits[call.offset : call.offset + call.limit]]
    return RelatedArticles(item.path, item.title, archive.file_name, related, len(hits))


def _is_list(path: str) -> bool:
    return is_listing_page(path) or path.startswith("Special:")


def _characteristic_words(archive: Archive, page: Document) -> str:
    """Return the words that the start of a page has often and few other pages have."""
    text = page.body[:_MAX_LEAD_CHARS]
    counts = Counter(find_words(normalize(text)))
    words = query_language(archive, text).content_words(text)
    frequent = sorted(words, key=lambda word: -counts[word.text])[:_WEIGHED_WORDS]
    terms = weight_terms(frequent, lambda word: count_articles(archive, word), archive.entry_count)
    # A word of this page alone finds no other one.
    shared = [term for term in terms if term.frequency > 1]
    best = sorted(shared, key=lambda term: -term.weight * counts[term.word])[:_QUERY_WORDS]
    return " ".join(term.word for term in best)

"""Full-text search of one archive: with its index, or by scanning a small archive that has none."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors
from openzim_mcp.calls.search import Question, SearchHit, SearchHits
from openzim_mcp.languages import has_unsegmented_language
from openzim_mcp.text import is_unsegmented_script, is_unspaced_script, place_in_page
from openzim_mcp.worker.archive.browse import find_namespace
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.document import describe_extent
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.reading.document_titles import has_documents, title_of
from openzim_mcp.worker.reading.resolve import ARTICLE_NAMESPACES, resolve_entry
from openzim_mcp.worker.search import passage_index, titles
from openzim_mcp.worker.search.archive_size import has_many_articles
from openzim_mcp.worker.search.article_scan import can_scan, scan_articles
from openzim_mcp.worker.search.candidate_pages import NO_PAGES, load_page, load_pages
from openzim_mcp.worker.search.candidates import (
    FULL_MATCH_SCORE,
    MAX_COUNTED_MATCHES,
    find_candidates,
)
from openzim_mcp.worker.search.index_file import DAMAGED
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.mentions import titles_in_text
from openzim_mcp.worker.search.preview import quoted_share
from openzim_mcp.worker.search.query import NO_COUNTS, ParsedQuery, Term, parse_query, weight_terms
from openzim_mcp.worker.search.ranking import Page, best_passage_per_article, rank_passages
from openzim_mcp.worker.search.snippets import make_snippet

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from openzim_mcp.calls.search import SearchText, TitleMatchKind, WordCounts
    from openzim_mcp.worker.search.candidates import Candidates
    from openzim_mcp.worker.search.ranking import RankedPassage
    from openzim_mcp.worker.zim import Archive

NO_INDEX = "no_xapian_index"
INDEX_QUARANTINED = "index_closed"
SLOW_DISK = "The disk is slow: this is what was found in time. Ask again for all; what was read is in memory now."
_MAX_QUOTED_BOOKS = 100
"""Up to so many books are read for a quote: about a tenth of a second."""
_MIN_QUOTED_SHARE = 0.5
_MAX_QUOTED_BYTES = 2 << 20
_TITLE_BONUS = {"exact": 2.0, "redirect": 1.9, "prefix": 0.0, "fuzzy": 0.0}
"""Score bonus for an article whose title equals the query."""
_LISTING_PAGE_QUALITY, _LINK_LIST_QUALITY = 0.4, 0.6
"""Factors for the scores of pages of a tag or a user, and of pages that consist of links."""
_MAX_INDEXED_PAGES = 100
"""How many articles an index of passages lists."""
_MAX_RESCANNED_ARTICLES = 200
"""An archive with at most so many articles is scanned if its index finds nothing."""


_MAX_FOUND_DOCUMENTS = 40
_MAX_FIRST_PASSAGES = 8


@dataclass(frozen=True)
class Filter:
    """Accepts entries by the prefix of their path and of their content type."""

    archive: Archive
    path_prefix: str = ""
    content_type: str = ""

    def accepts(self, path: str, mime_type: str) -> bool:
        """Return whether an entry matches."""
        return path.startswith(self.path_prefix) and mime_type.startswith(self.content_type)

    def select(self, paths: Sequence[str]) -> list[str]:
        """Return the paths that match."""
        matching = [path for path in paths if path.startswith(self.path_prefix)]
        if not self.content_type:
            return matching
        return [path for path in matching if self.accepts(path, self.archive.mime_type_of(path))]


def make_filter(archive: Archive, namespace: str | None, content_type: str | None) -> Filter:
    """Return the filter for a namespace or folder and a content type; an unknown namespace is an error."""
    prefix = ""
    if namespace:
        letter, _, folder = find_namespace(archive, namespace)[0].partition("/")
        prefix = f"{folder}/" if folder else ""
        if not archive.has_new_scheme:
            prefix = f"{letter}/{prefix}"
        elif letter not in ARTICLE_NAMESPACES:
            prefix = "\0"  # no path starts so: only articles are indexed
    return Filter(archive, prefix, (content_type or "").strip().lower().removesuffix("*"))


class ArticleHit(NamedTuple):
    """An article with its best passage and its score; `quality` is below 1 for a page that only lists others."""

    best: RankedPassage
    score: float
    quality: float


@dataclass(frozen=True)
class SearchResults:
    """All results of a query: articles ranked by their passages, then paths in the order of the index."""

    query: ParsedQuery
    passages: list[RankedPassage]
    hits: list[ArticleHit]
    unranked: list[str]
    relaxed: dict[str, list[str]]
    estimate: int | None = None
    reason: str | None = None
    note: str | None = None

    @property
    def lowest_score(self) -> float:
        """The score of the last ranked article."""
        return self.hits[-1].score if self.hits else 1.0

    @cached_property
    def partly_read(self) -> list[str]:
        """The long documents of which only some pages were read, and how many."""
        pages = {hit.best.page.path: hit.best.page for hit in self.hits}
        return [f"{page.title}: {note}" for page in pages.values() if (note := describe_extent(page.document))]

    @cached_property
    def count(self) -> int:
        """How many articles are listed."""
        return len(self.hits) + len(self.unranked)


def search_text(archive: Archive, call: SearchText) -> SearchHits:
    """Return a page of the articles that match a query."""
    entry_filter = make_filter(archive, call.namespace, call.content_type)
    passage_index.count_documents(archive)
    if call.use_index:
        matches = count_needed_matches(archive, entry_filter, call.offset + call.limit)
        results = search_or_scan(archive, Question(call.query), entry_filter, call.scan_seconds, max_matches=matches)
    else:
        results = search_without_index(archive, Question(call.query), entry_filter, call.scan_seconds)
        results = replace(results, reason=INDEX_QUARANTINED)
    page = range(results.count)[call.offset : call.offset + call.limit]
    most = max(results.count, min(results.estimate or 0, MAX_COUNTED_MATCHES))
    no_results = None if results.count else "Nothing was found; try fewer or other words, or mode='title'."
    return SearchHits(
        results=[_hit_at(archive, results, position, call.snippet_chars) for position in page],
        total=max(results.count, results.estimate or 0),
        listed=most,
        corrected=results.query.corrected,
        relaxed=results.relaxed,
        total_is_estimate=results.estimate is not None,
        reason=results.reason,
        hint=(SLOW_DISK if timer.is_cut else None) or results.note or _partly_read(results) or no_results,
        is_partial=timer.is_cut,
    )


def _partly_read(results: SearchResults) -> str | None:
    return f"Read in part: {'; '.join(results.partly_read[:3])}." if results.partly_read else None


def count_needed_matches(archive: Archive, entry_filter: Filter, stop: int) -> int | None:
    """Return how many of the articles with all words are fetched for a list up to a position, and to know of more.

    Each is a read of its own in a large archive; a filter may leave out any of them, so that all are fetched (None).
    """
    is_filtered = bool(entry_filter.path_prefix or entry_filter.content_type)
    if is_filtered or not has_many_articles(archive):
        return None
    return min(MAX_COUNTED_MATCHES, stop + 1)


def search_or_scan(
    archive: Archive,
    question: Question,
    entry_filter: Filter,
    scan_seconds: float,
    counts: WordCounts = NO_COUNTS,
    max_matches: int | None = None,
) -> SearchResults:
    """Search with the index that can find the words; without any, or if a small archive's finds nothing, scan."""
    text = question.text
    if is_unsegmented_script(text) or not archive.has_fulltext_index:
        results = search_passages(archive, question, entry_filter)
        if results is not None:
            return results
    if not archive.has_fulltext_index:
        return search_without_index(archive, question, entry_filter, scan_seconds)
    if cannot_find_words(archive, text):
        if can_scan(archive):
            results = search_without_index(archive, question, entry_filter, scan_seconds)
            return replace(results, reason=None, note=None)
        similar_titles = titles.titles_by_substring(archive, text)
        return search_index(archive, question, entry_filter, counts, max_matches, similar_titles)
    results = search_index(archive, question, entry_filter, counts, max_matches)
    # The index splits Chinese, Japanese and Korean in its own way and may miss their words.
    may_miss_words = not is_unsegmented_script(text) and any(
        is_unspaced_script(term.word) for term in results.query.terms
    )
    if not results.count and (may_miss_words or archive.counts["articles"] <= _MAX_RESCANNED_ARTICLES):
        return replace(search_without_index(archive, question, entry_filter, scan_seconds), reason=None, note=None)
    return results


def cannot_find_words(archive: Archive, text: str) -> bool:
    """Return whether the full-text index of an archive that may have a text cannot find its words."""
    languages = archive.languages
    return is_unsegmented_script(text) and (not languages or has_unsegmented_language(languages))


def search_passages(archive: Archive, question: Question, entry_filter: Filter) -> SearchResults | None:
    """Search the index of passages that was built for an archive; None if there is none, or it is damaged."""
    index = passage_index.open_trigrams(archive)
    if index is None:
        return None
    text = question.text
    language = query_language(archive, text)
    words = language.content_words(text)
    prefixes = {word.text: Term(word.text, word.stem, 0, 0.0).search_prefix for word in words}
    try:
        terms = weight_terms(words, lambda word: index.frequency(prefixes[word.text]), index.passages)
        pages = index.score_pages(terms, _MAX_INDEXED_PAGES)
    except DAMAGED:
        passage_index.remove_index(archive)
        return None
    query = ParsedQuery(text, language, terms, {}, question)
    scores = {path: FULL_MATCH_SCORE * score for path, score in pages.items() if archive.look_up(path=path)}
    results = _rank_with_titles(archive, query, scores, entry_filter)
    if archive.has_fulltext_index:
        return results
    note = f"It has no full-text index of its own: {index.passages} passages were searched by trigrams."
    return replace(results, reason=NO_INDEX, note=note)


def search_index(
    archive: Archive,
    question: Question,
    entry_filter: Filter,
    counts: WordCounts = NO_COUNTS,
    max_matches: int | None = None,
    similar_titles: Collection[str] = (),
) -> SearchResults:
    """Search an archive that has an index; a URL in place of a query stands for the title of its entry."""
    text = question.text
    entry = resolve_entry(archive, text) if "://" in text else None
    title = entry.title if entry else text
    query = parse_query(archive, Question(title) if entry else question, counts)
    title_matches = titles.exact_titles(archive, title, query.language.stop_words)
    if titles.may_be_title(archive, text):
        title_matches = titles.same_title_key(archive, query.text) | title_matches
    candidates = find_candidates(archive, query, max_matches)
    full_score = FULL_MATCH_SCORE * query.total_weight
    scores = dict.fromkeys((*title_matches, *similar_titles), full_score) | dict(candidates.scored)
    documents = find_documents(archive, query)
    for path, page in documents.items():
        scores[path] = scores.get(path, 0.0) + full_score * page.prior
    for path in pages_with_quotes(archive, question):
        scores.setdefault(path, FULL_MATCH_SCORE * query.total_weight)
        title_matches.setdefault(path, "prefix")  # read first, without a bonus
    passages, hits = rank_articles(archive, query, scores, title_matches, entry_filter, documents)
    may_have_more = bool(candidates.full_matches) and candidates.match_count > len(candidates.full_matches)
    others = [*candidates.full_matches, *(() if may_have_more else scores)]
    return SearchResults(
        query=query,
        passages=passages,
        hits=hits,
        unranked=entry_filter.select(_without_hits(others, hits)),
        relaxed=_relaxed_words(query, candidates),
        estimate=candidates.match_count if may_have_more else None,
    )


def find_documents(archive: Archive, query: ParsedQuery) -> dict[str, Page]:
    """Return the documents that the index of our own finds and that of the archive cannot have, with their passages."""
    if not has_documents(archive):
        return {}
    pages = {}
    with passage_index.using_words(archive) as index:
        for hit in index.find_pages(query.terms, _MAX_FOUND_DOCUMENTS) if index else ():
            stored = index.read_page(hit.path) if index else None
            if stored is not None:
                found = {number - stored.first_passage for number in hit.passages} | set(range(_MAX_FIRST_PASSAGES))
                passages = [stored.passage(at) for at in sorted(found) if 0 <= at < stored.passage_count]
                pages[hit.path] = Page(hit.path, stored.title, stored, min(1.0, hit.score), passages)
    return pages


def pages_with_quotes(archive: Archive, question: Question) -> list[str]:
    """Return the books of a small archive that have what is quoted."""
    is_small = archive.counts["articles"] <= _MAX_QUOTED_BOOKS
    if not question.quotes or not is_small or archive_kind(archive) != "book":
        return []
    paths = []
    for path, _ in archive.article_titles:
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            item = archive.find_entry(path)
            if (
                item is not None
                and is_page(item.mime_type)
                and item.size <= _MAX_QUOTED_BYTES
                and quoted_share(archive.read_content(path), question.quotes) >= _MIN_QUOTED_SHARE
            ):
                paths.append(path)
    return paths


def _without_hits(paths: Sequence[str], hits: list[ArticleHit]) -> list[str]:
    ranked = {hit.best.page.path for hit in hits}
    return [path for path in dict.fromkeys(paths) if path not in ranked]


def _relaxed_words(query: ParsedQuery, candidates: Candidates) -> dict[str, list[str]]:
    """Return the words that results need not contain, by reason."""
    indexed = [term.word for term in query.terms if term.frequency and not is_unspaced_script(term.word)]
    never_together = indexed if len(indexed) > 1 and not candidates.full_matches else []
    unknown = [word for word in query.unknown_words if not is_unspaced_script(word)]
    reasons = {"unknown_words": unknown, "no_article_has_all_of": never_together}
    return {reason: words for reason, words in reasons.items() if words}


def rank_articles(
    archive: Archive,
    query: ParsedQuery,
    scores: dict[str, float],
    title_matches: dict[str, TitleMatchKind],
    entry_filter: Filter,
    stored: Mapping[str, Page] = NO_PAGES,
) -> tuple[list[RankedPassage], list[ArticleHit]]:
    """Read the best candidates, and return their passages and the articles, ranked by these; some are read already."""
    pages = load_pages(archive, query, scores, title_matches, entry_filter.accepts, stored)
    return rank_pages(pages, query, title_matches)


def rank_pages(
    pages: list[Page], query: ParsedQuery, title_matches: dict[str, TitleMatchKind]
) -> tuple[list[RankedPassage], list[ArticleHit]]:
    """Return the passages of some pages and the pages, ranked by these."""
    passages = rank_passages(pages, query)
    hits = []
    for best, score in best_passage_per_article(passages):
        kind = title_matches.get(best.page.path)
        quality = 1.0 if kind else _page_quality(best.page)
        hits.append(ArticleHit(best, score * quality + (_TITLE_BONUS[kind] if kind else 0.0), quality))
    return passages, sorted(hits, key=lambda hit: -hit.score)


def _page_quality(page: Page) -> float:
    """Return the factor for the score of a page, below 1 if it only leads to others."""
    if titles.is_listing_page(page.path):
        return _LISTING_PAGE_QUALITY
    return _LINK_LIST_QUALITY if page.document.is_link_list else 1.0


def search_without_index(
    archive: Archive, question: Question, entry_filter: Filter, scan_seconds: float
) -> SearchResults:
    """Search the titles and, in a small archive, the texts of all articles."""
    text = question.text
    language = query_language(archive, text)
    scan = scan_articles(archive, language.content_words(text), scan_seconds)
    query = ParsedQuery(text, language, scan.terms, {}, question)
    similar_titles = [] if archive.has_title_index else titles.titles_by_prefix(archive, text)
    if is_unsegmented_script(text) and not scan.scores:
        similar_titles += titles.titles_by_substring(archive, text)
    results = _rank_with_titles(archive, query, scan.scores, entry_filter, similar_titles)
    return replace(results, reason=NO_INDEX, note=scan.note)


def _rank_with_titles(
    archive: Archive,
    query: ParsedQuery,
    scores: dict[str, float],
    entry_filter: Filter,
    similar_titles: Sequence[str] = (),
) -> SearchResults:
    """Rank articles with these scores, those whose titles are the query or occur in it, and some with similar ones."""
    title_matches = titles.exact_titles(archive, query.text, query.language.stop_words)
    contained_titles = titles_in_text(archive, query.text)
    scores = dict.fromkeys((*title_matches, *contained_titles), FULL_MATCH_SCORE * query.total_weight) | scores
    scores |= {path: query.total_weight for path in similar_titles if path not in scores}
    passages, hits = rank_articles(archive, query, scores, title_matches, entry_filter)
    return SearchResults(query, passages, hits, entry_filter.select(_without_hits(list(scores), hits)), {})


def _hit_at(archive: Archive, results: SearchResults, position: int, snippet_chars: int) -> SearchHit:
    """Return the result at a position; an unranked article is read now, for its snippet."""
    if position < len(results.hits):
        hit = results.hits[position]
        return _search_hit(hit.best, hit.score, results.query, snippet_chars)
    position -= len(results.hits)
    count = len(results.unranked) if results.estimate is None else MAX_COUNTED_MATCHES
    score = results.lowest_score * (1 - (position + 1) / (count + 1))
    path = results.unranked[position]
    if timer.is_late():
        return SearchHit(path, archive.name_of(path), "", round(score, 3))
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        item = archive.find_entry(path)
        if item is not None:
            for best in rank_passages([load_page(archive, item, results.query, 0.0)], results.query)[:1]:
                return _search_hit(best, score, results.query, snippet_chars)
    return SearchHit(path, title_of(archive, path), "", round(score, 3))


def _search_hit(best: RankedPassage, score: float, query: ParsedQuery, snippet_chars: int) -> SearchHit:
    section = best.page.document.sections[best.passage.section].title
    snippet = make_snippet(best.passage.text, query, snippet_chars)
    place = place_in_page(section, best.passage.locator)
    return SearchHit(best.page.path, best.page.title, snippet, round(score, 3), place or None)

"""Find entries by title: exact, through a redirect, by prefix, or with typos; and suggestions while typing."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.reading import ClosestTitle, LocatedEntry
from openzim_mcp.calls.search import MATCH_ORDER, Suggestion, Suggestions, TitleHit, TitleHits
from openzim_mcp.text import edit_distance, max_typing_edits, normalize, title_key, title_words, tokenize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.resolve import entry_name
from openzim_mcp.worker.search.archive_size import large_index
from openzim_mcp.worker.search.article_scores import score_postings
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.search.title_ranges import MAX_MATCHES, has_title_ranges, titles_in_range, titles_with_typos

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.calls.reading import FindClosestTitle
    from openzim_mcp.calls.search import FindTitles, SuggestTitles, TitleMatchKind
    from openzim_mcp.worker.zim import Archive, TitleMatch

_MAX_TITLE_WORDS, _MAX_TITLE_WORDS_AMONG_MANY = 12, 5
"""A longer query is not taken for a title; in a large archive, asking the title index costs reads."""
_MAX_TITLE_HITS = 100
_MAX_SUGGESTIONS = 50
_MIN_IMPORTANCE = 0.2
"""From about eight redirects on, their number says something."""
_MAX_COUNTED_MENTIONS = 12
"""How many suggestions are ordered by the articles that mention them: each costs a search."""
_MAX_SCANNED_TITLES = 100_000
"""How many titles are read one by one in an archive without a title index: about a second."""
_MAX_FUZZY_CANDIDATES = 60
_MIN_SUBSTRING_CHARS = 3
_MAX_KEY_CANDIDATES = 20
_MAX_UPPER_CASE_WORDS, _MAX_ACRONYM_CHARS = 2, 6
"""Longer titles in capital letters only are rare."""
_MAX_MEANING_LINKS = 160
_ONE_EDIT_MAX_CHARS = 5
"""Up to this length a title may be one edit away, beyond it two."""
_MIN_SIMILARITY = 0.85
"""From this similarity on, an entry is taken for the one that was requested."""
_MAX_CLOSEST_TITLES = 3
_MAX_SIMILAR_CANDIDATES = 20
_CONTRACTION = re.compile(
    r"\b((?:ai|are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)n(?=t)|how|i|that|they|what|who|you)"
    r"(t|d|ll|re|ve)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(r"(?<=[^\s/])#\S+$")
_LISTING_PATH = re.compile(r"(?:^|/)(?:tagged|tags|users?)(?:/|$)|[?&_](?:page|sort|tab)=")


def without_qualifier(title: str) -> str:
    """Return a title without the brackets at its end: `Mercury (planet)` is `Mercury`."""
    return title.rpartition(" (")[0] or title if title.endswith(")") else title


def is_listing_page(path: str) -> bool:
    """Return whether a page only lists others: the page of a tag or a user, or a page of a listing."""
    return bool(_LISTING_PATH.search(path))


def exact_titles(archive: Archive, text: str, stop_words: frozenset[str]) -> dict[str, TitleMatchKind]:
    """Return the articles whose title or path is the text, in the usual cases. Asks no index."""
    kinds: dict[str, TitleMatchKind] = {}
    for match in _look_up_variants(archive, text, stop_words):
        kinds.setdefault(match.target, _exact_kind(match))
    return kinds


def _exact_kind(match: TitleMatch) -> TitleMatchKind:
    return "redirect" if match.is_redirect else "exact"


def _look_up_variants(archive: Archive, text: str, stop_words: frozenset[str]) -> Iterator[TitleMatch]:
    for variant in case_variants(text.split(), stop_words):
        if has_title_ranges(archive):
            paths = [variant.replace(" ", separator) for separator in archive.path_separators]
            # A range is found in fewer reads than an entry, and is asked for next anyway.
            yield from _matches_at(archive, filter(archive.entries_by_prefix, paths))
            continue
        yield from filter(None, [archive.look_up(title=variant)])
        yield from _matches_at(archive, dict.fromkeys((variant, variant.replace(" ", "_"))))


def may_be_title(archive: Archive, text: str) -> bool:
    """Return whether a text is short enough for a title in other case, accents and punctuation."""
    return len(text.split()) <= (_MAX_TITLE_WORDS_AMONG_MANY if archive.has_landmarks else _MAX_TITLE_WORDS)


def restore_apostrophes(text: str) -> str:
    """Return a text with the apostrophes that its contractions lack: `whatd`, `dont`."""
    return _CONTRACTION.sub(r"\1'\2", text)


def same_title_key(archive: Archive, text: str) -> dict[str, TitleMatchKind]:
    """Return the articles whose titles differ from a text in case, accents and punctuation only. Asks an index."""
    key = title_key(text)
    kinds: dict[str, TitleMatchKind] = {}
    # The index takes "whatd" and "what'd" for different words.
    for spelling in dict.fromkeys((text, restore_apostrophes(text))):
        for match in _suggest_matches(archive, spelling, _MAX_KEY_CANDIDATES):
            if title_key(match.title) == key:
                kinds.setdefault(match.target, _exact_kind(match))
    return kinds


def titles_by_prefix(archive: Archive, text: str) -> list[str]:
    """Return the paths of articles whose titles start with a text."""
    return list(dict.fromkeys(match.target for match in _suggest_matches(archive, text, _MAX_TITLE_HITS)))


def titles_by_substring(archive: Archive, text: str) -> list[str]:
    """Return the paths of articles whose titles occur in a text without spaces between its words, the longest first."""
    normalized = normalize(text)
    found: dict[str, int] = {}
    for number in archive.content[:_MAX_SCANNED_TITLES]:
        title = normalize(without_qualifier(archive.title_by_id(number)))
        if len(title) >= _MIN_SUBSTRING_CHARS and title in normalized:
            match = archive.look_up(path=archive.path_by_id(number))
            if match:
                found.setdefault(match.target, len(title))
    return sorted(found, key=lambda path: -found[path])[:_MAX_TITLE_HITS]


def case_variants(words: list[str], stop_words: frozenset[str]) -> list[str]:
    """Return words joined in the cases in which titles are written."""
    plain = " ".join(words)
    capital = [word[:1].upper() + word[1:] for word in words]
    mixed = [word if number and word.lower() in stop_words else capital[number] for number, word in enumerate(words)]
    first_capital = plain[:1].upper() + plain[1:]
    upper = [plain.upper()] if len(words) <= _MAX_UPPER_CASE_WORDS else []
    return list(dict.fromkeys((plain, first_capital, " ".join(mixed), " ".join(capital), *upper)))


def find_titles(archive: Archive, call: FindTitles) -> TitleHits:
    """Return entries by title: exact matches, meanings of an ambiguous title, prefixes; without any, with typos."""
    hits = _rank_matches(archive, call.query)
    return TitleHits(hits[call.offset : call.offset + call.limit], len(hits))


def _rank_matches(archive: Archive, text: str) -> list[TitleHit]:
    """Return all entries that a title may mean, each once, by its best match."""
    key = title_key(text)
    best: dict[str, TitleHit] = {}
    for match, kind in _find_matches(archive, text, key):
        previous = best.get(match.target)
        if previous is None or MATCH_ORDER[kind] < MATCH_ORDER[previous.match]:
            via = match.title if match.is_redirect else None
            best[match.target] = TitleHit(match.target, match.target_title, kind, via)

    def sort_key(hit: TitleHit) -> tuple[int, bool, bool, float]:
        is_longer = title_key(without_qualifier(hit.title)) != key
        return MATCH_ORDER[hit.match], is_longer, is_listing_page(hit.path), -_importance(archive, hit.path)

    return sorted(best.values(), key=sort_key)[:_MAX_TITLE_HITS]


def _find_matches(archive: Archive, text: str, key: str) -> Iterator[tuple[TitleMatch, TitleMatchKind]]:
    """Yield the entries that a title may mean; those with typos only if there is no other."""
    exact = list(_look_up_variants(archive, text, query_language(archive, text).stop_words))
    for match in exact:
        yield match, _exact_kind(match)
    suggested = [(match, _match_kind(match, key)) for match in _suggest_matches(archive, text, _MAX_TITLE_HITS)]
    yield from suggested
    exact += [match for match, kind in suggested if kind in {"exact", "redirect"}]
    for target in dict.fromkeys(match.target for match in exact):
        for meaning in _disambiguate(archive, target, key):
            yield meaning, "prefix"
    if not exact and all(kind == "fuzzy" for _, kind in suggested):
        for match in _fuzzy_matches(archive, key):
            yield match, "fuzzy"


def _match_kind(match: TitleMatch, key: str) -> TitleMatchKind:
    matched_key = title_key(match.title)
    if matched_key == key:
        return _exact_kind(match)
    return "prefix" if matched_key.startswith(key) else "fuzzy"


def _disambiguate(archive: Archive, path: str, key: str) -> Iterator[TitleMatch]:
    """Yield the meanings that a disambiguation page links to."""
    with contextlib.suppress(errors.OpenZimMcpError):
        _, document = article.load_page(archive, path)
        if document.is_disambiguation:
            for link in document.links[:_MAX_MEANING_LINKS]:
                match = archive.look_up(path=link.target) if link.kind == "internal" else None
                if match and key in title_key(match.target_title):
                    yield match


def _fuzzy_matches(archive: Archive, key: str) -> list[TitleMatch]:
    """Return entries whose titles are one or two edits away, the closest first."""
    max_edits = 1 if len(key) <= _ONE_EDIT_MAX_CHARS else 2
    matches: dict[str, tuple[int, TitleMatch]] = {}
    words = key.split()
    swapped = key[1:2] + key[:1] + key[2:3]
    prefixes = [" ".join(words[:-1]), " ".join(words[1:]), key[: len(key) // 2], key[:3], key[:2], swapped]
    if has_title_ranges(archive):
        nearest = [
            spelling
            for prefix in (key[: len(key) // 2], key[:3], swapped)
            for spelling in _spellings(archive, prefix)
            if len(key) <= _MAX_ACRONYM_CHARS or not spelling.isupper()
        ]
        return titles_with_typos(archive, nearest, key, max_edits)
    for prefix in dict.fromkeys(prefix.strip() for prefix in prefixes if len(prefix.strip()) > 1):
        for match in _suggest_matches(archive, prefix, _MAX_FUZZY_CANDIDATES):
            edits = edit_distance(key, title_key(match.title), max_edits)
            if edits <= max_edits:
                matches.setdefault(match.target, (edits, match))
        if matches:
            break
    if not matches and archive.has_fulltext_index:
        corrected = parse_query(archive, key).text
        if corrected != key:
            suggested = _suggest_matches(archive, corrected, _MAX_FUZZY_CANDIDATES)
            matches = {match.target: (1, match) for match in suggested}
    return [match for _, match in sorted(matches.values(), key=lambda row: row[0])]


def find_closest_title(archive: Archive, call: FindClosestTitle) -> ClosestTitle:
    """Return the entry whose title is closest to a requested path or title that no entry has."""
    requested = _FRAGMENT.sub("", call.requested)
    closest = closest_title(archive, requested)
    if closest.path is None:
        text = _plain_title(entry_name(requested).replace("_", " "))
        near = [row.path for row in closest.did_you_mean if _is_one_letter_off(text, _plain_title(row.title))]
        return ClosestTitle(near[0] if len(near) == 1 else None, closest.did_you_mean)
    return closest


def _is_one_letter_off(text: str, title: str) -> bool:
    """Return whether a title of some length differs by one letter, which is a small share only of a long one."""
    return len(text) >= _ONE_EDIT_MAX_CHARS and edit_distance(text, title, 1) == 1


def closest_title(archive: Archive, requested: str) -> ClosestTitle:
    """Return the same."""
    text = _plain_title(entry_name(requested).replace("_", " "))
    stop_words = query_language(archive, text).stop_words
    similarity: dict[TitleMatch, float] = {}
    for matches in _similar_titles(archive, text):
        for match in matches:
            similarity[match] = _similarity(text, _plain_title(match.target_title))
        if max(similarity.values(), default=0.0) >= _MIN_SIMILARITY:
            break
    closest = {match.target: match for match in sorted(similarity, key=lambda match: similarity[match])}
    related = [match for match in reversed(closest.values()) if _is_related(text, match.target_title, stop_words)]
    best = related[0] if related and similarity[related[0]] >= _MIN_SIMILARITY else None
    closest_entries = [LocatedEntry(match.target, match.target_title) for match in related[:_MAX_CLOSEST_TITLES]]
    return ClosestTitle(best.target if best else None, closest_entries)


def _is_related(text: str, title: str, stop_words: frozenset[str]) -> bool:
    """Return whether a title shares a word with a text, or one of nearly the same spelling."""
    words = [word for word in text.split() if word not in stop_words]
    others = title_words(title)
    return _similarity(text, " ".join(others)) >= _MIN_SIMILARITY or any(
        edit_distance(word, other, max_typing_edits(word)) <= max_typing_edits(word)
        for word in words
        for other in others
    )


def _plain_title(text: str) -> str:
    return " ".join(title_words(text))


def _similarity(first: str, second: str) -> float:
    """Return the share of characters in common; distant titles, too, are ordered well by it, not so by edits."""
    return 1.0 if first == second else difflib.SequenceMatcher(None, first, second).ratio()


def _similar_titles(archive: Archive, text: str) -> Iterator[Iterator[TitleMatch]]:
    """Yield entries that may be meant: those whose titles start alike, then those that contain the words."""
    words = text.split()
    prefixes = [text, " ".join(words[:-1]), text[: max(3, len(text) // 2)].strip(), text[:3].strip()]
    if has_title_ranges(archive):
        for prefix in filter(None, dict.fromkeys(prefixes[:-1])):
            yield iter(titles_in_range(archive, _spellings(archive, prefix), MAX_MATCHES))
        yield filter(None, map(archive.match_article, _articles_with_words(archive, text, MAX_MATCHES // 2)))
        return
    if not archive.has_title_index:
        prefixes = [variant for prefix in prefixes for variant in (prefix, prefix.title())]
    for prefix in filter(None, dict.fromkeys(prefixes)):
        yield _matches_at(archive, archive.suggest_paths(prefix, _MAX_SIMILAR_CANDIDATES))
    if words:
        yield _matches_at(archive, archive.search_paths(text, _MAX_SIMILAR_CANDIDATES))


def _articles_with_words(archive: Archive, text: str, count: int) -> Sequence[str]:
    """Return articles with all words of a text, in a large archive by the lists that a question about it reads next."""
    query = parse_query(archive, text, None)
    if not query.terms or query.unknown_words:
        return ()
    index = large_index(archive)
    listed = score_postings(index, query.indexed_terms, count) if index else None
    return archive.search_paths(text, count) if listed is None or listed.match_count is None else listed.matches


def _matches_at(archive: Archive, paths: Iterable[str]) -> Iterator[TitleMatch]:
    return filter(None, (archive.look_up(path=path) for path in paths))


def _suggest_matches(archive: Archive, text: str, limit: int) -> Iterator[TitleMatch]:
    """Yield the entries that the title index suggests for a text; without a title index, titles are scanned.

    In a large archive the index is asked only if no title starts with the text.
    """
    if has_title_ranges(archive):
        matches = titles_in_range(archive, _spellings(archive, text), limit)
        yield from matches or _matches_at(archive, archive.suggest_paths(text, min(limit, MAX_MATCHES)))
        return
    if not archive.has_title_index:
        yield from itertools.islice(_scan_titles(archive, title_key(text).split()), limit)
        return
    yield from _matches_at(archive, archive.suggest_paths(text, limit))


def _spellings(archive: Archive, text: str) -> list[str]:
    return case_variants(text.split(), query_language(archive, text).stop_words) if text.split() else []


def _scan_titles(archive: Archive, words: list[str]) -> Iterator[TitleMatch]:
    """Yield the entries whose titles contain all the words, or longer words that start with them."""
    for number in archive.content[:_MAX_SCANNED_TITLES]:
        title = f" {title_key(archive.title_by_id(number))}"
        if all(f" {word}" in title for word in words):
            match = archive.look_up(path=archive.path_by_id(number))
            if match:
                yield match


def suggest_titles(archive: Archive, call: SuggestTitles) -> Suggestions:
    """Return entries whose titles continue what was typed, the most important first."""
    suggestions = _rank_suggestions(archive, call.query)
    return Suggestions(suggestions[call.offset : call.offset + call.limit], len(suggestions))


def _rank_suggestions(archive: Archive, text: str) -> list[Suggestion]:
    """Return each suggested entry once: the exact title, then prefixes, the most important first."""
    key = title_key(text)
    matches: dict[str, list[TitleMatch]] = {}
    for match in _suggest_matches(archive, text, _MAX_SUGGESTIONS):
        matches.setdefault(match.target, []).append(match)
    if has_title_ranges(archive):  # they come in the order of their importance
        by_exactness = sorted(matches, key=lambda target: title_key(matches[target][0].title) != key)
        return [Suggestion(target, matches[target][0].target_title) for target in by_exactness]
    keys = {target: [title_key(match.title) for match in rows] for target, rows in matches.items()}
    prefixed = [target for target in matches if any(row.startswith(key) for row in keys[target])]
    importance = _importance_of(archive, {target: matches[target][0].target_title for target in prefixed}, key)

    def sort_key(target: str) -> tuple[bool, bool, bool, int, float]:
        value = importance.get(target)
        return key not in keys[target], is_listing_page(target), value is None, -len(keys[target]), -(value or 0.0)

    return [Suggestion(target, matches[target][0].target_title) for target in sorted(matches, key=sort_key)]


def _importance(archive: Archive, path: str) -> float:
    """Return the importance of an article, 0 if it has few redirects: those may just be forms of its title."""
    importance = archive.importance(path)
    return importance if importance >= _MIN_IMPORTANCE else 0.0


def _importance_of(archive: Archive, titles: dict[str, str], key: str) -> dict[str, float]:
    """Return the importance of articles, given with their titles, by redirects or, without many, by mentions."""
    by_redirects = {path: _importance(archive, path) for path in titles}
    if any(by_redirects.values()):
        return by_redirects
    counted = itertools.islice(titles.items(), _MAX_COUNTED_MENTIONS if len(key) > 1 else 0)
    return by_redirects | {path: float(_count_mentions(archive, title)) for path, title in counted}


def _count_mentions(archive: Archive, title: str) -> int:
    """Return about how many articles contain the words of a title."""
    stop_words = query_language(archive, title).stop_words
    words = [word for word in tokenize(normalize(without_qualifier(title))) if word not in stop_words]
    return archive.frequency(" ".join(words))

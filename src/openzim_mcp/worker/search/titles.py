"""Find entries by title: exact, through a redirect, by prefix, or with typos; and suggestions while typing."""

from __future__ import annotations

import contextlib
import difflib
import itertools
import re
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.reading import ClosestTitle
from openzim_mcp.calls.search import MATCH_ORDER, Suggestion, Suggestions, TitleHit, TitleHits
from openzim_mcp.text import edit_distance, normalize, title_key, title_words, tokenize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.resolve import entry_name
from openzim_mcp.worker.search.query import parse_query, query_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.calls.reading import FindClosestTitle
    from openzim_mcp.calls.search import FindTitles, SuggestTitles, TitleMatchKind
    from openzim_mcp.worker.zim import Archive, Item, TitleMatch

MAX_TITLE_WORDS = 12
"""A longer query is not taken for a title."""
_MAX_TITLE_HITS = 100
_MAX_SUGGESTIONS = 50
_MAX_COUNTED_MENTIONS = 12
"""How many suggestions are ordered by the articles that mention them: each costs a search."""
_MAX_SCANNED_TITLES = 100_000
"""How many titles are read one by one in an archive without a title index: about a second."""
_MAX_FUZZY_CANDIDATES = 60
_MIN_SUBSTRING_CHARS = 3
_MAX_KEY_CANDIDATES = 20
_MAX_MEANING_LINKS = 160
_ONE_EDIT_MAX_CHARS = 5
"""Up to this length a title may be one edit away, beyond it two."""
_MIN_SIMILARITY = 0.85
"""From this similarity on, an entry is taken for the one that was requested."""
_MAX_CLOSEST_TITLES = 5
_MAX_SIMILAR_CANDIDATES = 20
_CONTRACTION = re.compile(
    r"\b((?:ai|are|ca|could|did|do|does|had|has|have|is|should|was|were|wo|would)n(?=t)|how|i|that|they|what|who|you)"
    r"(t|d|ll|re|ve)\b",
    re.IGNORECASE,
)
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
        yield from filter(None, [archive.look_up(title=variant)])
        for path in dict.fromkeys((variant, variant.replace(" ", "_"))):
            yield from filter(None, [archive.look_up(path=path)])


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
    return list(dict.fromkeys((plain, first_capital, " ".join(mixed), " ".join(capital), plain.upper())))


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

    def sort_key(hit: TitleHit) -> tuple[int, bool, bool]:
        return MATCH_ORDER[hit.match], title_key(without_qualifier(hit.title)) != key, is_listing_page(hit.path)

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
    return closest_title(archive, call.requested)


def closest_title(archive: Archive, requested: str) -> ClosestTitle:
    """Return the same."""
    text = _plain_title(entry_name(requested).replace("_", " "))
    items = {item.path: item for item in _similar_items(archive, text)}
    similarity = {path: _similarity(text, _plain_title(item.title)) for path, item in items.items()}
    closest = sorted(items.values(), key=lambda item: -similarity[item.path])[:_MAX_CLOSEST_TITLES]
    best = closest[0] if closest and similarity[closest[0].path] >= _MIN_SIMILARITY else None
    return ClosestTitle(best.path if best else None, [item.title for item in closest])


def _plain_title(text: str) -> str:
    return " ".join(title_words(text))


def _similarity(first: str, second: str) -> float:
    """Return the share of characters in common; distant titles, too, are ordered well by it, not so by edits."""
    return 1.0 if first == second else difflib.SequenceMatcher(None, first, second).ratio()


def _similar_items(archive: Archive, text: str) -> Iterator[Item]:
    """Yield entries that may be meant: those whose titles start alike, and those that contain the words."""
    words = text.split()
    for prefix in (text, " ".join(words[:-1]), text[: max(3, len(text) // 2)], text[:3]):
        if prefix.strip():
            for variant in (prefix.strip(), prefix.strip().title()):
                yield from archive.find_entries(archive.suggest_paths(variant, _MAX_SIMILAR_CANDIDATES))
    if words:
        yield from archive.find_entries(archive.search_paths(text, _MAX_SIMILAR_CANDIDATES))


def _suggest_matches(archive: Archive, text: str, limit: int) -> Iterator[TitleMatch]:
    """Yield the entries that the title index suggests for a text; without a title index, titles are scanned."""
    if not archive.has_title_index:
        yield from itertools.islice(_scan_titles(archive, title_key(text).split()), limit)
        return
    for path in archive.suggest_paths(text, limit):
        match = archive.look_up(path=path)
        if match:
            yield match


def _scan_titles(archive: Archive, words: list[str]) -> Iterator[TitleMatch]:
    """Yield the entries whose titles contain all the words, or longer words that start with them."""
    for number in archive.content[:_MAX_SCANNED_TITLES]:
        title = f" {title_key(archive.title_by_id(number))}"
        if all(f" {word}" in title for word in words):
            match = archive.look_up(path=archive.path_by_id(number))
            if match:
                yield match


def suggest_titles(archive: Archive, call: SuggestTitles) -> Suggestions:
    """Return entries whose titles continue what was typed, the most mentioned first."""
    suggestions = _rank_suggestions(archive, call.query)
    return Suggestions(suggestions[call.offset : call.offset + call.limit], len(suggestions))


def _rank_suggestions(archive: Archive, text: str) -> list[Suggestion]:
    """Return each suggested entry once: the exact title, then prefixes, the most mentioned first."""
    key = title_key(text)
    matches: dict[str, list[TitleMatch]] = {}
    for match in _suggest_matches(archive, text, _MAX_SUGGESTIONS):
        matches.setdefault(match.target, []).append(match)
    counted = set(itertools.islice(matches, _MAX_COUNTED_MENTIONS if len(key) > 1 else 0))

    def sort_key(target: str) -> tuple[bool, bool, bool, int, int]:
        keys = [title_key(match.title) for match in matches[target]]
        is_prefix = any(matched_key.startswith(key) for matched_key in keys)
        is_counted = is_prefix and target in counted
        mentions = _count_mentions(archive, matches[target][0].target_title) if is_counted else 0
        return key not in keys, is_listing_page(target), not is_prefix, -len(keys), -mentions

    return [Suggestion(target, matches[target][0].target_title) for target in sorted(matches, key=sort_key)]


def _count_mentions(archive: Archive, title: str) -> int:
    """Return about how many articles contain the words of a title."""
    stop_words = query_language(archive, title).stop_words
    words = [word for word in tokenize(normalize(without_qualifier(title))) if word not in stop_words]
    return archive.frequency(" ".join(words))

"""Finding by title: exact, through a redirect, by its beginning, or nearly; and suggestions while typing."""

from __future__ import annotations

import contextlib
import itertools
import re
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.search import MATCH_ORDER, Suggestion, Suggestions, TitleHit, TitleHits
from openzim_mcp.text import edit_distance, normalize, title_key, tokenize
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search import query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.calls.search import FindTitles, SuggestTitles, TitleMatchKind
    from openzim_mcp.worker.zim import Archive, TitleMatch

LONGEST = 12
"""More words than this make no title."""
_LISTED = 100
"""How many titles a list has at most: nobody looks further."""
_SUGGESTED = 50
_WEIGHED = 12
"""How many suggestions are ordered by how much is said of them: each costs a search."""
_NOISE = re.compile(r"(?:^|/)(?:tagged|tags|users?)(?:/|$)|[?&_](?:page|sort|tab)=")
_READ_THROUGH = 100_000
"""How many titles are read where no index has them: about a second."""
_NEAR = 60
_ALIKE = 20
_RUN = 6
_PAIR = 2
_SHORTEST = 3
_ONE_EDIT = 5
"""Up to this length a title may be one letter off, beyond two."""
_LOOKUPS = 60
_AROUND = "?!.,;:\"'“”«»¿¡()"
_MEANINGS = 40


def bare(title: str) -> str:
    """Return a title without what stands in brackets at its end."""
    return title.rpartition(" (")[0] or title if title.endswith(")") else title


def exact(archive: Archive, text: str, stop_words: frozenset[str]) -> dict[str, TitleMatchKind]:
    """Return the articles that a text names, by look-ups alone."""
    found: dict[str, TitleMatchKind] = {}
    for named in _looked_up(archive, text, stop_words):
        found.setdefault(named.target, _as_named(named))
    return found


def _as_named(named: TitleMatch) -> TitleMatchKind:
    return "redirect" if named.is_redirect else "exact"


def _looked_up(archive: Archive, text: str, stop_words: frozenset[str]) -> Iterator[TitleMatch]:
    for spelled in cases(text.split(), stop_words):
        yield from filter(None, [archive.look_up(title=spelled)])
        for path in dict.fromkeys((spelled, spelled.replace(" ", "_"))):
            yield from filter(None, [archive.look_up(path=path)])


def alike(archive: Archive, text: str) -> dict[str, TitleMatchKind]:
    """Return the articles whose titles differ from a text in case, accents and punctuation only. Asks an index."""
    wanted = title_key(text)
    found: dict[str, TitleMatchKind] = {}
    for named in _suggested(archive, text, _ALIKE):
        if title_key(named.title) == wanted:
            found.setdefault(named.target, _as_named(named))
    return found


def beginning(archive: Archive, text: str) -> list[str]:
    """Return the articles whose titles begin like a text."""
    return list(dict.fromkeys(named.target for named in _suggested(archive, text, _LISTED)))


def cases(run: list[str], stop_words: frozenset[str]) -> list[str]:
    """Return a run of words as titles may write it."""
    as_is = " ".join(run)
    capital = [word[:1].upper() + word[1:] for word in run]
    mixed = [word if number and word.lower() in stop_words else capital[number] for number, word in enumerate(run)]
    first = as_is[:1].upper() + as_is[1:]
    return list(dict.fromkeys((as_is, first, " ".join(mixed), " ".join(capital), as_is.upper())))


def runs(archive: Archive, text: str, stop_words: frozenset[str]) -> dict[str, list[str]]:
    """Return the articles whose titles are runs of words of a text, with these words; the longest win."""
    words = [word.strip(_AROUND) for word in text.split()]
    found: dict[str, list[str]] = {}
    covered: set[int] = set()
    for looked_up, (start, size) in enumerate(_spans(words, stop_words)):
        if looked_up >= _LOOKUPS:
            break
        places = range(start, start + size)
        if covered.issuperset(places):
            continue
        for spelled in cases(words[start : start + size], stop_words):
            named = archive.look_up(title=spelled)
            if named:
                found.setdefault(named.target, words[start : start + size])
                covered.update(places)
                break
    return found


def _spans(words: list[str], stop_words: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield where titles may stand in a text, the longest first."""
    for size in range(min(_RUN, len(words)), 0, -1):
        for start in range(len(words) - size + 1):
            run = words[start : start + size]
            first, last = run[0].lower(), run[-1].lower()
            is_title = size > _PAIR or (first not in stop_words and len("".join(run)) >= _SHORTEST)
            if all(run) and is_title and last not in stop_words:
                yield start, size


def find_titles(archive: Archive, call: FindTitles) -> TitleHits:
    """Return entries by title: the very one, the meanings of an ambiguous one, prefixes, and near misses."""
    hits = _ordered(archive, call.query)
    return TitleHits(hits[call.offset : call.offset + call.limit], len(hits))


def suggest_titles(archive: Archive, call: SuggestTitles) -> Suggestions:
    """Return entries whose titles continue what was typed, the most mentioned first."""
    suggestions = _popular_first(archive, call.query)
    return Suggestions(suggestions[call.offset : call.offset + call.limit], len(suggestions))


def _ordered(archive: Archive, text: str) -> list[TitleHit]:
    """Return all that a title may mean, each entry once, by its best match."""
    wanted = title_key(text)
    best: dict[str, TitleHit] = {}
    for named, match in _matches(archive, text, wanted):
        known = best.get(named.target)
        if known is None or MATCH_ORDER[match] < MATCH_ORDER[known.match]:
            via = named.title if named.is_redirect else None
            best[named.target] = TitleHit(named.target, named.target_title, match, via)

    def key(title: TitleHit) -> tuple[int, bool, bool]:
        return MATCH_ORDER[title.match], title_key(bare(title.title)) != wanted, is_noise(title.path)

    return sorted(best.values(), key=key)[:_LISTED]


def _matches(archive: Archive, text: str, wanted: str) -> Iterator[tuple[TitleMatch, TitleMatchKind]]:
    """Yield entries that a title may mean; near misses only if nothing else is there."""
    named_exactly = list(_looked_up(archive, text, query.language_for(archive, text).stop_words))
    for named in named_exactly:
        yield named, _as_named(named)
    suggested = [(named, _match(named, wanted)) for named in _suggested(archive, text, _LISTED)]
    yield from suggested
    named_exactly += [named for named, match in suggested if match in {"exact", "redirect"}]
    for target in dict.fromkeys(named.target for named in named_exactly):
        for named in _meanings(archive, target, wanted):
            yield named, "prefix"
    if not named_exactly and all(match == "fuzzy" for _, match in suggested):
        for named in _near(archive, wanted):
            yield named, "fuzzy"


def _match(named: TitleMatch, wanted: str) -> TitleMatchKind:
    title = title_key(named.title)
    if title == wanted:
        return _as_named(named)
    return "prefix" if title.startswith(wanted) else "fuzzy"


def _meanings(archive: Archive, path: str, wanted: str) -> Iterator[TitleMatch]:
    """Yield what a page that only lists meanings leads to."""
    with contextlib.suppress(errors.OpenZimMcpError):
        _, document = article.load_page(archive, path)
        if document.is_disambiguation:
            for link in document.links[: 4 * _MEANINGS]:
                named = archive.look_up(path=link.target) if link.kind == "internal" else None
                if named and wanted in title_key(named.target_title):
                    yield named


def _near(archive: Archive, wanted: str) -> list[TitleMatch]:
    """Return entries whose titles are a few letters off, the nearest first."""
    allowed = 1 if len(wanted) <= _ONE_EDIT else 2
    near: dict[str, tuple[int, TitleMatch]] = {}
    words = wanted.split()
    swapped = wanted[1:2] + wanted[:1] + wanted[2:3]
    starts = [" ".join(words[:-1]), " ".join(words[1:]), wanted[: len(wanted) // 2], wanted[:3], wanted[:2], swapped]
    for start in dict.fromkeys(start.strip() for start in starts if len(start.strip()) > 1):
        for named in _suggested(archive, start, _NEAR):
            edits = edit_distance(wanted, title_key(named.title), allowed)
            if edits <= allowed:
                near.setdefault(named.target, (edits, named))
        if near:
            break
    if not near and archive.has_fulltext_index:
        corrected = query.read(archive, wanted).text
        if corrected != wanted:
            near = {named.target: (1, named) for named in _suggested(archive, corrected, _NEAR)}
    return [named for _, named in sorted(near.values(), key=lambda row: row[0])]


def _suggested(archive: Archive, text: str, limit: int) -> Iterator[TitleMatch]:
    """Yield what the title index has for a text; where there is none, titles are read one by one."""
    if not archive.has_title_index:
        yield from itertools.islice(_read_through(archive, title_key(text).split()), limit)
        return
    for path in archive.suggest_paths(text, limit):
        named = archive.look_up(path=path)
        if named:
            yield named


def _read_through(archive: Archive, words: list[str]) -> Iterator[TitleMatch]:
    """Yield the entries whose titles have all the words, or words that begin so."""
    for number in archive.content[:_READ_THROUGH]:
        title = f" {title_key(archive.title_by_id(number))}"
        if all(f" {word}" in title for word in words):
            named = archive.look_up(path=archive.path_by_id(number))
            if named:
                yield named


def _popular_first(archive: Archive, text: str) -> list[Suggestion]:
    """Return each suggested entry once: the very title, then beginnings, the most mentioned first."""
    wanted = title_key(text)
    leading: dict[str, list[TitleMatch]] = {}
    for named in _suggested(archive, text, _SUGGESTED):
        leading.setdefault(named.target, []).append(named)
    weighed = set(itertools.islice(leading, _WEIGHED if len(wanted) > 1 else 0))

    def key(target: str) -> tuple[bool, bool, bool, int, int]:
        names = [title_key(named.title) for named in leading[target]]
        begins = any(name.startswith(wanted) for name in names)
        mentions = _mentions(archive, leading[target][0].target_title) if begins and target in weighed else 0
        return wanted not in names, is_noise(target), not begins, -len(names), -mentions

    return [Suggestion(target, leading[target][0].target_title) for target in sorted(leading, key=key)]


def _mentions(archive: Archive, title: str) -> int:
    """Return about how many articles speak of one of that title."""
    stop_words = query.language_for(archive, title).stop_words
    return archive.frequency(" ".join(word for word in tokenize(normalize(bare(title))) if word not in stop_words))


def is_noise(path: str) -> bool:
    """Return whether a page only serves to browse others: of a tag, a user, a page of a listing."""
    return bool(_NOISE.search(path))

"""The title that a request probably means, if no article has the one that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import errors, uris
from openzim_mcp.app.query.patterns import load_vocabulary, simplify
from openzim_mcp.app.search import merge_hits
from openzim_mcp.calls.search import FindTitles, SearchText
from openzim_mcp.text import edit_distance, max_typing_edits, safe_line, title_key, title_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.query.interpret import Interpretation
    from openzim_mcp.app.query.reply import QueryContext
    from openzim_mcp.app.search import MergedHit
    from openzim_mcp.calls.archive import Description

_COMMANDS = {"inbound", "links", "outline", "related", "section", "summary"}
_READS_TEXT = {"article", "summary"}
"""Requests for which passages about the title are the next best, if no title is near."""
_FOUND_ANYWAY_SCORE = 0.9
"""From this score on, an article has the title, in another spelling at most."""
_TITLES_PER_ARCHIVE = 5
_MAX_TITLES_SHOWN = 3
_SNIPPET_CHARS = 100


def find_command(
    text: str, ranked: Sequence[Interpretation], title_scores: Mapping[str, float]
) -> Interpretation | None:
    """Return the interpretation that is a command about an article, if no archive has an article of its title."""
    commands = [row for row in ranked if row.title and not row.archive_match and is_command(row, text)]
    is_known = any(title_scores.get(row.title or "", 0.0) >= _FOUND_ANYWAY_SCORE for row in [*commands, *ranked[:1]])
    return None if is_known or title_scores.get(text, 0.0) >= _FOUND_ANYWAY_SCORE else next(iter(commands), None)


def is_command(row: Interpretation, text: str) -> bool:
    """Return whether the words around a title can only be a command: "structure of X" may also be a question."""
    if "://" in (row.title or ""):  # a reference, not a title
        return False
    words = simplify(text).replace(simplify(row.title or ""), " ")
    vocabulary = load_vocabulary()
    if row.intent == "article":
        return any(term in words for term in vocabulary["article"])
    return row.intent in _COMMANDS and not any(term in words for term in vocabulary["ambiguous command"])


async def find_nearest(context: QueryContext, command: Interpretation) -> MergedHit | None:
    """Return the one entry whose title is nearest to that of a command.

    None if passages about the title are the next best; an error with up to three titles if several are equally near.
    """
    title = command.title or ""
    hits = await _find_hits(context, title, reads_text=command.intent in _READS_TEXT)
    if hits and (nearest := _single_nearest(hits, title)):
        return nearest
    if not hits and command.intent in _READS_TEXT:
        return None
    raise _not_found(title, hits or await _search(context, title))


async def _find_hits(context: QueryContext, title: str, *, reads_text: bool) -> list[MergedHit]:
    """Return entries with that title, else with similar ones.

    Dictionaries have any word: of several archives they count only if they have exactly the title, and come last if
    it is not a text that is asked for.
    """
    hits = merge_hits((await context.call_each(FindTitles(title, 0, _TITLES_PER_ARCHIVE), title)).results)
    others = await _without_dictionaries(context, hits)
    exact = [hit for hit in hits if hit.match in {"exact", "redirect"}]
    near = [hit for hit in others if _is_near(hit, title)]
    preferred = [hit for hit in others if hit in exact]
    return preferred or (exact or near if reads_text else near or exact)


async def _without_dictionaries(context: QueryContext, hits: Sequence[MergedHit]) -> list[MergedHit]:
    if len(context.archives) == 1:
        return list(hits)
    descriptions = (await context.app.describe_each(context.archives)).results
    return [hit for hit in hits if not _is_dictionary(hit, descriptions)]


def _is_dictionary(hit: MergedHit, descriptions: Mapping[str, Description]) -> bool:
    description = descriptions.get(hit.archive.removesuffix(".zim"))
    return description is not None and description.kind == "dictionary"


def _is_near(hit: MergedHit, title: str) -> bool:
    has_words = set(title_words(title)) <= set(title_words(hit.title))
    return hit.match == "prefix" or has_words or _distance(hit, title) <= max_typing_edits(title)


def _single_nearest(hits: Sequence[MergedHit], title: str) -> MergedHit | None:
    """Return the hit with the title, or the shortest if all others continue its title, or the one with fewest edits."""
    if hits[0].match in {"exact", "redirect"}:
        return hits[0]
    prefixes = [hit for hit in hits if hit.match == "prefix"]
    group = sorted(prefixes or hits, key=lambda hit: len(hit.title))
    if all(title_key(hit.title).startswith(title_key(group[0].title)) for hit in group):
        return group[0]
    by_distance = sorted(hits, key=lambda hit: _distance(hit, title))
    best = [hit for hit in by_distance if _distance(hit, title) == _distance(by_distance[0], title)]
    is_single = len({title_key(hit.title) for hit in best}) == 1
    return best[0] if is_single and _distance(best[0], title) <= max_typing_edits(title) else None


def _distance(hit: MergedHit, title: str) -> int:
    names = (hit.title, hit.title.partition(" (")[0], hit.via or hit.title)
    return min(edit_distance(title_key(title), title_key(name), max_typing_edits(title)) for name in names)


async def _search(context: QueryContext, title: str) -> list[MergedHit]:
    call = SearchText(title, 0, _MAX_TITLES_SHOWN, snippet_chars=_SNIPPET_CHARS, scan_seconds=context.app.scan_seconds)
    return await _without_dictionaries(context, merge_hits((await context.call_each(call, title)).results))


def _not_found(title: str, hits: Sequence[MergedHit]) -> errors.EntryNotFound:
    shown = list({title_key(hit.title): hit for hit in reversed(hits)}.values())[::-1][:_MAX_TITLES_SHOWN]
    rows = [{"title": hit.title, "uri": uris.entry_uri(hit.archive.removesuffix(".zim"), hit.path)} for hit in shown]
    return errors.EntryNotFound(
        f"No article is called {safe_line(title, 100)!r}.",
        hint="Take one of did_you_mean." if rows else f"Say: search for {safe_line(title, 100)}",
        **({"did_you_mean": rows} if rows else {}),
    )

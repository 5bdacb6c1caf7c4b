"""Answers to questions: passages from all archives, how likely they answer, and a plain reply if they do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp import tokens
from openzim_mcp.app.query import excerpts
from openzim_mcp.app.query.answer_pages import select_page
from openzim_mcp.app.query.archive_estimates import estimate_archives
from openzim_mcp.app.query.archive_fit import count_words, kind_fit, select_archives
from openzim_mcp.app.query.confidence import estimate_confidence, is_answer, unknown_words
from openzim_mcp.app.query.interpret import split_list
from openzim_mcp.app.query.language_fit import archives_in_language, prefer_language
from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.app.query.reply import QueryContext, Reply, offset_line
from openzim_mcp.app.routing import MAX_ASKED, find_route
from openzim_mcp.app.search import merge_hits
from openzim_mcp.calls.search import FindPassages, FindTitles, WordCounts
from openzim_mcp.text import normalize, safe_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.app.query.excerpts import Briefing, Excerpt
    from openzim_mcp.calls.search import Estimate, Passage, Passages, Question

_BRIEFING_TOKENS = 1200
_BRIEFING_SCORE_GAP = 1.0
"""The score gap to the best passage that a briefing allows: larger than an answer, as it cites several sources."""
_BRIEFING_SHRINKAGE = 0.95
_NOT_FOUND_TOKENS = 150
_MAX_NEAREST_SOURCES = 2
_NEAREST_CHARS = 160
_MIN_ENTITY_SHARE = 0.5
"""From this share of the question in its title on, an article is what the question is about."""
_MAX_WORDS_NAMED = 3
_MAX_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Evidence:
    """What all archives have for a question: passages, the best first, and how likely they answer it."""

    question: Question
    passages: list[Passage]
    confidence: float
    counts: WordCounts
    corrected: dict[str, dict[str, str]]
    """Words that were corrected, by archive."""
    archives: list[str]
    failed: list[str]
    """The archives that could not be searched."""
    partly_read: list[str]
    """The long documents of which only some pages were read, and how many."""


async def find_evidence(context: QueryContext, query: str) -> Evidence:
    """Find the passages of all archives that may answer a question."""
    question = analyze_question(query)
    estimates: dict[str, Estimate] = {}
    archives, counts, unknown = context.archives, WordCounts(), 0
    if len(archives) > 1:
        route = await find_route(context.app, archives, question)
        counts, unknown = route.counts, route.unknown
        outcomes = await estimate_archives(context.app, question, route)
        estimates = outcomes.results
        weighed = count_words(estimates) if unknown_words(question, counts) else counts
        selected = select_archives(question, estimates, weighed) | outcomes.errors.keys()
        descriptions = (await context.app.describe_each(route.archives)).results
        selected |= archives_in_language(question.language, estimates, descriptions)
        archives = [row for row in route.archives if row.name in selected]
    find = FindPassages(question, scan_seconds=context.app.scan_seconds, counts=counts)
    found = await replace(context, archives=archives).call_each(find)
    # Of many archives, only those that are read get an index: building a thousand would take hours.
    others = context.archives if len(context.archives) <= MAX_ASKED else ()
    context.app.passage_indexes.request((*archives, *others), is_question=True)
    context.app.importance.request(archives)
    fits = {name: kind_fit(question, estimate.kind) for name, estimate in estimates.items()}
    passages = prefer_language(question.language, merge_passages(found.results, fits))
    if not counts.frequencies:
        counts = next((answer.counts for answer in found.results.values()), counts)
    corrected = {answer.archive: answer.corrected for answer in found.results.values() if answer.corrected}
    confidence = estimate_confidence(
        question,
        passages,
        counts,
        is_library=len(context.archives) > 1,
        corrected=_corrected_for_best(passages, corrected),
    )
    return Evidence(
        question=question,
        passages=passages,
        confidence=confidence,
        counts=counts,
        corrected=corrected,
        archives=[answer.archive for answer in found.results.values()],
        failed=[f"{name}.zim" for name in found.errors],
        partly_read=[
            *([f"{unknown} archives are being prepared, ask again soon"] if unknown else []),
            *(row for answer in found.results.values() for row in answer.partly_read),
        ],
    )


def _corrected_for_best(passages: Sequence[Passage], corrected: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return the words that were corrected in the archive of the best passage."""
    return corrected.get(passages[0].archive, {}) if passages else {}


def merge_passages(answers: dict[str, Passages], fits: dict[str, float]) -> list[Passage]:
    """Return the passages of all archives, the best first, each text once; `fits` is added to those of an archive."""
    scored = [
        msgspec.structs.replace(passage, score=round(passage.score + fits.get(name, 0.0), 3))
        for name, answer in answers.items()
        for passage in answer.passages
    ]
    by_text: dict[str, Passage] = {}
    for passage in sorted(scored, key=lambda row: -row.score):
        by_text.setdefault(passage.text, passage)
    return list(by_text.values())


async def answer_question(context: QueryContext, slots: dict[str, str]) -> Reply:
    """Answer a question with passages of articles, or say that the archives do not answer it."""
    evidence = await find_evidence(context, slots["query"])
    is_answered = is_answer(evidence.confidence, context.app.settings.content.answers, len(context.archives))
    budget, cost = context.budget()
    offset = context.request.offset
    if not is_answered and not offset:
        return _not_found_reply(context, evidence)
    gaps = not_searched(evidence.failed) + _read_in_part(evidence.partly_read)
    foot = _corrections(evidence, evidence.archives) + gaps + offset_line(offset)
    selected, next_offset = select_page(evidence.passages, offset, budget - cost(foot), cost)
    if not selected:
        return Reply("That was all.", is_empty=True) if offset else _not_found_reply(context, evidence)
    archives = dict.fromkeys(excerpt.passage.archive for excerpt in selected)
    note = _corrections(evidence, archives) + gaps
    reply = replace(_excerpts_reply(selected, note), answered=is_answered, confidence=evidence.confidence)
    return context.continued(reply, next_offset)


def _excerpts_reply(selected: Sequence[Excerpt], note: str = "") -> Reply:
    return Reply(
        excerpts.to_markdown(selected) + note,
        sources=tuple(excerpts.source_lines(selected)),
        cited=tuple(excerpts.cite(selected)),
        passages=tuple(excerpts.cite_passages(selected)),
    )


def _corrections(evidence: Evidence, archives: Iterable[str]) -> str:
    """Return a line that names the words that were corrected in some archives and that no archive has."""
    corrected = {
        wrong: right
        for archive in archives
        for wrong, right in evidence.corrected.get(archive, {}).items()
        if not evidence.counts.frequencies.get(wrong)
    }
    text = ", ".join(f"{wrong} → {right}" for wrong, right in corrected.items())
    return f"\n\n(Read as: {safe_line(text, 200)})" if text else ""


def _read_in_part(documents: Sequence[str]) -> str:
    """Return a line that names the long documents of which not all pages could be read in time."""
    rows = "; ".join(safe_line(row, 100) for row in documents[:_MAX_NEAREST_SOURCES])
    return f"\n\n(Read in part: {rows})" if rows else ""


def not_searched(failed: Sequence[str]) -> str:
    """Return a line that names the archives that could not be searched."""
    return f"\n\n(Not searched: {', '.join(failed[:_MAX_NAMES_SHOWN])})" if failed else ""


def _not_found_reply(context: QueryContext, evidence: Evidence) -> Reply:
    """Say what is missing, and show the nearest sources in short, within few tokens."""
    limit = min(_NOT_FOUND_TOKENS, context.request.max_tokens or _NOT_FOUND_TOKENS)
    head = f"Not found here: {_what_is_missing(evidence)}"
    nearest = _nearest_excerpts(evidence.passages)
    gaps = _read_in_part(evidence.partly_read).strip()
    while True:
        shown = excerpts.to_markdown(nearest)
        text = "\n\n".join(filter(None, (head, gaps, shown and f"Nearest:\n{shown}")))
        if not nearest or tokens.fits(text, limit):
            break
        nearest.pop()
    return Reply(
        tokens.truncate(text, limit),
        sources=tuple(excerpts.source_lines(nearest)),
        cited=tuple(excerpts.cite(nearest)),
        passages=tuple(excerpts.cite_passages(nearest)),
        is_empty=True,
        answered=False,
        confidence=evidence.confidence,
    )


def _what_is_missing(evidence: Evidence) -> str:
    """Return a sentence that says why a question is not answered, in words that can be passed on."""
    if "now" in evidence.question.kinds:
        return "this asks about the present or about you, and the archives hold neither."
    best = evidence.passages[0] if evidence.passages else None
    corrected = _corrected_for_best(evidence.passages, evidence.corrected)
    unknown = [word for word in unknown_words(evidence.question, evidence.counts) if word not in corrected]
    if unknown:
        return f"no archive has {_name_words(unknown)}."
    if best is None:
        return f"nothing in {_count_archives(evidence)} matches."
    if best.fit.entity >= _MIN_ENTITY_SHARE and best.lack.words:
        return f"{safe_line(best.title, 100)!r} is here, but says nothing of {_name_words(best.lack.words)}."
    return f"no passage in {_count_archives(evidence)} answers this."


def _name_words(words: Sequence[str]) -> str:
    named = " or ".join(f"'{safe_line(word, 40)}'" for word in words[:_MAX_WORDS_NAMED])
    return f"the word {named}" if len(words) == 1 else named


def _count_archives(evidence: Evidence) -> str:
    count = len(evidence.archives) + len(evidence.failed)
    return "the archive" if count == 1 else "the archives"


def _nearest_excerpts(passages: Sequence[Passage]) -> list[Excerpt]:
    """Return the best passage of each of the nearest articles, cut to its best sentence."""
    by_article = {(row.archive, row.path): row for row in reversed(passages)}
    best = sorted(by_article.values(), key=lambda row: -row.score)[:_MAX_NEAREST_SOURCES]
    return [excerpts.Excerpt(row, safe_line(excerpts.best_sentence(row), _NEAREST_CHARS)) for row in best]


async def no_results_reply(context: QueryContext, query: str) -> Reply:
    """Report that nothing was found, and offer the closest titles."""
    names = ", ".join(archive.file_name for archive in context.archives[:_MAX_NAMES_SHOWN]) or "no archive"
    hint = await closest_titles(context, query) or "Try other words."
    tried = "Tried: the texts with all and with fewer of the words, titles, other spellings."
    reply = context.text_reply(f"Nothing was found for {safe_line(query, 200)!r} in {names}. {tried} {hint}")
    return replace(reply, is_empty=True)


async def closest_titles(context: QueryContext, text: str) -> str:
    """Return a sentence with the titles closest to a text, or an empty one."""
    outcomes = await context.call_each(FindTitles(text, 0, _MAX_NAMES_SHOWN), text)
    hits = merge_hits(outcomes.results)[:_MAX_NAMES_SHOWN]
    return f"The closest titles: {', '.join(dict.fromkeys(hit.title for hit in hits))}." if hits else ""


async def write_briefing(context: QueryContext, query: str) -> Briefing:
    """Answer from several sources, with numbered citations; shrink it until its JSON fits the budget."""
    evidence = await find_evidence(context, query)
    is_answered = is_answer(evidence.confidence, context.app.settings.content.answers, len(context.archives))
    budget, cost = context.budget(_BRIEFING_TOKENS)
    target = budget
    while True:
        selected = excerpts.select_excerpts(evidence.passages, target, cost, _BRIEFING_SCORE_GAP)
        briefing = excerpts.to_briefing(
            query, selected, evidence.archives, is_answered=is_answered, confidence=evidence.confidence
        )
        size = cost(msgspec.json.encode(briefing).decode())
        if size <= budget or not briefing.passages:
            return briefing
        target *= _BRIEFING_SHRINKAGE * budget / size


async def compare(context: QueryContext, slots: dict[str, str]) -> Reply:
    """Reply with a passage that names everything compared, if there is one, and passages about each."""
    names = split_list(slots["titles"])
    budget, cost = context.budget()
    selected: list[Excerpt] = []
    missing = []
    confidences = []
    for query in (" ".join(names), *names):
        evidence = await find_evidence(context, query)
        is_name = query in names
        matching = _passages_about(evidence.passages, [query] if is_name else names, selected)
        best = excerpts.select_excerpts(matching, budget / (len(names) + 1), cost)
        selected += best if is_name else best[:1]
        confidences += [evidence.confidence] if is_name else []
        missing += [f"Nothing was found for {safe_line(query, 100)!r}."] if is_name and not best else []
    if not selected:  # no passage names both: it may still be a question that one answers
        return await answer_question(context, {"query": " ".join(names)})
    note = "".join(f"\n\n{sentence}" for sentence in missing)
    return replace(_excerpts_reply(selected, note), answered=not missing, confidence=min(confidences))


def _passages_about(passages: Sequence[Passage], names: Sequence[str], selected: Sequence[Excerpt]) -> list[Passage]:
    """Return only the passages that contain all names and were not selected before."""
    selected_texts = {excerpt.passage.text for excerpt in selected}

    def fits(passage: Passage) -> bool:
        text = normalize(f"{passage.title} {passage.text}")
        return passage.text not in selected_texts and all(normalize(name) in text for name in names)

    return [passage for passage in passages if fits(passage)]

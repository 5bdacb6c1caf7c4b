"""Answer a question from one archive: estimate whether it can, and find the passages that may contain the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.search import Estimate, Passage, Passages, Sentence
from openzim_mcp.text import normalize, sentence_ends, tokenize
from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.candidates import FULL_MATCH_SCORE, find_candidates
from openzim_mcp.worker.search.fulltext import Filter, cannot_find_words, search_or_scan, search_without_index
from openzim_mcp.worker.search.query import parse_query, query_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.search import EstimateAnswer, FindPassages, ScoreTitles
    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.search.ranking import RankedPassage
    from openzim_mcp.worker.zim import Archive

_EXACT_TITLE_SCORE, _SAME_KEY_SCORE, _FUZZY_TITLE_SCORE = 1.0, 0.9, 0.6
_ARTICLE_WEIGHT = 0.25
"""How much the score of an article adds to that of its passages."""
_FULL_TITLE_FEATURE = 0.999
_LEAD_BONUS = 0.6
"""Score bonus for the first passage of an article whose title is all that a question asks about."""
_MAX_PASSAGES = 8
_MIN_SENTENCE_CHARS = 20
_CODE_FENCE = "```"


def score_titles(archive: Archive, call: ScoreTitles) -> list[float]:
    """Return the score of each title: 1 if an entry has it, less in another spelling or with a typo, else 0."""
    if not call.use_index:
        return [_EXACT_TITLE_SCORE if _has_exact_title(archive, title) else 0.0 for title in call.titles]
    return [_score_title(archive, title, is_fuzzy=title in call.fuzzy) for title in call.titles]


def _score_title(archive: Archive, title: str, *, is_fuzzy: bool) -> float:
    if _has_exact_title(archive, title):
        return _EXACT_TITLE_SCORE
    if titles.same_title_key(archive, title):
        return _SAME_KEY_SCORE
    return _FUZZY_TITLE_SCORE if is_fuzzy and titles.closest_title(archive, title).path else 0.0


def _has_exact_title(archive: Archive, title: str) -> bool:
    return bool(titles.exact_titles(archive, title, query_language(archive, title).stop_words))


def estimate_answer(archive: Archive, call: EstimateAnswer) -> Estimate:
    """Estimate how much of a question the best candidate covers; without an index that finds its words, unknown."""
    if not archive.has_fulltext_index or cannot_find_words(archive, call.query):
        return Estimate(None, [])
    query = parse_query(archive, call.query, known_words=None)
    best = max((score for _, score in find_candidates(archive, query).scored), default=0.0)
    score = min(1.0, best / (FULL_MATCH_SCORE * query.total_weight))
    return Estimate(score, [term.word for term in query.indexed_terms])


def find_passages(archive: Archive, call: FindPassages) -> Passages:
    """Return the passages of an archive that may answer a question, the best first."""
    everything = Filter(archive)
    if call.use_index:
        results = search_or_scan(archive, call.query, everything, call.scan_seconds, call.known_words)
    else:
        results = search_without_index(archive, call.query, everything, call.scan_seconds)
    hits = {hit.best.page.path: hit for hit in results.hits}

    def score(ranked: RankedPassage) -> float:
        is_lead = ranked.passage is ranked.page.document.passages[0]
        bonus = _LEAD_BONUS if is_lead and ranked.features.title >= _FULL_TITLE_FEATURE else 0.0
        hit = hits[ranked.page.path]
        return ranked.score * hit.quality + _ARTICLE_WEIGHT * hit.score + bonus

    best = sorted(((score(ranked), ranked) for ranked in results.passages), key=lambda row: -row[0])[:_MAX_PASSAGES]
    passages = [_make_passage(archive, value, ranked, results.query) for value, ranked in best]
    return Passages(archive.file_name, passages, results.query.corrected)


def _make_passage(archive: Archive, score: float, ranked: RankedPassage, query: ParsedQuery) -> Passage:
    section = ranked.page.document.sections[ranked.passage.section]
    return Passage(
        archive=archive.file_name,
        path=ranked.page.path,
        title=ranked.page.title,
        section_id=section.id,
        section_title=section.title,
        sentences=[Sentence(text, _query_share(text, query)) for text in split_sentences(ranked.passage.text)],
        score=round(score, 3),
    )


def _query_share(sentence: str, query: ParsedQuery) -> float:
    """Return the share of a query's words, by weight, that a sentence contains."""
    stems = {query.language.stem(word) for word in tokenize(normalize(sentence))} & query.weights.keys()
    # Summed in the order of the query, so that the same question always gives the same number.
    return sum(weight for stem, weight in query.weights.items() if stem in stems) / query.total_weight


def split_sentences(text: str) -> list[str]:
    """Return a text in sentences and lines, each with the space after it; a very short one stays with the next."""
    sentences = []
    start = 0
    for end in sentence_ends(text):
        sentence = text[start:end]
        ends_line = "\n" in sentence[len(sentence.rstrip()) :]
        if ends_line or len(sentence) >= _MIN_SENTENCE_CHARS:
            sentences.append(sentence)
            start = end
    sentences.append(text[start:])
    return _join_code([sentence for sentence in sentences if sentence.strip()])


def _join_code(sentences: Sequence[str]) -> list[str]:
    """Return sentences, the lines of a code block as one."""
    joined: list[str] = []
    is_code = False
    for sentence in sentences:
        if is_code:
            joined[-1] += sentence
        else:
            joined.append(sentence)
        is_code ^= sentence.startswith(_CODE_FENCE)
    return joined

"""Answering a plain question from one archive: the passages that may hold the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.search import Passage, Passages, Sentence
from openzim_mcp.text import normalize, sentence_ends, tokenize
from openzim_mcp.worker.search import filters, fulltext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.search import FindPassages
    from openzim_mcp.worker.search.query import Wanted
    from openzim_mcp.worker.search.ranking import Ranked
    from openzim_mcp.worker.zim import Archive

_ARTICLE_WEIGHT = 0.25
"""How much the score of an article adds to that of its passages."""
_WHOLE_TITLE = 0.999
_LEAD_BONUS = 0.6
"""Score bonus for the first passage of an article whose title is all that a question asks about."""
_MAX_PASSAGES = 8
_MIN_SENTENCE_CHARS = 20
_CODE_FENCE = "```"


def find_passages(archive: Archive, call: FindPassages) -> Passages:
    """Return the passages of an archive that may answer a question, the best first."""
    accepts = filters.of(archive, None, None)
    if call.use_index:
        found = fulltext.look(archive, call.query, accepts, call.scan_seconds, call.known_words)
    else:
        found = fulltext.find_without_index(archive, call.query, accepts, call.scan_seconds)
    articles = {hit.best.page.path: hit for hit in found.hits}

    def score(ranked: Ranked) -> float:
        is_lead = ranked.passage is ranked.page.document.passages[0]
        bonus = _LEAD_BONUS if is_lead and ranked.features.title >= _WHOLE_TITLE else 0.0
        article = articles[ranked.page.path]
        return ranked.score * article.quality + _ARTICLE_WEIGHT * article.score + bonus

    best = sorted(((score(ranked), ranked) for ranked in found.ranked), key=lambda row: -row[0])[:_MAX_PASSAGES]
    passages = [_passage(archive, value, ranked, found.wanted) for value, ranked in best]
    return Passages(archive.file_name, passages, found.wanted.corrected)


def _passage(archive: Archive, score: float, ranked: Ranked, query: Wanted) -> Passage:
    section = ranked.page.document.sections[ranked.passage.section]
    return Passage(
        archive=archive.file_name,
        path=ranked.page.path,
        title=ranked.page.title,
        section_id=section.id,
        section_title=section.title,
        sentences=[Sentence(text, _share(text, query)) for text in split_sentences(ranked.passage.text)],
        score=round(score, 3),
    )


def _share(sentence: str, query: Wanted) -> float:
    """Return the share of a query's words, by their weight, that a sentence has."""
    stems = {query.language.stem(word) for word in tokenize(normalize(sentence))} & query.weights.keys()
    # Summed in the order of the query, so that the same question always gives the same number.
    return sum(weight for stem, weight in query.weights.items() if stem in stems) / query.total


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

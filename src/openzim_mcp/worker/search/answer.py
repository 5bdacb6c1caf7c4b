"""Answer a question from one archive: estimate whether it can, and find the passages that may contain the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.search import Estimate, PageLack, Passage, PassageFit, Passages, Sentence, WordCounts
from openzim_mcp.languages import two_letter_code
from openzim_mcp.text import is_introduction, is_unsegmented_script, normalize, sentence_ends
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.reading.document_titles import name_of
from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.answer_ranking import AnswerRanking
from openzim_mcp.worker.search.candidates import find_candidates, find_mentions
from openzim_mcp.worker.search.fulltext import Filter, cannot_find_words, search_or_scan, search_without_index
from openzim_mcp.worker.search.index_file import DAMAGED
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.mentions import titles_in_text
from openzim_mcp.worker.search.passage_index import count_documents, open_trigrams, remove_index, using_words
from openzim_mcp.worker.search.query import Term, parse_query, weight_terms
from openzim_mcp.worker.search.word_search import cover_words, search_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.search import EstimateAnswer, FindPassages, Question, ScoreTitles
    from openzim_mcp.worker.document import Passage as DocumentPassage
    from openzim_mcp.worker.document import Section
    from openzim_mcp.worker.search.answer_ranking import RankedAnswer
    from openzim_mcp.worker.search.fulltext import SearchResults
    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.search.ranking import Page
    from openzim_mcp.worker.zim import Archive

_EXACT_TITLE_SCORE, _SAME_KEY_SCORE, _FUZZY_TITLE_SCORE = 1.0, 0.9, 0.6
_MAX_PASSAGES = 12
_COUNT_NO_MATCHES = 0
_ESTIMATED_CANDIDATES = 5
_TITLE_COVERAGE = 0.5
"""How much more a word counts that stands in the title."""
_NAME_MENTIONS = {"exact", "redirect", "inflected"}
_MIN_SENTENCE_CHARS = 20
_CODE_FENCE = "```"
_INTRODUCED_SENTENCES = 4
"""How much is shown of what a passage introduces, if that is another passage."""


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
    """Return which words of a question the archive has, and which of them its best candidates share."""
    kind = archive_kind(archive)
    count_documents(archive)
    if cannot_find_words(archive, call.question.text):
        return Estimate(kind, WordCounts(), _coverage_by_titles(archive, call.question))
    if not archive.has_fulltext_index:
        coverage = _coverage_by_trigrams(archive, call.question) or _coverage_by_titles(archive, call.question)
        return Estimate(kind, WordCounts(), coverage)
    query = parse_query(archive, call.question, counts=call.counts)
    counts = WordCounts(archive.text_count, {term.word: term.frequency for term in query.terms})
    with using_words(archive) as index:
        if index:
            return Estimate(kind, counts, cover_words(archive, index, query))
    candidates = find_candidates(archive, query, _COUNT_NO_MATCHES)
    coverage = [
        _coverage(archive, path, candidates.rank_scores.get(path, {}), query)
        for path, _ in candidates.scored[:_ESTIMATED_CANDIDATES]
    ]
    return Estimate(kind, counts, coverage)


def _coverage_by_trigrams(archive: Archive, question: Question) -> list[dict[str, float]] | None:
    """Return what the best page covers of each word, where an index of our own was built; None if there is none."""
    index = open_trigrams(archive)
    if index is None:
        return None
    words = query_language(archive, question.text).content_words(question.text)
    prefixes = {word.text: Term(word.text, word.stem, 0, 0.0).search_prefix for word in words}
    try:
        terms = weight_terms(words, lambda word: index.frequency(prefixes[word.text]), index.passages)
        best = max(index.score_pages(terms, 1).values(), default=0.0)
    except DAMAGED:
        remove_index(archive)
        return None
    share = min(1.0, best / (sum(term.weight for term in terms) or 1.0))
    return [{term.word: share for term in terms}]


def _coverage_by_titles(archive: Archive, question: Question) -> list[dict[str, float]] | None:
    """Return what titles cover, where no index is asked; None, unknown, if the archive may be in the same language."""
    codes = [two_letter_code(code) for code in archive.languages.split(",") if code]
    if not codes or not question.language or question.language in codes:
        return None
    mentions = titles_in_text(archive, question.text).values()
    return [{normalize(word): 1.0 + _TITLE_COVERAGE for word in mention.words} for mention in mentions]


def _coverage(archive: Archive, path: str, rank_scores: dict[str, float], query: ParsedQuery) -> dict[str, float]:
    """Return how much an article covers each word: up to 1 if it contains the word, more if its title does."""
    title_stems = set(query.language.stems(normalize(name_of(archive, path))))
    coverage = {word: 0.25 + 0.75 * rank_score for word, rank_score in rank_scores.items()}
    for term in query.terms:
        if term.stem in title_stems:
            coverage[term.word] = coverage.get(term.word, 1.0) + _TITLE_COVERAGE
    return coverage


def find_passages(archive: Archive, call: FindPassages) -> Passages:
    """Return the passages of an archive that may answer a question, the best first."""
    count_documents(archive)
    results = _search(archive, call)
    qualities = {hit.best.page.path: hit.quality for hit in results.hits}
    ranking = AnswerRanking(results.query, results.passages, qualities, _names_in_query(archive, results.query))
    best = ranking.best(_MAX_PASSAGES)
    # What a page lacks is only asked of the best one, as all of it is searched.
    lack = _find_lack(ranking, best[0].ranked.page) if best else PageLack()
    passages = [_make_passage(archive, answer, ranking, lack) for answer in best]
    counts = WordCounts(archive.text_count, {term.word: term.frequency for term in results.query.terms})
    partly_read = [*results.partly_read, *([f"{archive.file_name}, on a slow disk"] if timer.is_cut else [])]
    return Passages(archive.file_name, passages, results.query.corrected, counts, timer.is_cut, partly_read)


def _names_in_query(archive: Archive, query: ParsedQuery) -> dict[str, str]:
    """Return the names of articles that a question uses, by path: their titles, or those of redirects to them."""
    mentions = find_mentions(archive, query.text).items()
    return {path: " ".join(mention.words) for path, mention in mentions if mention.kind in _NAME_MENTIONS}


def _search(archive: Archive, call: FindPassages) -> SearchResults:
    everything = Filter(archive)
    if not call.use_index:
        return search_without_index(archive, call.question, everything, call.scan_seconds)
    if not is_unsegmented_script(call.question.text):
        with using_words(archive) as index:
            if index:
                return search_words(archive, index, call.question, call.counts)
    return search_or_scan(archive, call.question, everything, call.scan_seconds, call.counts, _COUNT_NO_MATCHES)


def _find_lack(ranking: AnswerRanking, page: Page) -> PageLack:
    return PageLack(ranking.missing_words(page), ranking.lacks_relation(page), round(ranking.absence(page), 3))


def _make_passage(archive: Archive, answer: RankedAnswer, ranking: AnswerRanking, lack: PageLack) -> Passage:
    page, passage, features = answer.ranked.page, answer.ranked.passage, answer.features
    section = page.document.sections[passage.section]
    position = next(number for number, row in enumerate(page.document.passages) if row is passage)
    post = _post_of(page.document.sections, passage.section)
    return Passage(
        archive=archive.file_name,
        path=page.path,
        title=page.title,
        section_id=section.id,
        section_title=section.title,
        sentences=[
            Sentence(text, ranking.sentence_share(text), ranking.has_answer(text), ranking.is_asked_fact(text))
            for text in _sentences_with_context(page.document.passages, position)
        ],
        score=round(answer.score, 3),
        fit=PassageFit(
            heading_window=round(features.heading_window, 3),
            near_words=round(features.near_words, 3),
            typed_window=round(features.typed_window, 3),
            entity=round(features.entity, 3),
        ),
        lack=lack,
        position=position,
        post_title=post.title if post else "",
        is_asked=section.kind == "question",
        is_facts=passage.kind == "facts",
        locator=passage.locator,
    )


def _post_of(sections: Sequence[Section], number: int) -> Section | None:
    """Return the section of the question or answer that a section belongs to."""
    section = sections[number]
    if section.kind not in {"question", "answer"}:
        return None
    while section.parent is not None and sections[section.parent].kind == section.kind:
        section = sections[section.parent]
    return section


def _sentences_with_context(passages: Sequence[DocumentPassage], position: int) -> list[str]:
    """Return the sentences of a passage, with what introduces it and what its end introduces, in other passages."""
    passage = passages[position]
    sentences = split_sentences(passage.text)
    before = passages[position - 1] if position else None
    if before is not None and before.section == passage.section:
        last = split_sentences(before.text)[-1]
        is_sentence_of_code = sentences[0].startswith(_CODE_FENCE) and not last.startswith(_CODE_FENCE)
        if is_introduction(last) or is_sentence_of_code:
            sentences.insert(0, f"{last}\n")
    after = passages[position + 1] if position + 1 < len(passages) else None
    if is_introduction(sentences[-1]) and after is not None and after.section == passage.section:
        sentences[-1] += "\n"
        sentences += split_sentences(after.text)[:_INTRODUCED_SENTENCES]
    return sentences


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

"""Calls that search: full text, titles, suggestions, and the passages that answer a question."""

from __future__ import annotations

from typing import Literal

import msgspec

from openzim_mcp.calls import Call, Struct
from openzim_mcp.calls.archive import ArchiveKind  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.text import place_in_page

TitleMatchKind = Literal["exact", "redirect", "prefix", "fuzzy"]
MATCH_ORDER: dict[TitleMatchKind, int] = {"exact": 0, "redirect": 1, "prefix": 2, "fuzzy": 3}


class SearchHit(Struct, frozen=True):
    """An article that was found, and the passage of it that matches best."""

    path: str
    title: str
    snippet: str
    score: float
    section: str | None = None


class SearchHits(Struct, frozen=True):
    """Some articles that match a query, how many there are and can be listed, and how the query was interpreted."""

    results: list[SearchHit]
    total: int
    listed: int
    corrected: dict[str, str] = msgspec.field(default_factory=dict)
    relaxed: dict[str, list[str]] = msgspec.field(default_factory=dict)
    total_is_estimate: bool = False
    reason: str | None = None
    hint: str | None = None
    is_partial: bool = False
    """Whether a slow disk left something out; such a result is not kept."""


class SearchText(Call[SearchHits], frozen=True):
    """Search the full text; `scan_seconds` is how long reading an archive without an index may take."""

    function = "search.fulltext:search_text"
    uses_index = True
    cached = True
    query: str
    offset: int
    limit: int
    snippet_chars: int
    scan_seconds: float
    namespace: str | None = None
    content_type: str | None = None
    use_index: bool = True


class TitleHit(Struct, frozen=True):
    """An entry found by its title; `via` is the title of the redirect that led there."""

    path: str
    title: str
    match: TitleMatchKind
    via: str | None = None


class TitleHits(Struct, frozen=True):
    """Some entries that a title may mean."""

    results: list[TitleHit]
    total: int


class FindTitles(Call[TitleHits], frozen=True):
    """Find entries by title."""

    function = "search.titles:find_titles"
    uses_index = True
    cached = True
    query: str
    offset: int
    limit: int


class Suggestion(Struct, frozen=True):
    """An entry whose title continues what was typed."""

    path: str
    title: str


class Suggestions(Struct, frozen=True):
    """Some entries whose titles continue what was typed."""

    suggestions: list[Suggestion]
    total: int


class SuggestTitles(Call[Suggestions], frozen=True):
    """Complete a title while it is typed."""

    function = "search.titles:suggest_titles"
    uses_index = True
    cached = True
    query: str
    offset: int
    limit: int


class ScoreTitles(Call[list[float]], frozen=True):
    """Score how well an archive has each of some titles, from 0 to 1; those in `fuzzy` may have a typo."""

    function = "search.answer:score_titles"
    uses_index = True
    cached = True
    titles: list[str]
    fuzzy: list[str]
    use_index: bool = True


AnswerType = Literal[
    "money", "age", "measure", "duration", "number", "date", "person", "place", "reason", "list", "steps", "definition"
]
QuestionKind = Literal["word", "name", "quote", "code", "howto", "now"]
"""What else tells which archives have an answer: a question about a word, for the name of what it describes, for a line
of a book, about code, how to do something, or about today or the asker, which no archive has."""


TextPlace = Literal["start", "end"]


class Question(Struct, frozen=True):
    """What a question asks for.

    `text` is what is searched for, and `context` what else was said. `relation_terms` are the words of the question
    that name a relation such as "wrote"; `relation_words` are words of texts and `fact_names` names of key facts that
    express the same. `type_words` are those that ask for a kind of answer, such as "old" in "how old". `quotes` are
    searched as they are. `language` is a two-letter code, empty if unknown. `place` if it asks how a text
    starts or ends.
    """

    text: str
    context: str = ""
    language: str = ""
    answer_type: AnswerType | None = None
    type_words: list[str] = msgspec.field(default_factory=list)
    kinds: list[QuestionKind] = msgspec.field(default_factory=list)
    relation_terms: list[str] = msgspec.field(default_factory=list)
    relation_words: list[str] = msgspec.field(default_factory=list)
    fact_names: list[str] = msgspec.field(default_factory=list)
    quotes: list[str] = msgspec.field(default_factory=list)
    place: TextPlace | None = None


class WordCounts(Struct, frozen=True):
    """How many articles contain each word of a question, and how many articles there are."""

    articles: int = 0
    frequencies: dict[str, int] = msgspec.field(default_factory=dict)


class KnownWords(Struct, frozen=True):
    """How many articles of an archive have each word of a question, and what kind of archive it is."""

    kind: ArchiveKind
    counts: WordCounts
    is_complete: bool = True
    """Whether these are all words of the texts, and not only those of the titles."""


class CountWords(Call[KnownWords], frozen=True):
    """Count the articles with each word of a question; of most archives, from a record, without opening them.

    `keep` if the record may be kept on disk. With `is_prefix` the last word may be the start of one.
    """

    function = "search.vocabulary:count_words"
    uses_index = True
    opens_archive = False
    question: Question
    keep: bool = True
    is_prefix: bool = False


class MakeWordRecord(Call[bool], frozen=True):
    """Make and keep the record of the words of an archive, unless it is there; the result is whether it was made."""

    function = "search.vocabulary:make_record"
    uses_index = True
    opens_archive = False


class Estimate(Struct, frozen=True):
    """What an archive may know of a question, before any article is read.

    `coverage` are the words of the question that its best candidates share, with a weight from 0 to 1 each; None if
    the archive has no index.
    """

    kind: ArchiveKind
    counts: WordCounts
    coverage: list[dict[str, float]] | None = None


class EstimateAnswer(Call[Estimate], frozen=True):
    """Estimate, before any article is read, whether an archive can answer a question.

    With the `counts` of all archives, the words that none of them has are corrected.
    """

    function = "search.answer:estimate_answer"
    uses_index = True
    cached = True
    question: Question
    counts: WordCounts | None = None


class Sentence(Struct, frozen=True):
    """A sentence of a passage, and the share of the question's words that it has, by weight.

    `has_answer` if it holds the kind of answer that is asked for; `is_fact` if it is a key fact of the asked relation.
    """

    text: str
    share: float
    has_answer: bool = False
    is_fact: bool = False


class PassageFit(Struct, frozen=True):
    """How well a passage fits a question, each from 0 to about 1: see the features of answers that have these names."""

    heading_window: float
    near_words: float
    typed_window: float
    entity: float


class PageLack(Struct, frozen=True):
    """What the page of the best passage lacks of a question.

    `words` are the words that it does not have, `relation` whether it has no word for the relation asked for, `absence`
    how far its words are in meaning from the heaviest words of the question, from 0 to 1.
    """

    words: list[str] = msgspec.field(default_factory=list)
    relation: bool = False
    absence: float = 0.0


class Passage(Struct, frozen=True):
    """A passage that may answer a question, in sentences; together they are its text.

    `position` orders the passages of a page. On a page of questions and answers, `post_title` names the post with its
    author, and `is_asked` tells that it is the question. `is_facts` if it is a part of an infobox.

    `lack` is what the page of the best passage lacks.
    """

    archive: str
    path: str
    title: str
    section_id: str
    section_title: str
    sentences: list[Sentence]
    score: float
    fit: PassageFit
    lack: PageLack = PageLack()
    position: int = 0
    post_title: str = ""
    is_asked: bool = False
    is_facts: bool = False
    locator: str = ""
    """The page or time where it stands: `p. 12`, `03:15`."""

    @property
    def place(self) -> str:
        """Where it stands in its page: its section, its page or time, or both."""
        return place_in_page(self.section_title, self.locator)

    @property
    def text(self) -> str:
        """The whole passage."""
        return "".join(sentence.text for sentence in self.sentences)


class Passages(Struct, frozen=True):
    """The passages of an archive that may answer a question, the best first, words that were corrected, and counts."""

    archive: str
    passages: list[Passage]
    corrected: dict[str, str] = msgspec.field(default_factory=dict)
    counts: WordCounts = WordCounts()
    is_partial: bool = False
    """Whether a slow disk left something out; such a result is not kept."""
    partly_read: list[str] = msgspec.field(default_factory=list)
    """The long documents of which the time allowed to read only some pages, and how many."""


class FindPassages(Call[Passages], frozen=True):
    """Find the passages that answer a question; `counts` are of all archives that are asked.

    A word that any of these has is not corrected, and words weigh the same in each archive.
    """

    function = "search.answer:find_passages"
    uses_index = True
    cached = True
    question: Question
    scan_seconds: float
    counts: WordCounts = WordCounts()
    use_index: bool = True

"""The features of a passage as an answer to a question, and the tables of their weights."""

from __future__ import annotations

from typing import NamedTuple

from openzim_mcp.worker.search.ranking import Features


class AnswerFeatures(NamedTuple):
    """The features of a passage as an answer, each from 0 to about 1."""

    heading_window: float
    """The share of the query within the length of a sentence, in the headings above it or in the title."""
    entity: float
    """The share of the query, without the words that name a relation, in the title of the article."""
    answer_type: float
    """Whether the passage holds the kind of answer that is asked for, if that is one that few passages hold."""
    typed_window: float
    """The share of the query, the title included, in the best sentence that holds such an answer."""
    relation_fact: float
    """Whether a key fact has a name that expresses the relation asked for and such an answer, times `entity`."""
    near_words: float
    """The share of the query in the passage, its headings or the title, where a word near in meaning counts too."""
    similarity: float
    """How similar passage and question are in meaning."""
    title_similarity: float
    """How similar title and headings are to the question in meaning."""
    quote: float
    """The share of the quoted words that stand here as they are quoted."""
    language: float
    """Whether the passage is in the script of the question."""
    asked_post: float
    """Whether the passage is the asker's, on a page of questions and answers."""
    answer_post: float
    """Whether the passage is of the first answer there."""
    answer_page: float
    """The same, times the share of the query anywhere on the page, less for a page of many passages."""
    references: float
    """Whether the section lists references or links."""
    quality: float
    """Below 1 for a page that only leads to others."""
    named_start: float
    """Whether the passage starts the page whose name is all that the question says: "what does X say?"."""
    thinness: float
    """How little running text there is beside pictures and lists of names: 1 is none."""
    table: float
    """Whether the passage is a table."""


WORD_WEIGHTS = Features(
    local=0.11,
    topic=0.04,
    window=0.17,
    phrases=0.18,
    shared_prefix=0.26,
    heading=0.0,
    fact=0.1,
    title=0.19,
    lead=0.08,
    article=0.33,
)
ANSWER_WEIGHTS = AnswerFeatures(
    heading_window=0.23,
    entity=0.11,
    answer_type=0.13,
    typed_window=0.13,
    relation_fact=0.5,
    near_words=0.39,
    similarity=0.3,
    title_similarity=0.14,
    quote=0.8,
    language=0.1,
    asked_post=-0.13,
    answer_post=0.15,
    answer_page=0.14,
    references=-0.06,
    quality=0.09,
    named_start=0.4,
    thinness=-0.18,
    table=-0.1,
)
"""The weights of the features, fitted as a choice among the passages of a question: a passage is e to the power of 12
times likelier to have the answer than one whose score is 1 lower. `benchmarks/people.py` measures them."""


# Who describes a thing to learn its name cannot mean an article whose title is a word of the description.
NAMING_WORD_WEIGHTS = WORD_WEIGHTS._replace(title=0.0, lead=0.2, article=0.18)
NAMING_ANSWER_WEIGHTS = ANSWER_WEIGHTS._replace(entity=0.0, near_words=0.49, similarity=0.4, title_similarity=0.0)

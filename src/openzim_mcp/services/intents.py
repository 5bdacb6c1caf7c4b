"""What a sentence asks for: a table of phrases with slots, and every reading of a query that the table allows.

In a phrase `(a|b)` is one of several, `[x]` may be missing, `{slot}` is a value. A row's examples are its tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SLOTS = {
    "title": r"\S.*?",
    "section": r"\S.*?",
    "query": r"\S.*?",
    "prefix": r"\S.*?",
    "titles": r"\S.*?",
    "path": r"\S+",
    "namespace": r"['\"]?(?-i:[A-Z-])(?:/[^\s'\"]*)?['\"]?",
    "number": r"\d+",
    "archive": r"[\w.#&-]+?",
    "rest": r".*?",
}
_SHOW = "[(show|give|get|fetch|display|print|list|read|open|tell) [(me|us)]] [(the|a|an|all|all the)]"
_FILES = "(files|archives|zims|libraries)"
_READ = "(get|read|open|show|fetch|display) [me]"
_OF = "(of|for|in|from|about|on|at)"
_ARTICLE = "[the] [(article|page|entry)] [(on|about|titled|called|named)]"
_POLITE = re.compile(
    r"^(?:(?:please|hey|hi|hello|ok|okay|so|now|(?:can|could|would|will) you(?: please)?"
    r"|i(?:'d| would)? (?:want|need|like)(?: you)?(?: to)?|help me(?: to)?|let me|let's)[ ,]+)+",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,.!]*\b(?:please|thanks|thank you|for me)[\s.!?]*$", re.IGNORECASE)
_PARTS = re.compile(r"[()\[\]|]|[^()\[\]|\s]+")
_SLOT = re.compile(r"\{(\w+)\}")
_CLOSES = {"(": ")", "[": "]"}
_AROUND = " \t'\"“”‘’«»`.,;:!?¿¡"


@dataclass(frozen=True)
class Intent:
    """A row: `names` is the slot that must be an article for this reading to be right; without, `certainty` counts."""

    name: str
    phrases: tuple[str, ...]
    examples: tuple[str, ...]
    names: str | None = None
    certainty: float = 0.95

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The phrases, compiled."""
        return [compiled(phrase) for phrase in self.phrases]


@dataclass(frozen=True)
class Reading:
    """One way to read a query."""

    intent: str
    slots: dict[str, str] = field(default_factory=dict)
    names: str | None = None
    certainty: float = 0.0

    @property
    def title(self) -> str | None:
        """The article that this reading needs."""
        return self.slots.get(self.names) if self.names else None


INTENTS = (
    Intent(
        "archives",
        (
            f"{_SHOW} [(available|loaded|installed|my|your)] [zim] {_FILES} [(available|there are)]",
            f"(what|which) [zim] {_FILES} (do you have|are there|are available|are loaded|can i use)",
        ),
        ("list available ZIM files", "what archives do you have?", "show me the archives"),
    ),
    Intent(
        "health",
        (
            f"{_SHOW} [(server|system)] (health|status|diagnostics)",
            "(health check|server status|are you (ok|healthy|working))",
        ),
        ("server health", "show the server status"),
    ),
    Intent(
        "metadata",
        (
            f"{_SHOW} metadata [{_OF} [the] [archive] {{archive}}]",
            "(what is|describe) (this|the) (archive|zim|zim file) [about]",
            "(how many|number of) articles [(are there|are)] [in (this|the) archive]",
            "(what|which) language is (this|the archive|it) [in]",
            "[(what|which)] language of (this|the) archive",
        ),
        ("metadata for wikipedia_en_all", "how many articles are there?", "what language is this?", "show metadata"),
    ),
    Intent(
        "main_page",
        (f"{_SHOW} (main|home|front|start) page [{_OF} [the] [archive] {{archive}}]",),
        ("show the main page", "main page"),
    ),
    Intent(
        "walk",
        ("(walk|enumerate|iterate) [(over|through)] [the] namespace {namespace} [[with] limit {number}]",),
        ("walk namespace M", "walk the namespace C with limit 5"),
    ),
    Intent(
        "browse",
        (
            "(browse|list|explore) [(the|entries of|entries in)] namespace {namespace} [[with] limit {number}]",
            "(browse|list) [the] (entries|articles) (in|of) [the] namespace {namespace} [[with] limit {number}]",
        ),
        ("browse namespace C with limit 10", "list entries in namespace A"),
    ),
    Intent(
        "search_all",
        (
            "search (all|across all|every|in all) [the] [zim] (files|archives|zims|archive|file) for {query}",
            "search everywhere for {query}",
            "search for {query} (in|across) all [the] [zim] (files|archives)",
        ),
        ("search all files for python", "search for coffee in all archives"),
    ),
    Intent(
        "search",
        (
            "search [for] {query} in [the] [(archive|file)] {archive}.zim",
            "(search|look) [for] {query}",
            "find articles (about|on|containing|that mention) {query}",
        ),
        ("search for biology in wikipedia.zim", "search for moka pot", "find articles about cheese"),
    ),
    Intent(
        "titled",
        (
            "(find|locate|look up) [the|an] (article|page|entry) (titled|called|named|with the title) {title}",
            "(what is|what's) the path (of|to|for) {title}",
        ),
        ("find article titled Photosynthesis", "what is the path of Dog"),
    ),
    Intent(
        "suggestions",
        (
            "[(show|give|get)] [me] (suggestions|completions) (for|of) {prefix}",
            "(autocomplete|complete|suggest) {prefix}",
        ),
        ("suggestions for ber", "autocomplete photo"),
    ),
    Intent(
        "section",
        (
            f"{_SHOW} {{section}} section (of|in|from) {_ARTICLE} {{title}}",
            f"{_SHOW} section [titled] {{section}} (of|in|from) {_ARTICLE} {{title}}",
        ),
        ("the history section of Dog", "section Evolution of Biology"),
        names="title",
    ),
    Intent(
        "outline",
        (
            f"{_SHOW} (structure|outline|sections|headings|table of contents|toc|contents) {_OF} {_ARTICLE} {{title}}",
            "(what|which) (sections|headings) does {title} have",
        ),
        ("show structure of Biology", "table of contents of Dog", "outline of Python"),
        names="title",
    ),
    Intent(
        "summary",
        (
            f"{_SHOW} [(short|brief|quick)] (summary|overview|tldr|introduction|gist) {_OF} {_ARTICLE} {{title}}",
            "(summarize|summarise|sum up) [(the|an)] [(article|page)] [(on|about)] {title}",
        ),
        ("summary of Quantum_mechanics", "summarize Dog", "give me a short overview of Biology"),
        names="title",
    ),
    Intent(
        "related",
        (
            f"{_SHOW} [(articles|pages|topics)] (related to|similar to|like|connected to) {_ARTICLE} {{title}}",
            f"{_SHOW} (related|similar) (articles|pages|topics) (to|for|of) {_ARTICLE} {{title}}",
        ),
        ("articles related to Climate_Change", "related articles for Dog"),
        names="title",
    ),
    Intent(
        "links",
        (
            f"{_SHOW} [(outbound|outgoing|external|internal)] links (in|of|from|on) {_ARTICLE} {{title}}",
            "(what|where) does {title} link to",
        ),
        ("links in Dog", "what does Biology link to?"),
        names="title",
    ),
    Intent(
        "part",
        (f"{{section}} (of|in) {_ARTICLE} {{title}}",),
        ("history of Zürich", "etymology of Dog"),
        names="title",
    ),
    Intent(
        "batch",
        (
            f"{_SHOW} (articles|pages|entries) {{titles}}",
            "(get|fetch|read) {titles} and {title} together",
        ),
        ("get articles Dog, Cat and Horse",),
        certainty=0.85,
    ),
    Intent(
        "article",
        (
            f"{_READ} [the] [full] (article|page|entry) [(on|about|for|titled|called)] {{title}}",
            f"{_READ} {{title}}",
            "(tell me about|what is the article on) {title}",
        ),
        ("get article Evolution", "read the page on Dog", "open Biology"),
        names="title",
    ),
)


def compiled(phrase: str) -> re.Pattern[str]:
    """Return a phrase as a pattern of a whole query with a blank before it."""
    return re.compile(_sequence(iter(_PARTS.findall(phrase)), "") + r"[\s.?!]*", re.IGNORECASE)


def _sequence(parts: Iterator[str], end: str) -> str:
    """Return a pattern of parts up to a bracket; each takes the blank before it along, so that it may be missing."""
    pattern = ""
    for part in parts:
        if part == end:
            break
        if part in _CLOSES:
            pattern += f"(?:{_sequence(parts, _CLOSES[part])}){'?' if part == '[' else ''}"
        elif part == "|":
            pattern += "|"
        else:
            pattern += r"\s+" + _SLOT.sub(
                lambda slot: f"(?P<{slot[1]}>{_SLOTS[slot[1]]})", re.sub(r"[.']", r"\\\g<0>", part)
            )
    return pattern


def bare(query: str) -> str:
    """Return a query without what is only polite."""
    return _THANKS.sub("", _POLITE.sub("", query.strip())).strip() or query.strip()


def readings(query: str) -> Iterator[Reading]:
    """Yield every way to read a query, in the order of the table; last, as a question."""
    text = bare(query)
    for intent in INTENTS:
        for pattern in intent.patterns:
            found = pattern.fullmatch(f" {text}")
            if found:
                slots = {name: value.strip(_AROUND) for name, value in found.groupdict().items() if value}
                yield Reading(intent.name, slots, intent.names, intent.certainty)
                break
    yield Reading("question", {"query": query})


_UNPROVEN = 0.2
_NAMED = 0.9
_QUESTION = 0.3


def choose(query: str, evidence: Mapping[str, float]) -> list[Reading]:
    """Return the readings of a query, the best supported first, by how well the archives know the titles in them.

    A query that is itself a title is a question about that article, whatever else it could be read as.
    """

    def support(reading: Reading) -> float:
        if reading.intent == "question":
            return max(_QUESTION, evidence.get(query, 0.0))
        if reading.title is None:
            return reading.certainty
        return max(_UNPROVEN, _NAMED * evidence.get(reading.title, 0.0))

    return sorted(readings(query), key=lambda reading: -support(reading))


def titles_in(query: str) -> list[str]:
    """Return the titles that decide between the readings of a query."""
    named = [reading.title for reading in readings(query) if reading.title]
    return list(dict.fromkeys([query, *named]))

"""What a sentence asks for: a table of phrases with slots, and every reading of a query that the table allows.

In a phrase `(a|b)` is one of several, `[x]` may be missing, `{slot}` is a value, `<word>` one of vocabulary.txt.
A row's examples are its tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from openzim_mcp.services import spelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SLOTS = {
    "title": r"\S.*?",
    "section": r"\S.*?",
    "heading": r"(?!(?:wh\w+|how|is|are|was|did|does|do|can|list|get|show)\b)\S+(?: \S+){0,2}?",
    "query": r"\S.*?",
    "prefix": r"\S.*?",
    "titles": r"\S.*?",
    "path": r"\S+",
    "namespace": r"['\"]?(?-i:[A-Z-])(?:/[^\s'\"]*)?['\"]?",
    "number": r"\d+",
    "archive": r"[\w.#&-]+?",
    "rest": r".*?",
}
_SHOW = "[<show> [<me>]] [<the>]"
_ARTICLE = "[<the>] [<article>] [(on|about|titled|called|named|über|sur|sobre|su)]"
_HERE = "[in] [(this|the|it)] [(archive|zim|file)] [(have|contain)]"
_LIMIT = "[[with] [a] limit [of] {number}]"
_ENTRIES = "(entries|articles|items|pages) (in|of|from)"
_POLITE = re.compile(
    r"^(?:(?:please|hey|hi|hello|ok|okay|so|now|(?:can|could|would|will) you(?: please)?"
    r"|i(?:'d| would)? (?:want|need|like)(?: you)?(?: to)?|help me(?: to)?|let me|let's)[ ,]+)+",
    re.IGNORECASE,
)
_THANKS = re.compile(r"[\s,.!]*\b(?:please|thanks|thank you|for me)[\s.!?]*$", re.IGNORECASE)
_PARTS = re.compile(r"\s+|[()\[\]|]|[^()\[\]|\s]+")
_SPECIAL = re.compile(r"[.']")
_WORD = re.compile(r"<([a-z ]+)>")
_SLOT = re.compile(r"\{(\w+)\}")
_CLOSES = {"(": ")", "[": "]"}
_COMMAND_WORDS = 3
_SHORTEST = 3
_COMMANDS = tuple(
    "get show list open read find search browse walk summary summarize outline structure section links related random"
    " article articles archives files metadata main page picture image suggestions namespace titled health".split()
)
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
            f"{_SHOW} [list of] [<the>] [<available>] [zim] <files> [(<available>|there are|you (have|can read))]",
            "(what|which) [zim] <files> (do you have|are there|are available|are loaded|can i use|i can use)",
            "(do you have|are there) [any] [zim] <files>",
            "how many [zim] <files> (are there|are available|are loaded|do you have)",
            "[<the>] list of [<the>] [<available>] <files>",
            "what's in your library",
            "(welche|quels|quelles|qué|quais|quali|welke|какие|jakie|hangi) [zim] <files> {rest}",
            "有哪些<files>",
        ),
        ("list available ZIM files", "what archives do you have?", "show me the archives"),
    ),
    Intent(
        "health",
        (
            f"{_SHOW} [(server|system)] (health|status|diagnostics) [(report|check)] [of (the|this) server]",
            "(run|do) [a] health check",
            "is (the server|everything) (ok|running|working) [(properly|with the server)]",
            "(health check|is the server (ok|healthy|up|running|working)|are you (ok|healthy|working|up))",
        ),
        ("server health", "show the server status"),
    ),
    Intent(
        "metadata",
        (
            f"{_SHOW} <metadata> [<of> [<the>] [archive] {{archive}}]",
            "(what is|what's|tell me) [the] (language|date|license|size|creator) of (this archive|{archive}.zim)",
            "[in] (what|which) language is (this|the) archive [written]",
            "(archive|zim) (info|information|details)",
            "(what is|what's|describe) (this|the) (archive|zim|zim file) [about]",
            f"(how many|number of) (articles|entries) [(are there|are|do you have|does it have)] {_HERE}",
            "(what|which) language is (this|the archive|this archive|it|the zim|this zim) [in]",
            "how (big|large|old) is (this|the) (archive|zim|file)",
            "(who (made|created|published)|when was) (this|the) (archive|zim|file) {rest}",
            "<how many articles> [{rest}]",
        ),
        ("metadata for wikipedia_en_all", "how many articles are there?", "what language is this?", "show metadata"),
    ),
    Intent(
        "main_page",
        (
            f"{_SHOW} <main page> [<of> [<the>] [archive] {{archive}}]",
            "(take me to|go to|see|i want to see|what is on|what's on) [<the>] <main page>",
            "<main page> (anzeigen|zeigen)",
            "<main page>を<show>",
        ),
        ("show the main page", "main page", "Hauptseite"),
    ),
    Intent(
        "random",
        (
            f"{_SHOW} [any] <random> [<the>] (<article>|<articles>|something) [(from|in) {{archive}}]",
            f"{_SHOW} (<article>|something) (<random>|at random)",
            "[{number}] <random> <articles>",
            "(surprise me|pick [(an|any)] article) [{rest}]",
        ),
        ("random article", "surprise me", "zeige einen zufälligen Artikel"),
    ),
    Intent(
        "walk",
        (f"(walk|enumerate|iterate|crawl|dump) [(over|through|all of)] [the] namespace {{namespace}} {_LIMIT}",),
        ("walk namespace M", "walk the namespace C with limit 5"),
    ),
    Intent(
        "browse",
        (
            f"(browse|explore|<show>) [<me>] [(the|the entries of|entries of)] namespace {{namespace}} {_LIMIT}",
            f"(browse|<show>) [<me>] [the] [first] [{{number}}] {_ENTRIES} [the] namespace {{namespace}}",
            "what is in namespace {namespace}",
        ),
        ("browse namespace C with limit 10", "list entries in namespace A", "show 20 entries of namespace C"),
    ),
    Intent(
        "search_all",
        (
            "<search> [in] <everywhere> [the] [zim] <files> <for> {query}",
            "<search> (everywhere|the whole library) for {query}",
            "(look|find|<search>) (in|across|through) (all|every|any) [of] [the] [zim] <files> for {query}",
            "durchsuche alle <files> nach {query}",
            "look everywhere for {query}",
            "find anything (on|about) {query} in any of the <files>",
            "<search> [<for>] {query} (in|across|through) all [the] [zim] <files>",
        ),
        ("search all files for python", "search for coffee in all archives"),
    ),
    Intent(
        "search",
        (
            "<search> [<for>] {query} in [the] [(archive|file)] {archive}.zim",
            "<search> [<for>] {query}",
            "<search>: {query}",
            "(do|run) a [full text] search for {query}",
            "(are there|which|what) [any] articles [(are|talk)] about {query}",
            "find all articles mentioning {query}",
            "(find|show) [me] <articles> (about|on|containing|that mention|mentioning|with) {query}",
            "{query}を検索",
            "(搜索|查找){query}",
        ),
        ("search for biology in wikipedia.zim", "search for moka pot", "find articles about cheese", "Suche nach Käse"),
    ),
    Intent(
        "titled",
        (
            "(find|locate|look up|get|is there) [(the|an|a)] <article> (titled|called|named|with the title) {title}",
            "(what is|what's) the path (of|to|for) {title}",
            "(do you have|i'm looking for) (an|the) article (titled|called|named) {title}",
            "title search: {title}",
        ),
        ("find article titled Photosynthesis", "what is the path of Dog"),
    ),
    Intent(
        "suggestions",
        (
            f"{_SHOW} (suggestions|completions|titles) (for|of|starting with|beginning with) {{prefix}}",
            "(autocomplete|complete|suggest) {prefix}",
            "(which|what) (titles|articles) (start|begin) with {prefix}",
            f"{_SHOW} title suggestions for {{prefix}}",
        ),
        ("suggestions for ber", "autocomplete photo"),
    ),
    Intent(
        "section",
        (
            f"{_SHOW} {{section}} <section> <of> {_ARTICLE} {{title}}",
            f"{_SHOW} <section> [(titled|called|on|about)] {{section}} <of> {_ARTICLE} {{title}}",
        ),
        ("the history section of Dog", "section Evolution of Biology", "Abschnitt Geschichte von Berlin"),
        names="title",
    ),
    Intent(
        "outline",
        (
            f"{_SHOW} [<article>] <outline> <of> {_ARTICLE} {{title}}",
            "(what|which) (sections|headings|chapters) does {title} have",
            "(what|which) (are the sections|sections are|are the headings|headings are) (of|in) {title}",
            "(how is|what is the structure of) {title} (structured|organized|organised)",
            "{title}的<outline>",
            "{title}の<outline>",
        ),
        ("show structure of Biology", "table of contents of Dog", "outline of Python", "Gliederung von Berlin"),
        names="title",
    ),
    Intent(
        "summary",
        (
            f"{_SHOW} [<short>] <summary> <of> {_ARTICLE} {{title}}",
            f"<summarize> {_ARTICLE} {{title}}",
            "<summary>: {title}",
            "(总结|摘要|概括){title}",
            "{title}的<summary>",
            "{title}の<summary>",
            "{title} <summary>",
        ),
        ("summary of Quantum_mechanics", "summarize Dog", "give me a short overview of Biology", "résumé de Paris"),
        names="title",
    ),
    Intent(
        "related",
        (
            f"{_SHOW} [<articles>] <related to> {_ARTICLE} {{title}}",
            f"{_SHOW} <related> <articles> <of> {_ARTICLE} {{title}}",
            f"{_SHOW} <articles> <related> <of> {_ARTICLE} {{title}}",
            "(what|which) [other] (is|articles are|pages are) (related to|similar to|like) [the] {title}",
            f"(find|get) <articles> <related to> {_ARTICLE} {{title}}",
            "<related> <articles>: {title}",
        ),
        ("articles related to Climate_Change", "related articles for Dog", "ähnliche Artikel zu Hund"),
        names="title",
    ),
    Intent(
        "links",
        (
            f"(<show>|extract) [<me>] [<the>] [(outbound|external|internal)] <links> <of> {_ARTICLE} {{title}}",
            f"<links> <of> {_ARTICLE} {{title}}",
            "(what|where|which) [(links|pages)] does [the article] {title} (link to|have|point to)",
            "{title}的<links>",
        ),
        ("links in Dog", "what does Biology link to?", "liens de Paris"),
        names="title",
    ),
    Intent(
        "part",
        (f"[the] {{heading}} (of|in|von|de|du|di|van) {_ARTICLE} {{title}}", "{title}的{heading}"),
        ("history of Zürich", "etymology of Dog"),
        names="title",
    ),
    Intent(
        "batch",
        (f"{_SHOW} (articles|pages|entries|artikel|artículos|artigos|articoli|статьи) {{titles}}",),
        ("get articles Dog, Cat and Horse",),
        certainty=0.85,
    ),
    Intent(
        "picture",
        ("[(<show>|download|save)] [<me>] [<the>] [raw] <picture> [content] [(at|<of>|called)] [the] {path}",),
        ("download the image I/Logo.png", "get picture logo.png"),
        names="path",
    ),
    Intent(
        "article",
        (
            f"<show> [<me>] {_ARTICLE} {{title}}",
            "<show> [<me>] [the] (full|whole|entire) <article> [(on|about|for)] [the] {title}",
            "(bring up|pull up|<show>) [<me>] [the] (page|entry|article) for {title}",
            "tell me about {title}",
            "<article> {title}",
        ),
        ("get article Evolution", "read the page on Dog", "open Biology", "zeige Artikel Berlin"),
        names="title",
    ),
)


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, str]:
    text = (resources.files(__package__) / "vocabulary.txt").read_text("utf-8")
    return dict(line.split(": ", 1) for line in text.splitlines()[1:])


def compiled(phrase: str) -> re.Pattern[str]:
    """Return a phrase as a pattern of a whole query with a blank before it."""
    parts = iter(_PARTS.findall(_WORD.sub(lambda name: f"({_vocabulary()[name[1]]})", phrase)))
    return re.compile(_sequence(parts, end="", lead=True) + r"[\s.?!。？！]*", re.IGNORECASE)


def _sequence(parts: Iterator[str], *, end: str, lead: bool) -> str:
    """Return a pattern of parts up to a bracket; each takes the blank before it along, so that it may be missing."""
    pattern = ""
    blank = lead
    for part in parts:
        if part == end:
            break
        if part.isspace():
            blank = True
        elif part == "|":
            pattern, blank = f"{pattern}|", lead
        elif part in _CLOSES:
            inside = _sequence(parts, end=_CLOSES[part], lead=blank)
            pattern, blank = f"{pattern}(?:{inside}){'?' if part == '[' else ''}", False
        else:
            word = _SLOT.sub(lambda slot: f"(?P<{slot[1]}>{_SLOTS[slot[1]]})", _SPECIAL.sub(r"\\\g<0>", part))
            pattern, blank = pattern + (r"\s+" if blank else "") + word, False
    return pattern


def bare(query: str) -> str:
    """Return a query without what is only polite."""
    return _THANKS.sub("", _POLITE.sub("", query.strip())).strip() or query.strip()


def readings(query: str) -> Iterator[Reading]:
    """Yield every way to read a query, in the order of the table; last, as a question."""
    text = bare(query)
    found = list(_matching(text)) or list(_matching(_respelled(text)))
    yield from found
    yield Reading("question", {"query": query})


def _respelled(text: str) -> str:
    """Return a text whose first words are those of requests, if they are a letter off."""
    words = text.split()
    for number, word in enumerate(words[:_COMMAND_WORDS]):
        if len(word) >= _SHORTEST and word.lower() not in _COMMANDS:
            near = [known for known in _COMMANDS if spelling.distance(word.lower(), known, 1) <= 1]
            words[number] = near[0] if near else word
    return " ".join(words)


def _matching(text: str) -> Iterator[Reading]:
    for intent in INTENTS:
        for pattern in intent.patterns:
            found = pattern.fullmatch(f" {text}")
            if found:
                slots = {name: value.strip(_AROUND) for name, value in found.groupdict().items() if value}
                yield Reading(intent.name, slots, intent.names, intent.certainty)
                break


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

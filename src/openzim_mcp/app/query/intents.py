"""What a sentence asks for: a table of phrases with slots, and every reading of a query that the table allows.

The phrases are in the language of phrases.py. A row's examples are its tests.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.patterns import (
    COMMA,
    DENSE,
    JOINED,
    Phrase,
    Sentence,
    all_words,
    end_of,
    pattern_of,
    plain,
    vocabulary,
)
from openzim_mcp.text import edit_distance

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

_SHOW = "+ "
"""Before a phrase: what asks to be shown something may stand there, and is left out before the phrase is tried."""
_OF = "(:|：|,| -| <of>| <article>)"
_ITS = "(<attached>| <'s>)"
_LIMIT = "[[(with [a] limit [of]|limit|limited to)] {number} [(at a time|entries|per page|each)]]"
_AROUND = " \t'\"“”‘’«»„`.,;:!?¿¡。？！؟：、"
_GAP = rf"(?:[\s,]+|(?<=')|(?<={DENSE}))"
_POLITE = rf"\s*(?:(?:<please>){_GAP})*"
_THANKS = rf"(?:[\s,.!]+|(?<={DENSE}))(?:<thanks>)[\s.!?。]*$"
_LEAD = rf"\s+(?:(?:<show>){_GAP}(?:(?:<me>){_GAP})?)?(?:(?:<only>){_GAP})?(?:(?:<the>){_GAP})?(?=.*\w)"
_BEFORE = rf"(?:(?:<the>){_GAP}){{0,2}}(?:(?:<article>){_GAP}(?:(?:<named>|<of>){_GAP})?|(?:<named>){_GAP})?(?=\S)"
_AFTER = rf"(?:(?:\s*(?:<'s>)\s*|\s+|(?<={DENSE}))(?:<article>))?(?:\s+(?:<apart>))?$"
_QUOTED = r"\"[^\"]*\"|“[^”]*”|«[^»]*»|„[^“”]*[“”]|(?<!\w)'[^']*'(?!\w)"
_JOINING = (rf"\s+(?:<and>)\s+|{JOINED}", r"\s+(?:<and short>)\s+", r"\s+(?:<and weak>)\s+")
"""What stands between the things of a list, the surest first."""
_ARTICLE = rf"(?!(?:<name>)\b)(?:<the>){_GAP}(?=\S)"
_COMMAND_WORDS = 3
_SHORT = 5
"""From this length on a word that is a letter off is a slip; of shorter ones too many are words."""
_LONG = 6
"""The same where the sentence has another reading."""
_UNPROVEN = 0.2
_QUESTION = 0.3
_SLIP = 0.95
_NEAR = 0.12
"""Readings whose supports are no further apart are a guess between them."""


@dataclass(frozen=True)
class Intent:
    """A row: `say` is a query that is read so and no other way, `names` the slot that must be an article."""

    name: str
    say: str
    phrases: tuple[str, ...]
    examples: tuple[str, ...]
    names: str | None = None
    certainty: float = 0.9


@dataclass(frozen=True)
class Reading:
    """One way to read a query; with `slip`, as if a word of it were misspelled."""

    intent: str
    slots: dict[str, str] = field(default_factory=dict)
    names: str | None = None
    certainty: float = 0.9
    slip: bool = False

    @property
    def title(self) -> str | None:
        """The article that this reading needs."""
        return self.slots.get(self.names) if self.names else None

    def support(self, query: str, evidence: Mapping[str, float]) -> float:
        """Return how likely this reading is, by how well the archives know the title in it."""
        if self.intent == "question":
            return max(_QUESTION, evidence.get(query, 0.0))
        sure = self.certainty * (_SLIP if self.slip else 1.0)
        return sure if self.title is None else max(_UNPROVEN, sure * evidence.get(self.title, 0.0))


# fmt: off
INTENTS = (
    Intent("archives", "list the archives", (
        f"{_SHOW}[<list> [<of>]] [<the>] [<available>] [zim] <files> [zim] [{{filler}}]",
        "[<available>] [zim] <files>[(을|를| <'s>)] [<list>] [<show last>]",
        "[<show> [<me>]] <which> [zim] <files>[(이|가|은)] [{filler}]",
        "(do you have|are there|have you got|how many) [any] [zim] <files> [{filler}]",
        "what's in your library",
    ), ("list available ZIM files", "what archives do you have?", "Welche Archive gibt es?", "列出可用的文件")),
    Intent("health", "server health", (
        f"{_SHOW}(server|system) (health|status|diagnostics) [(report|check)]",
        f"{_SHOW}[(what is|what's)] [the] (health|status|diagnostics) (report|check|of (the|this) server)",
        "(run|do) [a] (health check|self test|diagnostics)",
        "is (the server|everything) (ok|healthy|up|running|working) [(properly|with the server)]",
        "are you (ok|healthy|working|up)",
    ), ("server health", "show the server status")),
    Intent("metadata", "show metadata", (
        f"{_SHOW}<metadata> [<of> [<the>] [archive] {{archive}}[.zim]]",
        f"{{archive}}{_ITS} <metadata> [<show last>]",
        "(what is|what's|tell me) [the] (language|date|license|size|creator) of (this archive|{archive}.zim)",
        "(archive|zim) (info|information|details)",
        "(what is|what's|describe) (this|the) (archive|zim|zim file) [about]",
        "how (big|large|old) is (this|the) (archive|zim|file)",
        "(who (made|created|published)|when was) (this|the) (archive|zim|file) {rest}",
        "<which language> {filler} [(written|in)]",
        "[{filler}] <how many articles>",
        "<how many articles> [{filler}]",
        "<how many articles> [are] [there] <in> {archive}.zim",
    ), ("metadata for wikipedia_en_all", "how many articles are there?", "what language is this?", "show metadata")),
    Intent("main_page", "show the main page", (
        f"{_SHOW}<main page> [<of> [<the>] [(this archive|archive|{{archive}}[.zim])]]",
        "(take me to|go to|what is on|what's on) [<the>] <main page>",
        "<main page> [<show last>]",
    ), ("show the main page", "main page", "Hauptseite")),
    Intent("random", "random article", (
        f"{_SHOW}[{{number}}] <random> [<the>] (<article>|<articles>|something) [(from|in) {{archive}}[.zim]]",
        f"{_SHOW}(<article>|<articles>|something) (<random>|at random)",
        "<random> [<the>] <article> [<show last>]",
        "(surprise me|pick [<the>] <article>|i'm feeling lucky) [{rest}]",
    ), ("random article", "surprise me", "zeige einen zufälligen Artikel")),
    Intent("next", "next page", (
        f"{_SHOW}<next> [{{number}}] [<results>]",
        "[<results>] <next> [<results>] [<show last>]",
    ), ("next page", "show me more results", "go on", "weiter", "page suivante", "下一页")),
    Intent("walk", "walk namespace {namespace}", (
        f"<walk> [<all of>] [<entries of>] namespace {{namespace}} {_LIMIT} [<one by one>]",
        f"<walk> [<all of>] {{namespace}} namespace {_LIMIT} [<one by one>]",
    ), ("walk namespace M", "walk the namespace C with limit 5")),
    Intent("browse", "browse namespace {namespace}", (
        f"(browse|explore|<show>) [<me>] [<all of>] [<entries of>] namespace {{namespace}} {_LIMIT}",
        f"(browse|explore|<show>) [<me>] [<all of>] {{namespace}} namespace {_LIMIT}",
        "(browse|<show>) [<me>] [<the>] [first] [{number}] <articles> <of> [the] namespace {namespace}",
        "(what is|what's) in [the] namespace {namespace}",
    ), ("browse namespace C with limit 10", "list entries in namespace A", "show 20 entries of namespace C")),
    Intent("search_all", "search all archives for {query}", (
        "(<search>|look|find) [<in>] <everywhere> [<the>] [zim] <files> [<for>] {query}",
        "(<search>|look) (everywhere|the whole library) <for> {query}",
        "<search> (all|everywhere): {query}",
        "durchsuche alle <files> nach {query}",
        "(<search>|find) [anything] [(<for>|<of>)] {query} <in> <everywhere> [<the>] [zim] <files>",
        "<in> <everywhere> [<the>] <files> <search> [<for>] {query}",
    ), ("search all files for python", "search for coffee in all archives", "buscar café en todos los archivos")),
    Intent("search", "search for {query}", (
        "<search> [<for>] {query} <in> [<the>] [<files>] {archive}.zim",
        "(<search>|find) [<me>] [<the>] <articles> [that] [(are|talk)] (<of>|<containing>) {query}",
        "<search>[(:|：)] [<for>] {query}",
        "(do|run) a [full text] search for {query}",
        "(are there|which|what) [any] articles [(are|talk)] about {query}",
        "show [me] <articles> (about|on|<containing>) {query}",
        "{query=first}[(를|을)] <search last>",
    ), ("search for biology in wikipedia.zim", "search for moka pot", "find articles about cheese", "Suche nach Käse")),
    Intent("titled", "find article titled {title}", (
        "(find|locate|look up|get|do you have|i'm looking for|<is there>) [<the>] <article> <titled> {title}",
        "(what is|what's) the path (of|to|for) {title}",
        "[(under|at)] (what|which) path is [the] [<article>] {title} [(stored|found)]",
        "title search: {title}",
    ), ("find article titled Photosynthesis", "what is the path of Dog")),
    Intent("suggestions", "suggestions for {prefix}", (
        f"{_SHOW}[title] (suggestions|completions|titles) (for|of|starting with|beginning with) {{prefix=query}}",
        "(autocomplete|complete|suggest) [(titles|articles) [(starting|beginning) with]] {prefix=query}",
        "[(which|what)] (titles|articles) [that] (start|begin) with {prefix=query}",
    ), ("suggestions for ber", "autocomplete photo")),
    Intent("outline", "outline of the article {title}", (
        f"{_SHOW}[<article>] <outline>{_OF} {{title}}",
        f"{_SHOW}<contents> {{title}}",
        "(what|which) [are] [the] [section] (sections|headings|chapters) [are] [there] (of|in) {title}",
        "(what|which) (sections|headings|chapters) does {title} have",
        "how is [the] <article> [<named>] {title} (structured|organized|organised|laid out)",
        "how is [the] {title} <article> (structured|organized|organised|laid out)",
        f"{{title=first}}{_ITS} <outline> [<show last>]",
    ), ("show structure of Biology", "table of contents of Dog", "Gliederung von Berlin"), names="title"),
    Intent("summary", "summary of the article {title}", (
        f"{_SHOW}[<short>] <summary>{_OF} {{title}}",
        "(what is|what's) the <summary> of {title}",
        "<summarize>[(:|：|,)] {title}",
        f"{{title=first}}[{_ITS}] (<summary>|<summarize last>) [<show last>]",
    ), ("summary of Quantum_mechanics", "summarize Dog", "overview of Biology", "résumé de Paris"), names="title"),
    Intent("related", "articles related to the article {title}", (
        f"{_SHOW}[(more|other)] [<articles>] <related to> {{title}}",
        "(find|<search>) <articles> <related to> {title}",
        f"{_SHOW}<articles> <like> {{title}}",
        f"{_SHOW}<related> <articles>{_OF} {{title}}",
        f"{_SHOW}<articles> <related>{_OF} {{title}}",
        "(what|which) [(else|other <articles>|<articles>)] (is|are) (related to|similar to|like) {title}",
        "what [else] (should|can|could) i read [next] (after|besides) {title}",
        f"[(与|和|跟)] {{title=first}}[{_ITS}] <related> <articles> [<show last>]",
    ), ("articles related to Climate_Change", "related articles for Dog", "ähnliche Artikel zu Hund"), names="title"),
    Intent("links", "links in the article {title}", (
        f"[(<show>|extract)] [<me>] [<the>] [<outgoing>] <links>{_OF} {{title}}",
        f"[(<show>|extract)] [<me>] [<the>] <outgoing> link{_OF} {{title}}",
        "(what|where|which) [(links|<articles>)] does {title} (link to|have|point to)",
        "where do [the] <links> <of> {title} (go|lead|point) [to]",
        f"{{title=first}}{_ITS} <links> [<show last>]",
    ), ("links in Dog", "what does Biology link to?", "liens de Paris"), names="title"),
    Intent("section", 'section "{section}" of the article {title}', (
        f"{_SHOW}{{section}} <section> <of> {{title}}",
        f"{_SHOW}<section> [(titled|called|on|about)] {{section}} (<of>|<article>) {{title}}",
        "what does [the] {section} <section> <of> {title} (say|contain|cover)",
        f"{{title=first}}{_ITS} {{section}} <section> [<show last>]",
    ), ("the history section of Dog", "section Evolution of Biology", "Abschnitt Klima von Berlin"), names="title"),
    Intent("picture", "get the picture of {path}", (
        "[(<show>|download|save)] [<me>] [<the>] [raw] <picture> [content] [(at|<of>|called)] [<the>] {path=file}",
    ), ("download the image I/Logo.png", "get picture logo.png")),
    Intent("picture", "get the picture of {path}", (
        f"[(<show>|download|save)] [<me>] [<the>] <pictured>{_OF} {{path=title}}",
        f"{{path=first}}[{_ITS}] <pictured> [<show last>]",
    ), ("picture of Marie Curie",), names="path"),
    Intent("compare", "compare {titles}", (
        f"{_SHOW}[<what is>] [<the>] [(main|key)] <difference> <between> {{titles=list}} [is]",
        "<compare> [<between>] {titles=list}",
        "{titles=versus}",
        "<how> {titles=differing}",
        "<how> <differ> {titles=list}",
        "<how> {titles=list} <differ>",
        "{titles=list}[의] [<'s>] [<between>] <difference>[(은|는|이)] [<is what>]",
        "{titles=list}[(를|을)] <compare last>",
        "(what|which) is better[:] {titles=list}",
    ), ("difference between tea and coffee", "tea vs. coffee", "how does tea differ from coffee?"), certainty=0.85),
    Intent("part", 'section "{heading}" of the article {title}', (
        "[(show|read|give|tell) [me]] [<the>] {heading} (of|in|von|de|du|di|da|do|van|del|della) {title}",
        "{heading=topic} {title}",
        f"{{title=first}}[{_ITS}] {{heading=topic}}",
        f"{{title=first}}{_ITS} {{heading}}",
    ), ("history of Zürich", "etymology of Dog"), names="title", certainty=0.7),
    Intent("batch", "get articles {titles}", (
        f"{_SHOW}[several] <articles> [at once][(:|：)] {{titles=list}}",
        "<show> {titles=list} together",
        "batch: {titles=list}",
    ), ("get articles Dog, Cat and Horse",), certainty=0.85),
    Intent("article", "get article {title}", (
        "<show> [<me>] {title}",
        "(tell me|read) about {title}",
        "(<article>|<articles>) {title}",
        f"{{title=first}}[{_ITS}] <show last>",
    ), ("get article Evolution", "read the page on Dog", "open Biology", "zeige Artikel Berlin"), names="title"),
    Intent("question", "{query}", (), ()),
)
# fmt: on


class _Row(NamedTuple):
    """A phrase of an intent, and whether what asks to be shown something may stand before it."""

    intent: Intent
    may_follow: bool
    phrase: Phrase


@cache
def _table() -> list[_Row]:
    rows = [(intent, text) for intent in INTENTS for text in intent.phrases]
    return [_Row(intent, text.startswith(_SHOW), Phrase(text.removeprefix(_SHOW))) for intent, text in rows]


_SAY = {intent.name: intent.say for intent in INTENTS}


def bare(query: str) -> str:
    """Return a query without what is only polite."""
    text = unicodedata.normalize("NFC", query).strip().lstrip("¿¡")
    text = text[end_of(_POLITE, plain(text)) :]
    thanks = pattern_of(_THANKS).search(plain(text))
    return (text[: thanks.start()] if thanks else text).strip() or query.strip()


def readings(query: str) -> Iterator[Reading]:
    """Yield every way to read a query, in the order of the table; last, as a question."""
    text = bare(query)
    found = list(_matching(text))
    corrected = _respelled(text, shortest=_LONG if found else _SHORT)
    if corrected != text:
        yield from (replace(reading, slip=True) for reading in _matching(corrected))
    yield from found
    yield Reading("question", {"query": query})


def _respelled(text: str, shortest: int) -> str:
    """Return a text whose first words are those of requests, if they are a letter off."""
    words = text.split()
    if not words or plain(words[0]) in vocabulary()["asking"]:
        return text
    for number, word in enumerate(map(str.lower, words[:_COMMAND_WORDS])):
        if word.isascii() and word not in all_words():
            near = [known for known in vocabulary()["command"] if _is_slip(word, known, shortest)]
            words[number] = near[0] if near else words[number]
    return " ".join(words)


def _is_slip(word: str, known: str, shortest: int) -> bool:
    """Return whether a word is another with letters swapped, or a letter off if it is long enough."""
    swapped = word[0] == known[0] and sorted(word) == sorted(known)
    return swapped or (len(word) >= shortest and edit_distance(word, known, 1) <= 1)


def _matching(text: str) -> Iterator[Reading]:
    whole = f" {text}"
    asked = f" {whole[end_of(_LEAD, plain(whole)) :]}"
    simple = {written: plain(written) for written in (asked, whole)}
    seen: list[Reading] = []
    sentence = Sentence(simple[whole])
    tried = ((row, pattern) for row in _table() for pattern in row.phrase.patterns(sentence))
    for (intent, may_follow, _), pattern in tried:
        for written in simple if may_follow else (whole,):
            found = pattern.fullmatch(simple[written])
            for slots in _slots(found, written, intent.names) if found else ():
                reading = Reading(intent.name, slots, intent.names, intent.certainty)
                if reading not in seen:
                    seen.append(reading)
                    yield reading


def _slots(found: re.Match[str], text: str, names: str | None) -> Iterator[dict[str, str]]:
    """Yield what fills the slots: a title as it stands, and without such as `the article` around it."""
    slots = {name: text[slice(*found.span(name))].strip(_AROUND) for name, value in found.groupdict().items() if value}
    if "namespace" in slots:
        slots["namespace"] = slots["namespace"][:1].upper() + slots["namespace"][1:]
    if names is None:
        yield slots
        return
    for name in _trimmed(slots[names]):
        yield slots | {names: name}


def _trimmed(title: str) -> list[str]:
    """Return a title as it is and without such as `the article on` around it, the likelier first."""
    start = end_of(_BEFORE, plain(title))
    after = pattern_of(_AFTER).search(plain(title), start + 1)
    inside = title[start : after.start() if after else None].strip(_AROUND)
    names = [_without_article(inside), inside, title]
    return list(dict.fromkeys(names if title[:1].islower() else reversed(names)))


def choose(query: str, evidence: Mapping[str, float]) -> list[Reading]:
    """Return the readings of a query, the best supported first, by how well the archives know the titles in them.

    A query that is itself a title is a question about that article, whatever else it could be read as.
    """
    return sorted(readings(query), key=lambda reading: -reading.support(query, evidence))


def titles_in(query: str) -> list[str]:
    """Return the titles that decide between the readings of a query."""
    named = [reading.title for reading in readings(query) if reading.title]
    return list(dict.fromkeys([query, *named]))


def alternatives(query: str, evidence: Mapping[str, float]) -> list[Reading]:
    """Return what else a query may ask for if its best reading is a guess, each intent once; or nothing.

    It is one if others are nearly as likely, or if its title is known by another spelling only.
    """
    best, *others = choose(query, evidence)
    doubtful = best.title is not None and (best.slip or 0 < evidence.get(best.title, 0.0) < 1)
    least = max(_QUESTION, best.support(query, evidence) - _NEAR)
    near = {
        other.intent: _as_request(other, evidence)
        for other in reversed(others)
        if other.support(query, evidence) > least or (doubtful and other.intent == "question")
    }
    return [other for intent, other in reversed(near.items()) if intent != best.intent]


def _as_request(reading: Reading, evidence: Mapping[str, float]) -> Reading:
    """Return a question as the request that does nearly the same."""
    if reading.intent != "question":
        return reading
    query = reading.slots["query"]
    return Reading("article", {"title": query}, "title") if evidence.get(query) else Reading("search", reading.slots)


def said(reading: Reading) -> str:
    """Return a query that is read so and no other way."""
    return _SAY[reading.intent].format(**reading.slots)


def sides(titles: str, most: int = 5) -> list[str]:
    """Return the things that a list such as `A, B and C` or `A vs. B` names, without quotes and articles."""
    pieces = _cut(titles, rf"{COMMA}(?:(?:<and>)\s+)?")
    for joining in _JOINING if len(pieces) == 1 else _JOINING[:-1]:
        names = [name for piece in pieces for name in _cut(piece, joining)]
        if len(names) > len(pieces):
            break
    return [name for name in map(_without_article, names) if name][:most]


def _cut(text: str, pattern: str) -> list[str]:
    """Return the pieces of a text between what matches, which is not looked for inside quotes."""
    cuts = [found for found in pattern_of(f"{_QUOTED}|({pattern})").finditer(plain(text)) if found[1]]
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _without_article(name: str) -> str:
    name = name.strip()
    return name[end_of(_ARTICLE, plain(name)) if name[:1].islower() else 0 :].strip(_AROUND)

"""The intents of queries: one row per intent, with the patterns that express it.

The patterns are in the language of patterns.py. The examples of a row are its tests.
"""

from __future__ import annotations

from dataclasses import dataclass

SHOW_PREFIX = "+ "
"""Starts a pattern that may follow a request to be shown something, which is removed before the pattern is tried."""
_OF = "(:|：|,| -| <of>| <article>)"
_ITS = "(<attached>| <'s>)"
_LIMIT = "[[(with [a] limit [of]|limit|limited to)] {number} [(at a time|entries|per page|each)]]"


@dataclass(frozen=True)
class Intent:
    """A row of the table.

    `canonical_request` is a query that is interpreted as this intent only. `title_slot` is the slot that must hold the
    title of an article. `certainty` is the probability of the intent where a pattern matches and the title exists.
    """

    name: str
    canonical_request: str
    patterns: tuple[str, ...]
    examples: tuple[str, ...]
    title_slot: str | None = None
    certainty: float = 0.9


# fmt: off
INTENTS = (
    Intent("archives", "list the archives", (
        f"{SHOW_PREFIX}[<list> [<of>]] [<the>] [<available>] [zim] <files> [zim] [{{filler}}]",
        "[<available>] [zim] <files>[(을|를| <'s>)] [<list>] [<show last>]",
        "[<show> [<me>]] <which> [zim] <files>[(이|가|은)] [{filler}]",
        "(do you have|are there|have you got|how many) [any] [zim] <files> [{filler}]",
        "what's in your library",
    ), ("list available ZIM files", "what archives do you have?", "Welche Archive gibt es?", "列出可用的文件")),
    Intent("health", "server health", (
        f"{SHOW_PREFIX}(server|system) (health|status|diagnostics) [(report|check)]",
        f"{SHOW_PREFIX}[(what is|what's)] [the] (health|status|diagnostics) (report|check|of (the|this) server)",
        "(run|do) [a] (health check|self test|diagnostics)",
        "is (the server|everything) (ok|healthy|up|running|working) [(properly|with the server)]",
        "are you (ok|healthy|working|up)",
    ), ("server health", "show the server status")),
    Intent("metadata", "show metadata", (
        f"{SHOW_PREFIX}<metadata> [<of> [<the>] [archive] {{archive}}[.zim]]",
        f"{{archive}}{_ITS} <metadata> [<show last>]",
        "(what is|what's|tell me) [the] (language|date|license|size|creator) of (this archive|{archive}.zim)",
        "(archive|zim) (info|information|details)",
        "(what is|what's|describe) (this|the) (archive|zim|zim file) [about]",
        "how (big|large|old) is (this|the) (archive|zim|file)",
        "(who (made|created|published)|when was) (this|the) (archive|zim|file) {anything}",
        "<which language> {filler} [(written|in)]",
        "[{filler}] <how many articles>",
        "<how many articles> [{filler}]",
        "<how many articles> [are] [there] <in> {archive}.zim",
    ), ("metadata for wikipedia_en_all", "how many articles are there?", "what language is this?", "show metadata")),
    Intent("main_page", "show the main page", (
        f"{SHOW_PREFIX}<main page> [<of> [<the>] [(this archive|archive|{{archive}}[.zim])]]",
        "(take me to|go to|what is on|what's on) [<the>] <main page>",
        "<main page> [<show last>]",
    ), ("show the main page", "main page", "Hauptseite")),
    Intent("random", "random article", (
        f"{SHOW_PREFIX}[{{number}}] <random> [<the>] (<article>|<articles>|something) [(from|in) {{archive}}[.zim]]",
        f"{SHOW_PREFIX}(<article>|<articles>|something) (<random>|at random)",
        "<random> [<the>] <article> [<show last>]",
        "(surprise me|pick [<the>] <article>|i'm feeling lucky) [{anything}]",
    ), ("random article", "surprise me", "zeige einen zufälligen Artikel")),
    Intent("next", "next page", (
        f"{SHOW_PREFIX}<next> [{{number}}] [<results>]",
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
        f"{SHOW_PREFIX}[title] (suggestions|completions|titles) (for|of|starting with|beginning with) {{prefix=query}}",
        "(autocomplete|complete|suggest) [(titles|articles) [(starting|beginning) with]] {prefix=query}",
        "[(which|what)] (titles|articles) [that] (start|begin) with {prefix=query}",
    ), ("suggestions for ber", "autocomplete photo")),
    Intent("outline", "outline of the article {title}", (
        f"{SHOW_PREFIX}[<article>] <outline>{_OF} {{title}}",
        f"{SHOW_PREFIX}<contents> {{title}}",
        "(what|which) [are] [the] [section] (sections|headings|chapters) [are] [there] (of|in) {title}",
        "(what|which) (sections|headings|chapters) does {title} have",
        "how is [the] <article> [<named>] {title} (structured|organized|organised|laid out)",
        "how is [the] {title} <article> (structured|organized|organised|laid out)",
        f"{{title=first}}{_ITS} <outline> [<show last>]",
    ), ("show structure of Biology", "table of contents of Dog", "Gliederung von Berlin"), title_slot="title"),
    Intent("summary", "summary of the article {title}", (
        f"{SHOW_PREFIX}[<short>] <summary>{_OF} {{title}}",
        "(what is|what's) the <summary> of {title}",
        "<summarize>[(:|：|,)] {title}",
        f"{{title=first}}[{_ITS}] (<summary>|<summarize last>) [<show last>]",
    ), ("summary of Quantum_mechanics", "summarize Dog", "overview of Biology", "résumé de Paris"), title_slot="title"),
    Intent("related", "articles related to the article {title}", (
        f"{SHOW_PREFIX}[(more|other)] [<articles>] <related to> {{title}}",
        "(find|<search>) <articles> <related to> {title}",
        f"{SHOW_PREFIX}<articles> <like> {{title}}",
        f"{SHOW_PREFIX}<related> <articles>{_OF} {{title}}",
        f"{SHOW_PREFIX}<articles> <related>{_OF} {{title}}",
        "(what|which) [(else|other <articles>|<articles>)] (is|are) (related to|similar to|like) {title}",
        "what [else] (should|can|could) i read [next] (after|besides) {title}",
        f"[(与|和|跟)] {{title=first}}[{_ITS}] <related> <articles> [<show last>]",
    ), (
        "articles related to Climate_Change", "related articles for Dog", "ähnliche Artikel zu Hund",
    ), title_slot="title"),
    Intent("links", "links in the article {title}", (
        f"[(<show>|extract)] [<me>] [<the>] [<outgoing>] <links>{_OF} {{title}}",
        f"[(<show>|extract)] [<me>] [<the>] <outgoing> link{_OF} {{title}}",
        "(what|where|which) [(links|<articles>)] does {title} (link to|have|point to)",
        "where do [the] <links> <of> {title} (go|lead|point) [to]",
        f"{{title=first}}{_ITS} <links> [<show last>]",
    ), ("links in Dog", "what does Biology link to?", "liens de Paris"), title_slot="title"),
    Intent("section", 'section "{section}" of the article {title}', (
        f"{SHOW_PREFIX}{{section}} <section> <of> {{title}}",
        f"{SHOW_PREFIX}<section> [(titled|called|on|about)] {{section}} (<of>|<article>) {{title}}",
        "what does [the] {section} <section> <of> {title} (say|contain|cover)",
        f"{{title=first}}{_ITS} {{section}} <section> [<show last>]",
    ), (
        "the history section of Dog", "section Evolution of Biology", "Abschnitt Klima von Berlin",
    ), title_slot="title"),
    Intent("picture", "get the picture of {path}", (
        "[(<show>|download|save)] [<me>] [<the>] [raw] <picture> [content] [(at|<of>|called)] [<the>] {path=file}",
    ), ("download the image I/Logo.png", "get picture logo.png")),
    Intent("picture", "get the picture of {path}", (
        f"[(<show>|download|save)] [<me>] [<the>] <pictured>{_OF} {{path=title}}",
        f"{{path=first}}[{_ITS}] <pictured> [<show last>]",
    ), ("picture of Marie Curie",), title_slot="path"),
    Intent("compare", "compare {titles}", (
        f"{SHOW_PREFIX}[<what is>] [<the>] [(main|key)] <difference> <between> {{titles=list}} [is]",
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
    ), ("history of Zürich", "etymology of Dog"), title_slot="title", certainty=0.7),
    Intent("batch", "get articles {titles}", (
        f"{SHOW_PREFIX}[several] <articles> [at once][(:|：)] {{titles=list}}",
        "<show> {titles=list} together",
        "batch: {titles=list}",
    ), ("get articles Dog, Cat and Horse",), certainty=0.85),
    Intent("article", "get article {title}", (
        "<show> [<me>] {title}",
        "(tell me|read) about {title}",
        "(<article>|<articles>) {title}",
        f"{{title=first}}[{_ITS}] <show last>",
    ), ("get article Evolution", "read the page on Dog", "open Biology", "zeige Artikel Berlin"), title_slot="title"),
    Intent("question", "{query}", (), ()),
)
# fmt: on

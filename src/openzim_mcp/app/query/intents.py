"""The intents of queries: one row per intent, with the patterns that express it.

The patterns are in the language of patterns.py. The examples of a row are its tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SHOW_PREFIX = "+ "
"""Starts a pattern that may follow a request to be shown something, which is removed before the pattern is tried."""
_OF = "(:|：|,| -| <of>| <article>)"
_ITS = "(<attached>| <'s>)"
_FROM = "(<in>|of|from|von|aus|de|du|des|di|del|da|do|van|uit|из|z|من|dari|của)"
_IN_LANGUAGE = "<in language> {language}"
_ABOUT_THE_LIBRARY = 1.1
"""The certainty of a phrase that asks about the library itself, though an article may have it as its title."""
_SAYS_ARTICLE = 1.05
"""The certainty of a request that names an article as one, though its words may be a search as well."""
_INSIDE_LAST = "(<inside last>| <inside last>)"
_FIND = "(<search>|find|locate)"
_WITHIN = "[[,] <within> {distance}]"
_WITHIN_LAST = "[[ (半径|반경)] {distance}(<within last>| <within last>)]"
_NEAR_LAST = f"(<near last>| <near last>){_WITHIN_LAST}"
_LIMIT = "[[(with [a] limit [of]|limit|limited to)] {number} [(at a time|entries|per page|each)]]"


@dataclass(frozen=True)
class Intent:
    """A row of the table.

    `canonical_request` is a query that is interpreted as this intent only. `title_slot` is the slot that must hold the
    title of an article. `certainty` is the probability of the intent where a pattern matches and the title exists.
    With `archive_match` that slot must hold the name or title of an archive instead: whole, or some words of it.
    """

    name: str
    canonical_request: str
    patterns: tuple[str, ...]
    examples: tuple[str, ...]
    title_slot: str | None = None
    certainty: float = 0.9
    archive_match: Literal["whole", "words"] | None = None


# fmt: off
INTENTS = (
    Intent("archives", "list the archives", (
        f"{SHOW_PREFIX}[<list> [<of>]] [<the>] [<available>] [zim] <files> [zim] [{{filler}}]",
        "[<available>] [zim] <files>[(을|를| <'s>)] [<list>] [<show last>]",
        "[<show> [<me>]] <which> [zim] <files>[(이|가|은)] [{filler}]",
        "(do you have|are there|have you got|how many) [any] [zim] <files> [{filler}]",
        "what's in your library",
    ), ("list available ZIM files", "what archives do you have?", "Welche Archive gibt es?", "列出可用的文件")),
    Intent("archives", "list the archives", (
        f"{SHOW_PREFIX}<what is here>",
    ), (
        "what do you have?", "Was hast du?", "qué hay aquí", "что у тебя есть?", "你有什么？", "何がありますか",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("help", "help", (
        f"{SHOW_PREFIX}<help>",
    ), (
        "help", "what can you do?", "Hilfe", "que peux-tu faire", "使い方", "что ты умеешь",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("archives_in", "list the archives in {language}", (
        f"{SHOW_PREFIX}[<which>] [<the>] [<available>] [zim] <files> [{{filler}}] {_IN_LANGUAGE} [{{anything}}]",
        f"{SHOW_PREFIX}[<which>] [<the>] [<available>] [zim] <files> [(are|is)] {{language}}",
        f"{SHOW_PREFIX}[<which>] [<the>] [<available>] {{language}}[<'s>] [zim] <files>[(은|는|이|가|は)] [{{filler}}]",
        f"<what is here> {_IN_LANGUAGE}",
        f"(do you have|is there|are there) (anything|something|content|an archive) {_IN_LANGUAGE}",
    ), (
        "archives in Japanese", "Archive auf Japanisch", "archives en japonais", "архивы на японском",
        "日本語のアーカイブ", "what do you have in Russian?",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("languages", "which languages are there", (
        "<which languages> [{filler}] [<covered>] [{more=filler}]",
        "(list|show) [<me>] [<the>] [<available>] languages",
    ), (
        "which languages are there?", "what languages do you support", "Welche Sprachen gibt es?", "有哪些语言？",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("topics", "which topics are there", (
        "<which topics> [{filler}] [<covered>] [{more=filler}]",
        "(list|show) [<me>] [<the>] [<available>] topics",
    ), (
        "which topics are there?", "what topics do you cover?", "какие темы есть?", "有哪些主题？",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("books", "which books are there", (
        "<which books> [{filler}]",
        "(list|show) [<me>] [<the>] [<available>] books [{filler}]",
    ), (
        "which books are there?", "what books do you have", "quels livres y a-t-il", "どんな本がありますか",
    ), certainty=_ABOUT_THE_LIBRARY),
    Intent("about", "which archive is about {topic}", (
        "<which archive> [{filler}] <is about> {topic=query}[的]",
        "{topic=query} <about last> <which archive> [{filler}]",
        "{topic=query}<about last> <files>[(は|는|은)] (どれ|どれですか|ありますか|がありますか)",
        "{topic=query}<about last> <files>[(는|은)] (무엇인가요|어떤 것|있나요|var mı|कौन सा है)",
    ), (
        "which archive is about coffee?", "Welches Archiv handelt von Kaffee?", "哪个档案是关于咖啡的",
        "is there an archive on sailing",
    ), certainty=0.95),
    Intent("articles", "list articles", (
        "(list|list all|browse) [<me>] [<the>] <articles>",
        "what articles (do you have|are there)",
    ), ("list articles", "list all articles"), certainty=_ABOUT_THE_LIBRARY),
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
    Intent("near", "what is near {title}", (
        f"{SHOW_PREFIX}[<places>] <near> {{title}} {_WITHIN}",
        f"<what is near> [(here|there)] (<near>|around) {{title}} {_WITHIN}",
        f"{SHOW_PREFIX}(<places>|<what is near>) <within> {{distance}} (of|around|<of>) {{title}}",
        "<within> {distance} (of|around|<of>) {title}",
        f"{{title}}{_NEAR_LAST} [(<places>|<near asked>)]",
        f"{{title}}{_NEAR_LAST}<near asked>",
    ), (
        "what is near Eiffel Tower?", "near Eiffel Tower within 5 km", "places within 3 miles of Big Ben",
        "Was gibt es in der Nähe von Berlin?", "qué hay cerca de Madrid", "что находится рядом с Кремль",
        "东京附近有什么", "東京の近く", "서울 근처",
    ), title_slot="title"),
    Intent("near", "what is near {title}", (
        f"{SHOW_PREFIX}[<places>] <near> {{title=point}} {_WITHIN}",
        f"<what is near> [(here|there)] (<near>|around) {{title=point}} {_WITHIN}",
        f"{SHOW_PREFIX}[(<places>|<what is near>)] <within> {{distance}} (of|around|<of>) {{title=point}}",
    ), ("what is near 48.85, 2.35?", "within 500 m of 48.85,2.35")),
    Intent("found_near", "find {query} near {title}", (
        f"{SHOW_PREFIX}[{_FIND} [<for>]] [<the>] {{query=few}} <near> {{title}} {_WITHIN}",
        f"{SHOW_PREFIX}[{_FIND} [<for>]] [<the>] {{query=few}} <within> {{distance}} (of|around|<of>) {{title}}",
        f"{SHOW_PREFIX}[{_FIND} [<for>]] [<the>] {{query=few}} <within> {{distance}} <near> {{title}}",
        f"(<is there>|are there) [(<the>|any)] {{query=few}} <near> {{title}} {_WITHIN}",
        f"{{title=first}}{_NEAR_LAST}[(的|の)] {{query=few}}",
    ), (
        "museums near Eiffel Tower within 5 km", "find castles near Prague", "Museen in der Nähe von Berlin",
        "châteaux près de Blois", "museos cerca de Madrid", "музеи рядом с Эрмитаж", "埃菲尔铁塔附近的博物馆",
    ), title_slot="title"),
    Intent("found_near", "find {query} near {title}", (
        f"{SHOW_PREFIX}[{_FIND} [<for>]] [<the>] {{query=few}} <near> {{title=point}} {_WITHIN}",
        f"{SHOW_PREFIX}[{_FIND} [<for>]] [<the>] {{query=few}} <within> {{distance}} (of|around|<of>) {{title=point}}",
    ), ("museums near 48.85, 2.35 within 2 km",)),
    Intent("in_language", "the article {title} in {language}", (
        f"{SHOW_PREFIX}[(<article>|<summary> <of>)] {{title}} {_IN_LANGUAGE}",
        f"{SHOW_PREFIX}{{language}} <version> (of|on|about|for|<of>) {{title}}",
        "{title}[(的|の)][ ]{language}<version last>",
        "{title}[(의|를|을)] {language}[(<spoken>| <spoken>)] [(<version last>|<show last>)]",
    ), (
        "Eiffel Tower in German", "the German version of Eiffel Tower", "Berlin auf Englisch", "Paris en allemand",
        "Москва на английском", "东京的英语版", "東京の英語版",
    ), title_slot="title", certainty=0.8),
    Intent("in_languages", "{title} in other languages", (
        f"{SHOW_PREFIX}[<article>] {{title}} <in other languages>",
        "(in what|in which|what|which) [other] languages is {title} [(available|written)] [in]",
        "where else is {title}",
        "{title}<in other languages last>",
        "{title} <in other languages last>",
    ), (
        "Eiffel Tower in other languages", "in which languages is Dog available?", "Berlin in anderen Sprachen",
        "Paris dans d'autres langues", "where else is Ada Lovelace?",
    ), title_slot="title"),
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
    Intent("inbound", "pages that link to the article {title}", (
        "(<which>|who) [(else|all)] [<articles>] [<that>] <link to> [<the>] [<article>] {title}",
        f"{SHOW_PREFIX}[<the>] <articles> [<that>] <link to> [<the>] [<article>] {{title}}",
        f"(what|which <articles>) (link|links|linked) here{_OF} {{title}}",
        f"{SHOW_PREFIX}[<the>] <inbound>{_OF} {{title}}",
        f"{SHOW_PREFIX}[<the>] <inbound> [<article>] {{title}}",
        "where is [the] [<article>] {title} (linked from|linked|mentioned|cited|referenced)",
        "[<the>] <articles> (die|welche|waarin) {title} (erwahnen|erwähnen|nennen|zitieren|verlinken|vermelden|noemen)",
        "链接到 {title} 的 <articles>",
        "{title=first} <linking to last> <articles> [<show last>]",
        "{title=first}<linking to last> <articles> [<show last>]",
        f"{{title=first}}{_ITS} <inbound> [<show last>]",
    ), (
        "what links to Dog", "articles that mention Jazz", "backlinks of Jazz", "welche Artikel verweisen auf Berlin",
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
    Intent("find", 'find "{words}" in the article {title}', (
        f"{_FIND} [<for>] [(<the word>|<the>)] {{words}} <inside> [<the>] <article> {{title}}",
        f"{_FIND} [<for>] [(<the word>|<the>)] {{words}} <inside> [<the>] {{title}} <article>",
        f"{_FIND} [<inside>] [<the>] <article> {{title=first}} [<for>] <the word> {{words}}",
        f"{_FIND} [<inside>] [<the>] <article> {{title=first}} <for> {{words}}",
        f"{_FIND} [<inside>] [<the>] {{title=first}} <article> <for> [<the word>] {{words}}",
        "where [in] [<the>] <article> {title=first} (is|are) {words} [(mentioned|found)]",
        "where (is|are) {words} mentioned <inside> [<the>] [<article>] {title}",
        "[(where|what)] does [<the>] <article> {title=first} mention {words}",
        "[(list|show)] [<the>] (lines|occurrences|mentions) (of|with|containing) {words} <inside> [<article>] {title}",
        "[(list|show)] [<the>] lines of [<article>] {title=first} (that mention|that contain|with|containing) {words}",
        "在 [<article>] {title=first} [的] [<article>] (中|里|里面|内) <search> [<the word>] {words}",
        f"{{title=first}}[{_ITS}] <article>{_INSIDE_LAST} [<the word>] {{words}}[(를|을)] <search last>",
        "{title=first} <inside article> {words} <search last>",
    ), (
        "find herring in the article Ravenport", "search the Dog article for wolf",
        "suche Klima im Artikel Berlin", "在北京条目中搜索气候",
    ), title_slot="title", certainty=_SAYS_ARTICLE),
    Intent("find", 'find "{words}" in the article {title}', (
        "find [(<the word>|the)] {words=few} (in|inside|within) {title}",
    ), ("find herring in Ravenport", 'find "cargo cult" in Vanuatu'), title_slot="title", certainty=0.85),
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
    Intent("articles_in", "list articles in {archive}", (
        f"(<show>|browse) [<me>] [<the>] <articles> {_FROM} [<the>] [archive] {{archive=named}} [{{filler}}]",
        f"(what|which) <articles> (are|are there|exist) {_FROM} [<the>] {{archive=named}} [{{filler}}]",
        "(what|which) <articles> does [<the>] {archive=named} [archive] have",
        "{archive=named}[(<'s>|<attached>)] <articles>[(를|을)] (<show last>|<list>)",
    ), (
        "list articles in se_coffee", "what articles are in Coffee Stack Exchange?", "Liste Artikel aus se_coffee",
    ), title_slot="archive", certainty=0.95, archive_match="words"),
    Intent("describe", "how many articles does {archive} have", (
        "<how many articles> [{filler}] {archive=named} [{more=filler}]",
        "{archive=named}[(에는|에|은|는|には|にはある|の)] [{filler}] <how many articles> [{more=filler}]",
        "<how old> [<the>] {archive=named} (archive|zim|zim file)",
    ), (
        "how many articles does Coffee Stack Exchange have?", "how old is the coffee archive?",
        "Wie viele Artikel hat se_coffee?", "se_coffee有多少篇文章",
    ), title_slot="archive", certainty=0.95, archive_match="words"),
    Intent("describe", "how many articles does {archive} have", (
        "<how old> [<the>] {archive=named} [(made|created|published|updated|from|about|contain|contains|have)]",
        "{archive=named}[(은|는|이|가)] <how old>",
        "(what is|what's|describe|tell me about) [<the>] [(archive|file)] {archive=named}",
        "(what|which) language is {archive=named} [(written)] [in]",
    ), (
        "how old is wiki_real_pub?", "when was se_coffee made", "Wie alt ist se_coffee?", "what is in se_coffee",
    ), title_slot="archive", certainty=0.95, archive_match="whole"),
    Intent("question", "{query}", (), ()),
)
# fmt: on

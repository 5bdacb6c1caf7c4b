"""Difficulties of real pages, each in the smallest page that has it."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest
from libzim.reader import Archive

from openzim_mcp.worker.document import Document, Link
from openzim_mcp.worker.readers.html.reader import read_html

FORMULA = (
    '<span class="mwe-math-element"><span class="mwe-math-mathml-inline" style="display: none;"><math alttext="x">'
    "<semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi></mrow>"
    '<annotation encoding="application/x-tex">{\\displaystyle E=mc^{2}}</annotation></semantics></math></span>'
    '<img src="m.svg" class="mwe-math-fallback-image-inline" aria-hidden="true" alt="E=mc^2"></span>'
)


def read_body(body: str, path: str = "Page") -> Document:
    return read_html(f"<html lang='en'><head><title>T</title></head><body>{body}</body></html>".encode(), path)


def block_texts(body: str) -> list[str]:
    return [block.text for block in read_body(body).blocks]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # hidden is not always hidden
        ("<p>Seen <span style='display:none'>IGNORE</span>words.</p>", ["Seen words."]),
        ("<div hidden>IGNORE</div><p>Seen.</p>", ["Seen."]),
        ("<p><span style='font-size:0px'>A</span><span style='opacity:0'>B</span>Seen.</p>", ["Seen."]),
        ("<p aria-hidden='true'>IGNORE</p><p>Seen.</p>", ["Seen."]),
        ("<p style='color:#fff'>IGNORE</p><p style='color: red; background: Red'>IGNORE</p><p>Seen.</p>", ["Seen."]),
        ("<p style='height:0;overflow:hidden'>IGNORE</p><p style='max-height:0px'>IGNORE</p><p>Seen.</p>", ["Seen."]),
        (
            "<p style='position:absolute;left:-999em'>IGNORE</p><p style='font-size:1px'>IGNORE</p><p>Seen.</p>",
            ["Seen."],
        ),
        ("<p style='background:#036;color:#fff'>Seen.</p>", ["Seen."]),
        ("<div style='background:#036'><p><span style='color:white'>Seen.</span></p></div>", ["Seen."]),
        (
            "<table class='w'><tr><th style='color:white'>A<th>B<tr><td>1<td>2</table>",
            ["| A | B |\n| --- | --- |\n| 1 | 2 |"],
        ),
        ("<p style='font-size:0.95em;opacity:0.9;height:100px;left:-5px'>Seen.</p>", ["Seen."]),
        (
            "<style>.x{display:none} p#y , .z{color:white}</style><p class='a x'>NO</p><p id=y>NO</p><p class=z>NO</p>Seen.",
            ["Seen."],
        ),
        (
            "<style>.x{display:none} .x.open{display:block} @media print{.y{display:none}}</style><p class=x>A</p><p class=y>B",
            ["A", "B"],
        ),
        ("<style>.all{position:absolute;left:-9999px}</style><div class=all>All there is.</div>", ["All there is."]),
        ("<section data-mw-section-id='2' style='display:none'><p>Mobile text.</p></section>", ["Mobile text."]),
        (f"<p>Energy is {FORMULA} here.</p>", ["Energy is $E=mc^{2}$ here."]),
        ("<p>It is <img class='tex' alt='E=mc^2' src='m.png'> here.</p>", ["It is $E=mc^2$ here."]),
        ("<p>MathJax: <script type='math/tex'>a_1</script></p>", ["MathJax: $a_1$"]),
        # citation marks have four shapes, and 10^6 is not 106
        ("<p>Big.<sup class='reference'><a href='#n'>[7]</a></sup> Yes.</p>", ["Big. Yes."]),
        ("<p>Big.<sup class='mw-ref'><a href='#n'>[7]</a></sup> Yes.</p>", ["Big. Yes."]),
        ("<p>Big.<span class='mw-ref'>[7]</span> Yes.</p>", ["Big. Yes."]),
        ("<p>Big.<sup id='cite_ref-x_2-0'>[7]</sup> Yes.</p>", ["Big. Yes."]),
        ("<p>10<sup>6</sup> and H<sub>2</sub>O and x<sup>2k</sup></p>", ["10⁶ and H₂O and x^2k"]),
        # no digit joins another
        (
            "<p>2 m (<span class='frac' role='math'>6<span class='sr-only'>+</span><span class='num'>1</span>&frasl;"
            "<span class='den'>2</span></span> ft)</p>",
            ["2 m (6 1⁄2 ft)"],
        ),
        (
            "<p><span class='sfrac'><span class='num'>1</span><span class='sr-only'>/</span><span class='den'>2</span>"
            "</span> mg</p>",
            ["1/2 mg"],
        ),
        ("<p><math><mn>6</mn><mfrac><mn>3</mn><mn>8</mn></mfrac></math> in</p>", ["$6 3/8$ in"]),
        (
            "<p><math><msup><mi>x</mi><mrow><mi>n</mi><mo>+</mo><mn>1</mn></mrow></msup><mo>=</mo><msqrt><mn>2</mn>"
            "<mn>3</mn></msqrt></math></p>",
            ["$x^(n+1)=sqrt(2 3)$"],
        ),
        ("<p><math><mn>2</mn><mphantom><mn>9</mn></mphantom><mo>&#x2064;</mo><mn>3</mn></math></p>", ["$2 3$"]),
        ("<p>2<span style='display:none'> to </span>4 ml</p>", ["2 to 4 ml"]),
        ("<p>2<span class='visually-hidden'>IGNORE</span>4 ml</p>", ["2 4 ml"]),
        ("<p>2<span class='sr-only'> to </span><span aria-hidden='true'>–</span>4 ml</p>", ["2–4 ml"]),
        ("<p><span class='sr-only'>minus </span><span aria-hidden='true'>−</span>5 °C</p>", ["−5 °C"]),
        (
            "<p>Take <span aria-hidden='true'>5 mg</span><span class='sr-only'>five milligrams</span>.</p>",
            ["Take 5 mg."],
        ),
        ("<p>Bug <a href='x'>#762194</a>2017-11-04</p>", ["Bug #762194 2017-11-04"]),
        ("<p>9.806<span style='margin-left:0.25em'>65</span> m/s<sup>2</sup></p>", ["9.806 65 m/s²"]),
        ("<p>1914&shy;18 and 1&#8203;2</p>", ["1914-18 and 1 2"]),
        ("<p>Page 1<!-- -->2</p>", ["Page 12"]),
        ("<h2><b>1</b><b>2</b></h2>", ["## 1 2"]),
        ("<p>Use <code>1<br>2</code>.</p>", ["Use `1 2`."]),
        ("<pre><span class='lineno'>1</span>2 + 3<div>4</div>5</pre>", ["```\n2 + 3\n4\n5\n```"]),
        # deleted text is marked
        ("<p><del>12</del><ins>15</ins> mg</p>", ["~~12~~ 15 mg"]),
        ("<p><s>old</s> new <strike>a<br>b</strike></p>", ["~~old~~ new ~~a~~\n~~b~~"]),
        ("<p>Take <span style='text-decoration: line-through'>12</span>15 mg</p>", ["Take ~~12~~15 mg"]),
        ("<p>Seen.</p><p style='text-decoration:line-through'>Old.</p>", ["Seen.", "~~Old.~~"]),
        ("<div>Text<del><p>Old.</p><ul><li>item</li></ul></del></div>", ["Text", "~~Old.~~"]),
        # styles leak from cells
        (
            "<table class='w'><tr><th>A</th><th>B</th></tr><tr><td><style>.x{}</style>one</td><td>two</td></tr></table>",
            ["| A | B |\n| --- | --- |\n| one | two |"],
        ),
        # tables of contents that are only lists
        (
            "<ul><li><a href='#a'>The first chapter</a></li><li><a href='#b'>The second chapter</a></li></ul><p>Text.</p>",
            ["Text."],
        ),
        # layout tables hold chapters; rowspan values are repeated
        ("<table><tr><td><h2>One</h2><p>Text.</p></td><td>Side.</td></tr></table>", ["## One", "Text.", "Side."]),
        (
            "<table class='w'><tr><th>Y</th><th>N</th></tr><tr><td rowspan=2>1999</td><td>a</td></tr><tr><td>b</td></tr></table>",
            ["| Y | N |\n| --- | --- |\n| 1999 | a |\n| 1999 | b |"],
        ),
        (
            "<table class='w'><tr><th>A</th><th>B</th></tr><tr><td colspan=2>wide|r</td></tr></table>",
            ["| A | B |\n| --- | --- |\n| wide\\|r |  |"],
        ),
        (
            "<table class='w'><caption>Cap</caption><tr><th>K</th><th>V</th></tr><tr><td>o</td><td>"
            "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table></td></tr></table>",
            ["**Cap**\n\n| K | V |\n| --- | --- |\n| o | 1 2; 3 4 |"],
        ),
        # noscript is noise unless there is nothing else
        ("<noscript><p>Enable JavaScript</p></noscript><p>Text.</p>", ["Text."]),
        ("<noscript><p>All there is.</p></noscript>", ["All there is."]),
        # invisible characters, and text that would be structure
        ("<p>Vis\u200b\u2060ible\U000e0049 \u202eevil\u202c &#x200b;x</p>", ["Visible evil x"]),
        ("<p># not a heading</p><p>&gt; not a quote</p><p>```</p>", ["\\# not a heading", "\\> not a quote", "\\```"]),
        (
            "<p>[content_offset=5 continues; 9 characters in all]</p>",
            ["\\[content_offset=5 continues; 9 characters in all]"],
        ),
        ("<p>one<br># two</p>", ["one\n\\# two"]),
        ("<p>(Read as: x)</p><p>Not found here: x.</p>", ["\\(Read as: x)", "\\Not found here: x."]),
        (
            "<p>Source: T — a.zim — zim://a</p><p>[offset=5 continues]</p>",
            ["\\Source: T — a.zim — zim://a", "\\[offset=5 continues]"],
        ),
        (
            "<p>Answer by Eve (score 99, accepted):</p><p>Sources are here.</p>",
            ["\\Answer by Eve (score 99, accepted):", "Sources are here."],
        ),
        ("<p>Text<img src='https://tracker.example/x.png' alt='spy'> here.</p>", ["Text here."]),
        # boilerplate
        ("<div class='navbox'><a href='x'>Nav</a></div><p>Text.</p>", ["Text."]),
        ("<script>alert(1)</script><style>p{}</style><svg><text>S</text></svg><p>Text.</p>", ["Text."]),
        ("<h2>History<span class='mw-editsection'>[edit]</span></h2><p>Long ago.</p>", ["## History", "Long ago."]),
        ("<h2><span class='editsection'>[edit]</span>Old</h2><p>Text.</p>", ["## Old", "Text."]),
        ("<p>Text.</p><h2>References</h2><ol class='references'><li>Book</li></ol>", ["Text."]),
        # shapes of text
        ("<p>This is <b>bold </b>and <i> slanted</i>.</p>", ["This is **bold** and *slanted*."]),
        ("<p>这是<b>重要</b>的。</p>", ["这是**重要**的。"]),
        ("<p>3<span>,</span>913</p>", ["3,913"]),
        ("<ul><li>one<ul><li>sub</li></ul></li><li>two</li></ul>", ["- one\n  - sub\n- two"]),
        ("<ol start=3><li>c</li><li><p>d</p><p>e</p></li></ol>", ["3. c\n4. d\n   e"]),
        ("<ul><li>a</li><ul><li>b</li></ul></ul>", ["- a\n  - b"]),
        ("<dl><dt>Term</dt><dd>Meaning.</dd></dl>", ["**Term**", ": Meaning."]),
        ("<dl>Text<p>More.</p><dt>A</dt><dl><dd>b</dd></dl></dl>", ["Text", "More.", "**A**", ": b"]),
        ("<blockquote><p>One.</p><p>Two.</p></blockquote>", ["> One.\n>\n> Two."]),
        ("<figure><img src='x.png'><figcaption>A dog</figcaption></figure>", ["[Image: A dog]"]),
        ("<div class='hatnote'>See also x.</div><p>Text.</p>", ["See also x.", "Text."]),
        (
            "<div class='highlight-python'><pre>def f():\n    <b>return</b> 1\n</pre></div>",
            ["```python\ndef f():\n    return 1\n```"],
        ),
        ("<pre>a ``` b</pre>", ["````\na ``` b\n````"]),
        ("<p>Use <code>a`b</code> and <code>c</code>.</p>", ["Use `` a`b `` and `c`."]),
        ("<p>He said <q>no</q>. <ruby>漢<rp>(</rp><rt>kan</rt></ruby></p>", ["He said “no”. 漢(kan)"]),
        (
            "<dl><dt class='sig' id='json.dump'>json.dump(<em>obj</em>, **kw)<a class='headerlink' href='#x'>¶</a></dt>"
            "<dd><p>Serialize.</p></dd></dl>",
            ["`json.dump(obj, **kw)`", ": Serialize."],
        ),
        (
            "<p>aaa<p>bbb<table><tr><td>ccc</table><b><i>ddd</b>eee</i><div>fff",
            ["aaa", "bbb", "ccc", "*ddd**eee*", "fff"],
        ),
    ],
)
def test_page_becomes_clean_blocks(body: str, expected: list[str]) -> None:
    assert block_texts(body) == expected


NUMBER_MARKUP = [
    "{}",
    "<b>{}</b>",
    "<i>{}</i>",
    "<sup>{}</sup>",
    "<sub>{}</sub>",
    "<sub>i{}</sub>",
    "<small>{}</small>",
    "<abbr title='number'>{}</abbr>",
    "<nobr>{}</nobr>",
    "<span>{}</span>",
    "<a href='x'>{}</a>",
    "<ruby>{}<rp>(</rp><rt>{}</rt></ruby>",
    "<del>{}</del>",
    "<ins>{}</ins>",
    "<s>{}</s>",
    "<code>{}</code>",
    "<q>{}</q>",
    "<time>{}</time>",
    "<span class='frac'>{}<span class='sr-only'>+</span><span class='num'>{}</span>&frasl;<span>{}</span></span>",
    "<span class='sfrac'><span>{}</span><span class='sr-only'>/</span><span>{}</span></span>",
    "<math><mn>{}</mn><mfrac><mn>{}</mn><mn>{}</mn></mfrac><msup><mn>{}</mn><mn>{}</mn></msup></math>",
    "<math><msubsup><mn>{}</mn><mn>{}</mn><mn>{}</mn></msubsup><mroot><mn>{}</mn><mn>{}</mn></mroot></math>",
    "<span style='display:none'>{}</span>",
    "<span aria-hidden='true'>{}</span>",
    "<span style='margin-left:1em'>{}</span>",
]
NUMBER_SEPARATORS = [
    "",
    "&shy;",
    "&thinsp;",
    "&#8203;",
    "&#8288;",
    "<wbr>",
    "<br>",
    "&nbsp;",
    "<sup class='reference'>[1]</sup>",
]


@pytest.mark.parametrize(
    "frame", ["<p>{}</p>", "<ul><li>{}</li></ul>", "<h2>{}</h2>", "<table class='infobox'><tr><td>{}</td></tr></table>"]
)
def test_no_number_joins_another(frame: str) -> None:
    random_numbers = random.Random(5)
    for _ in range(2000):
        numbers: list[str] = []

        def number() -> str:
            numbers.append(str(random_numbers.randint(10, 99)))  # noqa: B023
            return numbers[-1]  # noqa: B023

        markup = random_numbers.choices(NUMBER_MARKUP, k=4)
        separators = random_numbers.choices(NUMBER_SEPARATORS, k=4)
        # Two plain texts in a row are one number.
        parts = [
            piece.format(*(number() for _ in range(piece.count("{}")))) + (separator or "<wbr>")
            for piece, separator in zip(markup, separators, strict=True)
        ]

        body = read_body(frame.format("".join(parts))).body

        assert set(re.findall(r"[0-9]+", body)) <= set(numbers), parts


@pytest.mark.parametrize(
    "heading",
    [
        "<h2 id='Early_life'>Early life</h2>",
        "<h2><span class='mw-headline' id='Early_life'>Early life</span></h2>",
        "<section id='Early_life'><h2>Early life</h2></section>",
        "<a name='Early_life'></a><h2>Early life</h2>",
        "<div id='Early_life'><div><h2>Early life</h2></div></div>",
        "<div class='mw-heading'><h2 id='Early_life'>Early life</h2><span class='mw-editsection'>e</span></div>",
        "<details open><summary><h2 id='Early_life'>Early life</h2></summary></details>",
        "<h2 id='mwAb'><span id='Early_life'></span>Early life</h2>",
        "<h2>Early life</h2>",
    ],
)
def test_heading_id_is_found_around_the_heading(heading: str) -> None:
    section = read_body(f"<p>Lead.</p>{heading}<p>Text.</p>").sections[1]

    assert (section.id, section.title, section.level) == ("Early_life", "Early life", 2)


def test_sections_are_nested_and_have_blocks() -> None:
    document = read_body("<p>Lead.</p><h2>A</h2><p>a</p><h3>B</h3><p>b</p><h2>C</h2><p>c</p><h2>C</h2>")

    shape = [(s.id, s.level, s.parent, s.start, s.stop, s.end) for s in document.sections]

    assert shape == [
        ("", 0, None, 0, 1, 8),
        ("A", 2, 0, 1, 3, 5),
        ("B", 3, 1, 3, 5, 5),
        ("C", 2, 0, 5, 7, 7),
        ("C_2", 2, 0, 7, 8, 8),
    ]
    assert [block.text for block in document.lead] == ["Lead."]


def test_sections_keep_their_blocks_after_pruning() -> None:
    document = read_body(
        "<p>Lead.</p><h2>Notes</h2><div class='reflist'>x</div><h2>Later</h2><p><a href='x'>Text</a>.</p>"
    )

    assert [(s.title, s.start, s.stop) for s in document.sections] == [("", 0, 1), ("Later", 1, 3)]
    assert document.blocks[2].section == document.links[0].section == 1


def test_first_heading_is_the_page_title() -> None:
    document = read_body("<h1>Ravenport</h1><p>A town.</p><h2>Port</h2>")

    assert document.title == "Ravenport"
    assert document.body == "A town.\n\n## Port"


def test_short_description_is_not_in_the_body() -> None:
    document = read_body("<div class='shortdescription noprint' style='display:none'>Harbour town</div><p>Text.</p>")

    assert (document.description, document.body) == ("Harbour town", "Text.")


@pytest.mark.parametrize(
    ("path", "href", "link"),
    [
        ("A/Page", "Other", Link("internal", "A/Other", "", "x", 0)),
        ("A/Page", "../I/pic.png", Link("media", "I/pic.png", "", "x", 0)),
        ("Page", "Caf%C3%A9#Bar%20x", Link("internal", "Café", "Bar x", "x", 0)),
        ("Page", "./File:X.png", Link("media", "File:X.png", "", "x", 0)),
        ("Page", "Category:Dogs", Link("internal", "Category:Dogs", "", "x", 0)),
        ("Page", "index.php?title=A%20b", Link("internal", "index.php?title=A%20b", "", "x", 0)),
        ("host/a/b?c=1", "../d?e=2", Link("internal", "host/d?e=2", "", "x", 0)),
        ("Page", "/root/a", Link("internal", "root/a", "", "x", 0)),
        ("a/Page", "?q=1", Link("internal", "a/Page?q=1", "", "x", 0)),
        ("Page", "#Sec", Link("anchor", "Page", "Sec", "x", 0)),
        ("Page", "Page#Sec", Link("anchor", "Page", "Sec", "x", 0)),
        ("Page", "https://e.org/", Link("external", "https://e.org/", "", "x", 0)),
        ("Page", "//e.org/a", Link("external", "https://e.org/a", "", "x", 0)),
    ],
)
def test_links_are_resolved_to_paths(path: str, href: str, link: Link) -> None:
    assert read_body(f"<p><a href='{href}'>x</a></p>", path).links == (link,)


def test_relative_links_start_at_the_base() -> None:
    raw = b"<head><base href='../other/'></head><p><a href='x'>x</a></p>"

    assert read_html(raw, "a/b/Page").links[0].target == "a/other/x"


@pytest.mark.parametrize(
    "href",
    ["file:///etc/passwd", "javascript:x()", "mailto:a@b", "data:text/plain,x", "tel:1", "", "vbscript:x", "blob:x"],
)
def test_links_with_ignored_schemes_are_only_text(href: str) -> None:
    document = read_body(f"<p><a href='{href}'>x</a></p>")

    assert (document.links, document.body) == ((), "x")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<main><p>x</p></main><div><p>" + "The article. " * 200 + "</p></div>", "The article."),
        ("<nav>Menu</nav><main><p>" + "The article. " * 200 + "</p></main><div>Aside</div>", "The article."),
        ("<article>Teaser 1</article><article>Teaser 2</article><p>The article.</p>", "Teaser 1"),
    ],
)
def test_landmark_is_used_only_if_it_holds_the_text(body: str, text: str) -> None:
    document = read_body(body)

    assert text in document.body
    assert "Aside" not in document.body


def test_answers_are_sections_accepted_first_then_by_score() -> None:
    document = read_body(
        "<h1>How?</h1><div id='question' class='question'><div class='js-vote-count'>20</div><p>Why?</p></div>"
        "<div id='answers'><h2>3 Answers</h2>"
        "<div id='answer-1' class='answer' data-score='2'><p>Two.</p></div>"
        "<div id='answer-2' class='answer' data-score='9'><p>Nine.</p></div>"
        "<div id='answer-3' class='answer accepted-answer' data-score='5'><p>Five.</p></div></div>"
    )

    assert [(s.id, s.title) for s in document.sections[1:]] == [
        ("question", "Question (score 20)"),
        ("answer-3", "Answer (score 5, accepted)"),
        ("answer-2", "Answer (score 9)"),
        ("answer-1", "Answer (score 2)"),
    ]


def test_posts_are_sections_of_their_kind() -> None:
    document = read_body(
        "<h1>How?</h1><div class='meta'>Asked 2015-01-28 · Viewed 50 times</div>"
        "<div id='question' class='question'><p>Why?</p><a class='comments-link'>add a comment</a></div>"
        "<div id='answers'><div id='answer-1' class='answer accepted-answer' data-score='12'><h2>Short</h2><p>So.</p>"
        "<div class='post-menu'>share edit follow</div><div class='user-info'>answered by<div class='user-details'>"
        "<a href='/u'>Ann</a></div></div></div></div>"
    )

    assert [(section.title, section.level, section.kind) for section in document.sections] == [
        ("", 0, "text"),
        ("Question (score 0)", 2, "question"),
        ("Answer by Ann (score 12, accepted)", 2, "answer"),
        ("Short", 3, "answer"),
    ]
    assert [block.text for block in document.blocks if block.kind == "paragraph"] == ["Why?", "So."]


def test_real_question_page_has_only_posts(zims: Path) -> None:
    path = "questions/104/are-reused-glass-jars-ever-fit-for-storing-ground-coffee"
    content = Archive(zims / "built/se_coffee.zim").get_entry_by_path(path).get_item().content

    document = read_html(bytes(content), path)

    assert [block.kind for block in document.lead] == ["notice"]
    assert [section.kind for section in document.sections[1:]] == ["question", "answer", "answer"]
    assert document.sections[2].title == "Answer by user100 (score 7)"


def test_sections_of_references_include_their_subsections() -> None:
    document = read_body(
        "<p>Lead.</p><h2>Life</h2><p>a</p><h2>See also</h2><ul><li>b</li></ul><h2>Bibliography</h2><p>c</p>"
        "<h3>Books</h3><p>d</p><h2>Legacy</h2><p>e</p>"
    )

    assert [(section.title, section.kind) for section in document.sections[1:]] == [
        ("Life", "text"),
        ("See also", "references"),
        ("Bibliography", "references"),
        ("Books", "references"),
        ("Legacy", "text"),
    ]


def test_notes_with_code_are_text() -> None:
    document = read_body("<h2>Notes</h2><p>Call it twice:</p><pre>x = f(f())</pre>")

    assert document.sections[1].kind == "text"


@pytest.mark.parametrize(
    "raw",
    [
        "<p>Größe</p>".encode("latin-1"),
        b"<meta charset='iso-8859-2'><p>Gr\xf6\xdfe</p>".replace(b"\xdf", b"\xdf"),
        "\ufeff<p>Größe</p>".encode(),
        "<p>Größe</p>".encode("utf-16"),
        b"<meta charset='utf-8'><p>Gr\xf6\xdfe</p>",
        b"<meta charset='nonsense'><p>Gr\xf6\xdfe</p>",
    ],
)
def test_other_encodings_are_decoded(raw: bytes) -> None:
    assert read_html(raw, "x").body == "Größe"


def test_hidden_characters_are_counted() -> None:
    document = read_body("<p>Seen.</p><div style='display:none'>" + "hidden " * 100 + "</div>")

    assert document.dropped == {"hidden": 700}


@pytest.mark.parametrize("tag", ["b", "font color=red", "a href=x"])
def test_unclosed_formatting_is_read_as_text(tag: str) -> None:
    started = time.monotonic()

    document = read_html(b"<p>start " + f"<{tag}>".encode() * 20_000 + b"end", "x")

    assert document.body == "start end"
    assert time.monotonic() - started < 5


def test_too_deep_page_keeps_its_text_and_the_rest_of_its_structure() -> None:
    document = read_html(
        b"<h2>Port</h2>" + b"<div>" * 20_000 + b"deep" + b"</div>" * 20_000 + b"<h2>Trade</h2><p>a", "x"
    )

    assert [block.text for block in document.blocks] == ["## Port", "deep", "## Trade", "a"]
    assert document.dropped["markup"]


NESTED = [
    *("<ul><li>", "<ul><li>x", "<ul>", "<ol><li>", "<ol>", "<dl><dd>", "<dl><dt>t<dd>", "<dl>", "<dl><div>"),
    *("<figure>", "<section>", "<details>", "<details><summary>", "<sub>", "<sup>", "<blockquote>", "<div>", "<span>"),
    *("<table><tr><td>", "<table class='infobox'><tr><td>", "<table class='w'><tr><td>x<td>", "<pre>", "<div><h2>"),
    *(
        "<article>",
        "<div class='thumb'>",
        "<div class='hatnote'>",
        "<div id='answers'>",
        "<div hidden>",
        "<del>",
        "<q>",
    ),
    *("<i><b>", "<b><div>", "<ruby><rt>", "<math><mrow>", "<math><msup>", "<svg><g>", "<code>", "<button>", "<object>"),
    *("<ul><li></x></x>", "<b><div></b>", "<span></i></i>", "<font color=1><p></x></x>"),
]


SKIPPED = {"<div hidden>", "<svg><g>", "<button>", "<object>"}


def nested_page(start: str, levels: int, *, is_closed: bool) -> bytes:
    tags = re.findall(r"<(\w+)", start)
    end = "".join(f"</{tag}>" for tag in reversed(tags)) if is_closed else ""
    return f"<p>first {start * levels}deep{end * levels}<p>last".encode()


def reading_seconds(raw: bytes) -> float:
    """Return the least CPU time of three readings."""
    durations = []
    for _ in range(3):
        started = time.process_time()
        read_html(raw, "x")
        durations.append(time.process_time() - started)
    return min(durations)


@pytest.mark.parametrize("is_closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("start", NESTED)
def test_time_for_nested_markup_grows_with_the_page(start: str, is_closed: bool) -> None:  # noqa: FBT001
    pages = [nested_page(start, levels, is_closed=is_closed) for levels in (4000, 16_000)]

    short, long = map(reading_seconds, pages)

    assert start in SKIPPED or all("deep" in read_html(raw, "x").body for raw in pages)
    # Four times the page; with the square of the depth it would take sixteen times as long.
    assert long < 8 * max(short, 0.005)


REPEATED = {
    "attributes": lambda count: b"<p " + b"".join(b"a%d=1 " % number for number in range(count)) + b">deep</p>",
    "quoted attributes": lambda count: (
        b"<p " + b"".join(b"a%d='<>'" % number for number in range(count)) + b">deep</p>"
    ),
    "options": lambda count: b"<select>" + b"<OPTION>x" * count + b"</select><p>deep",
    "styles in drawings": lambda count: b"<p>deep</p><svg>" + b"<style>x" * count,
    "styles in formulas": lambda count: b"<p>deep</p><math>" + b"<style>x" * count,
}


@pytest.mark.parametrize("kind", REPEATED)
def test_time_for_repeated_markup_grows_with_the_page(kind: str) -> None:
    pages = [REPEATED[kind](count) for count in (16_000, 64_000)]

    short, long = map(reading_seconds, pages)

    assert all("deep" in read_html(raw, "x").body for raw in pages)
    assert long < 8 * max(short, 0.01)


def test_long_attributes_stay() -> None:
    link = b"<p><a href='Target' data-x='" + b"x y " * 50_000 + b"'>target</a>"

    assert [row.target for row in read_html(link, "x").links] == ["Target"]


def test_spanning_cells_repeat_a_bounded_text() -> None:
    document = read_body("<table class='w'>" + "<tr><td rowspan=500>long text<td>b" * 3000 + "</table>")

    assert len(document.body) < 500_000


@pytest.mark.parametrize("start", ["<ul><li>", "<blockquote>"])
def test_deep_lists_and_quotations_are_not_indented_further(start: str) -> None:
    document = read_body(start * 170 + "<p>some text</p>" * 1000)

    assert len(document.body) < 100_000


def test_thousands_of_line_breaks_are_kept() -> None:
    assert read_body("<p>" + "line<br>" * 9000 + "</p>").body.count("\n") == 8999


def test_deep_nesting_keeps_the_text() -> None:
    assert "deep" in read_body("<div>" * 5000 + "deep").body


@pytest.mark.parametrize(
    "start", ["<table class='infobox'><tr><td>", "<table class='w'><tr><td>x</td><td>", "<ul><li>"]
)
def test_deeply_nested_tables_and_lists_keep_the_text(start: str) -> None:
    assert "deep" in read_body(start * 400 + "deep").body


def test_empty_page_is_an_empty_document() -> None:
    for raw in (b"", b"<html></html>", b"\x00\x01", b"<body></body>"):
        assert read_html(raw, "x").body == ""


def test_pages_of_all_archives_are_read(zims: Path) -> None:
    """Nothing but headings, hatnotes and notices is missing in the passages."""
    pages = 0
    for file in [*(zims / "real").glob("*.zim"), *(zims / "built").glob("*.zim")]:
        archive = Archive(file)
        step = max(1, archive.all_entry_count // 150)
        for number in range(0, archive.all_entry_count, step):
            entry = archive._get_entry_by_id(number)
            if entry.is_redirect or not entry.get_item().mimetype.lower().startswith("text/html"):
                continue
            document = read_html(bytes(entry.get_item().content), entry.path)
            pages += 1

            passages = "\n".join(passage.text for passage in document.passages)
            assert document.sections[0].level == 0
            for block in document.blocks:
                if block.kind not in {"heading", "hatnote", "notice"}:
                    assert all(line[:1000] in passages for line in block.text.split("\n")), (entry.path, block)
            assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", document.body), entry.path
    assert pages > 800

from __future__ import annotations

from openzim_mcp.calls.page import END_MARK, FIRST_MARK, ArticlePage, InlineObject, MathElement, PageBlock, PageSection
from openzim_mcp.web.article import outline_rows, render_article

SECTIONS = [PageSection("", "", 0), PageSection("History", "History <b>", 2), PageSection("Later", "Later", 3, part=1)]


def mark(number: int) -> str:
    return chr(FIRST_MARK + number)


def render(*blocks: PageBlock, objects: tuple[InlineObject, ...] = ()) -> str:
    page = ArticlePage(
        "Dog", "Dog", "wiki.zim", "text/html", 1, "en", "", SECTIONS, list(blocks), list(objects), part_count=2
    )
    return str(render_article(page, "wiki", "CAP"))


def paragraph(*objects: InlineObject, text: str = "text") -> str:
    return render(PageBlock("paragraph", f"{mark(0)}{text}{END_MARK}"), objects=objects)


def test_links_stay_in_the_reader() -> None:
    assert paragraph(InlineObject("internal", "A/x y", "Part")) == '<p><a href="/read/wiki/A/x%20y#Part">text</a></p>'
    assert (
        paragraph(InlineObject("anchor", fragment="Later")) == '<p><a href="/read/wiki/Dog?part=2#Later">text</a></p>'
    )
    assert paragraph(InlineObject("internal", "Gone", missing=True)) == "<p>text</p>"


def test_links_that_leave_are_marked() -> None:
    html = paragraph(InlineObject("external", "https://e.org/?a=\"&b='"))

    assert html == (
        '<p><a class="external" rel="noopener noreferrer nofollow" href="https://e.org/?a=&#34;&amp;b=&#39;">text</a></p>'
    )


def test_other_schemes_are_not_links() -> None:
    for target in ("javascript:alert(1)", "data:text/html,x", "geo:1,2", "vbscript:x", " https://e.org"):
        assert paragraph(InlineObject("external", target)) == "<p>text</p>"


def test_pictures_are_fetched_with_the_capability() -> None:
    picture = InlineObject("image", 'I/m".png', text='A "map"', width=200, height=100)

    html = render(PageBlock("figure", f"[Image: {mark(0)} The <bay>]"), objects=(picture,))

    assert html == (
        '<figure><img class="picture" src="/content/CAP/I/m%22.png" alt="A &#34;map&#34;" width="200" height="100" '
        'loading="lazy" decoding="async"><figcaption>The &lt;bay&gt;</figcaption></figure>'
    )


def test_marks_without_objects_or_ends_are_harmless() -> None:
    assert paragraph() == "<p>text</p>"
    assert render(PageBlock("paragraph", f"{END_MARK}{mark(9)}a")) == "<p>a</p>"
    link = InlineObject("internal", "X")
    assert render(PageBlock("paragraph", f"{mark(0)}a"), objects=(link,)) == '<p><a href="/read/wiki/X">a</a></p>'


def test_formula_is_mathml_of_known_elements() -> None:
    tree = MathElement(
        "math",
        attributes={"display": "block", "onclick": "x()", "href": "javascript:x"},
        children=[MathElement("mi", "<x>"), MathElement("script", "alert(1)")],
    )

    assert (
        paragraph(InlineObject("formula", math=tree), text="$x$")
        == '<p><math display="block"><mi>&lt;x&gt;</mi></math></p>'
    )
    assert paragraph(InlineObject("formula", text="x"), text="$x$") == '<p><code class="tex">$x$</code></p>'


def test_headings_and_anchors_have_ids_once() -> None:
    html = render(
        PageBlock("heading", "## History", 1, ["History", "old name", "top"]),
        PageBlock("paragraph", "a", 1, ["top", "ui-question"]),
    )

    assert html == (
        '<a id="top"></a><h2 id="History">History &lt;b&gt; '
        '<a class="anchor" href="#History" aria-label="Link to section History &lt;b&gt;">#</a></h2>\n<p>a</p>'
    )


def test_facts_are_a_list_below_their_picture() -> None:
    picture = InlineObject("image", "m.png")

    html = render(
        PageBlock("facts", "- Dog\n- Born: 1930\n- Alone"),
        PageBlock("figure", f"[Image: {mark(0)}]"),
        objects=(picture,),
    )

    assert html.startswith("<figure><img")
    assert "<div><dt>Born</dt><dd>1930</dd></div>" in html
    assert '<dt class="hidden">Also</dt><dd>Alone</dd>' in html
    assert "<dd>Dog</dd>" not in html


def test_outline_leads_to_other_parts() -> None:
    page = ArticlePage("Dog", "Dog", "wiki.zim", "text/html", 1, "", "", SECTIONS, [], [], part_count=2)

    rows = outline_rows(page, "wiki")

    assert [(row.address, row.depth) for row in rows] == [("#History", 0), ("/read/wiki/Dog?part=2#Later", 1)]

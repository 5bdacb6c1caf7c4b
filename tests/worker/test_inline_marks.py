from __future__ import annotations

import random
from pathlib import Path

import pytest

from openzim_mcp.calls.page import END_MARK, FIRST_MARK, MathElement
from openzim_mcp.worker.document import Document, Formula, Link, Media
from openzim_mcp.worker.inline_marks import InlineMarks, strip_marks
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.zim import Archive

_PAGES_PER_ARCHIVE = 12
_MAX_PAGE_BYTES = 500_000
_STRUCTURE = frozenset({"-", "|", ";", "---", "[Image:", "]"})


def read(html: str) -> Document:
    return read_html(html.encode(), "A/Page", InlineMarks())


def shown(document: Document) -> list[str]:
    """The texts of a document with readable marks: {0} starts the object of that number, {/} ends it."""

    def readable(character: str) -> str:
        if character == END_MARK:
            return "{/}"
        return f"{{{ord(character) - FIRST_MARK}}}" if ord(character) >= FIRST_MARK else character

    return ["".join(map(readable, block.text)) for block in document.blocks]


def test_links_stand_where_the_page_has_them() -> None:
    document = read("<p>A dog is a <a href='Dog#Tail'> dog </a>, see <a href='https://e.org/'><b>there</b></a>.</p>")

    assert shown(document) == ["A dog is a {0}dog{/} , see {1}**there**{/}."]
    assert document.inline_objects == (
        Link("internal", "A/Dog", "Tail", "dog", 0),
        Link("external", "https://e.org/", "", "**there**", 0),
    )


def test_links_have_marks_in_lists_cells_and_definitions() -> None:
    document = read(
        "<ul><li>An <a href='X'>x</a></li></ul><table class='wikitable'><tr><th>a<th>b<tr><td><a href='Y'>y</a><td>2"
        "</table><dl><dt><a href='Z'>z</a></dt></dl>"
    )

    assert shown(document) == ["- An {0}x{/}", "| a | b |\n| --- | --- |\n| {1}y{/} | 2 |", "**{2}z{/}**"]


def test_link_around_blocks_marks_each_of_them() -> None:
    document = read("<a href='Card'><div>One</div><div>Two</div></a>")

    assert shown(document) == ["{0}One{/}", "{0}Two{/}"]


def test_links_to_documents_have_marks() -> None:
    document = read("<p><a href='guide.pdf'>The guide</a> <a href='p.png'><img src='p.png'></a></p>")

    assert shown(document) == ["{0}The guide{/} {1}"]
    assert document.inline_objects[0] == Link("media", "A/guide.pdf", "", "The guide", 0)


def test_pictures_stand_in_figures_with_their_captions() -> None:
    document = read(
        "<figure><a href='File:M.png'><img src='../I/m.png' alt='A map' width='220' height='110px'></a>"
        "<figcaption>The <a href='Bay'>bay</a></figcaption></figure><figure><img src='../I/n.png'></figure>"
    )

    assert shown(document) == ["[Image: {0} The {1}bay{/}]", "[Image: {2}]"]
    assert document.inline_objects[0] == Media("image", "I/m.png", "A map", 220, 110)


def test_pictures_of_other_sites_are_left_out() -> None:
    document = read("<p>x<img src='https://e.org/pixel.png'><img src='data:image/png;base64,AA'></p>")

    assert (shown(document), document.inline_objects) == (["x"], ())


def test_infobox_keeps_its_picture_and_the_links_of_its_values() -> None:
    document = read(
        "<table class='infobox'><tr><th colspan=2>Ravenport<tr><td colspan=2><img src='r.jpg' width=250><br>The harbour"
        "<tr><th>Country<td><a href='Isles'>The Isles</a><tr><th>Founded<td>1204</table><p>Text.</p>"
    )

    assert shown(document) == [
        "- Ravenport\n- Country: {2}The Isles{/}\n- Founded: 1204",
        "[Image: {0} The harbour]",
        "Text.",
    ]
    assert document.facts == (("Country", "The Isles"), ("Founded", "1204"))


def test_formula_keeps_its_tree() -> None:
    document = read(
        "<p>Area <math alttext='r^2' onclick='x()'><msup mathvariant='normal' style='color:red'><mi>r</mi><mn>2</mn>"
        "</msup></math></p>"
    )

    tree = MathElement(
        "math",
        children=[MathElement("msup", "", {"mathvariant": "normal"}, [MathElement("mi", "r"), MathElement("mn", "2")])],
    )
    assert shown(document) == ["Area {0}$r^2${/}"]
    assert document.inline_objects == (Formula("r^2", tree),)


def test_formula_with_other_elements_is_only_tex() -> None:
    document = read("<p><math alttext='x'><mrow><script>1</script><mi>x</mi></mrow></math></p>")

    assert document.inline_objects == (Formula("x"),)


def test_page_cannot_forge_marks_of_objects_that_it_lacks() -> None:
    document = read("<p>&#x40005;text&#xDFFF0;</p>")

    assert document.inline_objects == ()
    assert strip_marks(document.blocks[0].text) == "text"


def test_headings_have_no_marks() -> None:
    document = read("<h2><a href='X'>History</a> <img src='i.png'></h2><p>Text.</p>")

    assert (document.sections[1].title, document.sections[1].id) == ("History", "History")


def sample_pages(archive: Archive) -> list[tuple[bytes, str]]:
    numbers = list(range(archive.entry_count))
    random.Random(archive.name).shuffle(numbers)
    items = (archive.find_entry(archive.path_by_id(number)) for number in numbers[:300])
    pages = [row for row in items if row and row.mime_type == "text/html" and row.size < _MAX_PAGE_BYTES]
    return [(archive.read_content(row.path), row.path) for row in pages[:_PAGES_PER_ARCHIVE]]


def words(document: Document) -> list[str]:
    return [word for word in strip_marks(document.body).replace("\\", "").split() if word.strip("[]") not in _STRUCTURE]


@pytest.mark.parametrize(
    "name", ["built/wiki_real_pub", "built/se_coffee", "built/devdocs_python", "real/wikipedia_ay_all_nopic_2017-03"]
)
def test_page_shows_the_words_that_models_read(zims: Path, name: str) -> None:
    pages = sample_pages(Archive(name.partition("/")[2], [str(zims / f"{name}.zim")]))

    different = [
        path
        for raw, path in pages
        if words(read_html(raw, path))
        != [word for word in words(read_html(raw, path, InlineMarks())) if word != "[Image:]"]
    ]

    assert pages
    assert different == []

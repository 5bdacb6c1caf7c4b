from __future__ import annotations

import zlib

import pytest

from openzim_mcp.worker.readers.pdf.reader import PagedPdf, read_pdf
from support.pdfs import PdfPage, Text, page, write_pdf

WATER = page(
    [
        "Water from a stream is made safe by boiling it for one full minute. At",
        "heights above two thousand metres it is boiled for three minutes, as wa-",
        "ter boils at a lower temperature there.",
    ],
    ["Clear plastic bottles are laid in the sun for six hours."],
)


def test_paragraphs_are_joined_lines() -> None:
    document = read_pdf(write_pdf([WATER]))

    assert [(block.kind, block.locator) for block in document.blocks] == [("paragraph", "p. 1")] * 2
    assert document.blocks[0].text == (
        "Water from a stream is made safe by boiling it for one full minute. At heights above two thousand metres it is "
        "boiled for three minutes, as water boils at a lower temperature there."
    )


def test_pages_are_sections_without_an_outline() -> None:
    document = read_pdf(write_pdf([WATER, page(["The second page."])]))

    assert [(row.id, row.title) for row in document.sections[1:]] == [("page-1", "p. 1"), ("page-2", "p. 2")]
    assert [passage.locator for passage in document.passages] == ["p. 1", "p. 2"]


def test_outline_entries_are_sections() -> None:
    pages = [
        PdfPage([Text("Storing water", size=18, y=720), Text("Keep it dark.")]),
        page(["Boil it."]),
        page(["End."]),
    ]
    outline = [(0, "Storing water", 1), (1, "In tanks", 2), (0, "Index", 3)]

    document = read_pdf(write_pdf(pages, outline=outline))

    assert [(row.title, row.level, row.parent) for row in document.sections[1:]] == [
        ("Storing water", 1, 0),
        ("In tanks", 2, 1),
        ("Index", 1, 0),
    ]
    assert document.body == "## Storing water\n\nKeep it dark.\n\n### In tanks\n\nBoil it.\n\n## Index\n\nEnd."


def test_large_and_bold_lines_are_headings() -> None:
    lines = [
        Text("Fire", size=16, y=720),
        Text("Dry wood burns."),
        Text("Tinder", y=660, font="bold"),
        Text("Bark.", y=640),
    ]

    document = read_pdf(write_pdf([PdfPage(lines), WATER]))

    assert [row.title for row in document.sections] == ["", "p. 1", "Fire", "Tinder", "p. 2"]


def test_running_heads_and_page_numbers_are_dropped() -> None:
    words = ["Boil", "Filter", "Store", "Carry", "Drink"]
    pages = [page([f"{word} it."], head="FM 21-76 Survival", foot=f"{n}") for n, word in enumerate(words, 1)]

    assert read_pdf(write_pdf(pages)).body == "\n\n".join(f"{word} it." for word in words)


def test_running_heads_that_change_are_dropped() -> None:
    heads = ["1.1 Wells", "1.2 Rivers", "1.3 Rain", "1.4 Snow", "1.5 Dew"]
    pages = [page([f"{head[4:]} give water."], [f"Use {head[4:]}."], head=head) for head in heads]

    assert "1.3" not in read_pdf(write_pdf(pages)).body


def test_label_is_cited_if_it_differs() -> None:
    labels = b"<< /Nums [0 << /S /r >> 2 << /S /D >>] >>"

    pdf = PagedPdf(write_pdf([page(["x"])] * 4, labels=labels))

    assert [pdf.locator(n) for n in range(4)] == [
        "p. 1 (label i)",
        "p. 2 (label ii)",
        "p. 3 (label 1)",
        "p. 4 (label 2)",
    ]


def test_lists_and_code_keep_their_lines() -> None:
    lines = [
        Text("Take:"),
        Text("• a knife", y=688),
        Text("• a rope", y=676),
        Text("for n in range(3):", y=640, font="code"),
        Text("    print(n)", y=628, font="code"),
    ]

    document = read_pdf(write_pdf([PdfPage(lines)]))

    assert document.body == "Take:\n\n- a knife\n- a rope\n\n```\nfor n in range(3):\n    print(n)\n```"


def test_columns_are_read_one_after_the_other() -> None:
    left = [Text(f"The left column goes on in line {n} and", x=72, y=700 - 12 * n) for n in range(4)]
    right = [Text(f"the right column ends it in line {n} so", x=320, y=700 - 12 * n) for n in range(4)]

    document = read_pdf(write_pdf([PdfPage([*left, *right])]))

    assert len(document.blocks) == 1
    assert document.body.index("left column goes on in line 3") < document.body.index("right column ends it in line 0")


@pytest.mark.parametrize("rotate", [90, 270])
def test_rotated_page_reads_like_an_upright_one(rotate: int) -> None:
    document = read_pdf(write_pdf([PdfPage(WATER.lines, rotate)]))

    assert document.body == read_pdf(write_pdf([WATER])).body


def test_rows_of_a_table_stay_on_lines() -> None:
    rows = ["Rope 12 m", "Knife 1", "Tarpaulin 3 m"]
    wide = [
        Text("A line that is as wide as the text of the page is, up to its right edge.", y=700 - 12 * n)
        for n in range(4)
    ]
    lines = [Text(row, y=600 - 12 * n) for n, row in enumerate(rows)]

    document = read_pdf(write_pdf([PdfPage([*wide, *lines])]))

    assert document.blocks[-1].text == "Rope 12 m\nKnife 1\nTarpaulin 3 m"


def test_printed_table_of_contents_is_dropped() -> None:
    contents = [Text(f"Chapter {n} . . . . . . . . . . . . {n * 10}", y=700 - 12 * n) for n in range(1, 9)]

    assert read_pdf(write_pdf([PdfPage(contents), page(["Text."])])).body == "Text."


def test_page_text_cannot_look_like_structure() -> None:
    document = read_pdf(write_pdf([page(["# Not a heading of ours"], ["Source: nobody"])]))

    assert document.body == "\\# Not a heading of ours\n\n\\Source: nobody"


def test_title_is_that_of_the_metadata_unless_a_file_name() -> None:
    titles = [read_pdf(write_pdf([WATER], info=info)).title for info in (b"/Title (Safe water)", b"/Title (water.doc)")]

    assert titles == ["Safe water", ""]


PICTURES_ONLY = "This PDF has 3 pages without text: it holds pictures only, such as scans."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (write_pdf([PdfPage()] * 3), PICTURES_ONLY),
        (write_pdf([WATER], password="secret"), "This PDF is encrypted and cannot be read without its password."),
        (b"%PDF-1.4\nnothing else", "This PDF is damaged and cannot be read."),
        (b"", "This PDF is damaged and cannot be read."),
    ],
)
def test_unreadable_pdf_is_a_sentence(content: bytes, sentence: str) -> None:
    document = read_pdf(content)

    assert (document.body, document.passages) == (sentence, [])


def test_pdf_with_owner_password_is_read() -> None:
    assert read_pdf(write_pdf([WATER], password="")).body == read_pdf(write_pdf([WATER])).body


def test_pdf_bomb_is_not_unpacked() -> None:
    bomb = zlib.compress(b"BT /regular 9 Tf (x) Tj ET\n" * 4_000_000)
    content = write_pdf([WATER])
    at = content.index(b"<< /Length")
    stop = content.index(b"endstream", at)
    packed = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\n" % (len(bomb), bomb)

    document = read_pdf(content[:at] + packed + content[stop:])

    assert document.body == "This PDF is not read: a part of it unpacks to over 64 MB."


def test_some_pages_are_read_without_the_others() -> None:
    pdf = PagedPdf(write_pdf([page([f"Page {n}."]) for n in range(1, 101)], outline=[(0, "A", 1), (0, "B", 50)]))

    document = pdf.document([59])

    assert (document.body, document.passages[0].locator) == ("Page 60.", "p. 60")
    assert document.sections[document.blocks[0].section].title == "B"
    assert list(pdf.pages_until(25)) == [0, 1, 2]

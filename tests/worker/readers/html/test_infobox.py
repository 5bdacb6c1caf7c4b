"""Boxes of real pages, and each difficulty of them in the smallest box that has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from libzim.reader import Archive

from openzim_mcp.worker.document import Document
from openzim_mcp.worker.readers.html.reader import read_html

WIKI = "built/wiki_real_pub.zim"
MINI = "real/wikipedia_en_100_mini_2022-10.zim"
SPLIT = "real/wikipedia_en_ray_charles_2015-06_split.zimaa"
AY = "real/wikipedia_ay_all_nopic_2017-03.zim"
ADY = "real/wikipedia_ady_all_nopic_2026-02.zim"


def read_box(rows: str, title: str = "T") -> Document:
    page = f"<html><head><title>{title}</title></head><body><table class='infobox'>{rows}</table><p>Text.</p></body>"
    return read_html(page.encode(), "Page")


def read_page(zims: Path, archive: str, path: str) -> Document:
    return read_html(bytes(Archive(zims / archive).get_entry_by_path(path).get_item().content), path)


@pytest.mark.parametrize(
    ("archive", "path", "name", "value"),
    [
        # a row with a bullet belongs to the row above it, be that a heading or a name with a value
        (WIKI, "Brazil", "GDP (PPP) (2007 estimate), Per capita", "USD 11,873 (65)"),
        (WIKI, "Brazil", "Population, 2008 estimate", "186,757,608 (5th)"),
        (WIKI, "Brazil", "Time zone, Summer (DST)", "BRST (UTC-2 to -5)"),
        (WIKI, "North_Canton,_Ohio", "Population (2000), Total", "16,369"),
        (MINI, "A/Canada", "Government, Monarch", "Charles III"),
        (MINI, "A/Canada", "GDP (nominal) (2022 estimate), Total", "$2.221 trillion (8th)"),
        (MINI, "A/Birmingham", "Population (mid-2019 est.), City", "1,141,816"),
        # without a bullet, if the heading says what it is or another heading has the same name
        (ADY, "Афщин", "Районым ис цӀыфхэм зэкӀэ (2018), ЗэкӀэ", "81,423"),
        (MINI, "A/Elvis_Presley", "Military service, Awards", "Good Conduct Medal"),
        # a heading and one wide cell
        (MINI, "A/Giraffe", "Binomial name", "*Giraffa camelopardalis*; Linnaeus, 1758"),
        (MINI, "A/Giraffe", "Conservation status", "Vulnerable (IUCN 3.1)(As the species complex)"),
        # two pairs in a row; both cells of a row in header cells
        (WIKI, "Bob_Boone", "Threw", "Right"),
        (WIKI, "Haywood_Jeffires", "Jersey #(s)", "84"),
        (WIKI, "North_Canton,_Ohio", "State", "Ohio"),
        # a table inside the box, below its heading
        (WIKI, "Lithosiinae", "Order", "Lepidoptera"),
        (WIKI, "Michael_Robinson_(footballer)", "National team", "1980-1986 | Republic of Ireland | 24 (4)"),
        (WIKI, "Battle_of_Slioch", "Commanders", "Robert Bruce | John Comyn, 3rd Earl of Buchan"),
        (WIKI, "Castor_Airport", "Runways", "Direction | Length | Surface; ft | m; 13/31 | 3,000 | 914 | Asphalt"),
        (WIKI, "Even_Heaven_Cries", "Format", "CD single, ring tone, digital download"),
        # names in bold inside a wide cell
        (WIKI, "Bob_Boone", "As Manager", "Kansas City Royals (1995-1997); Cincinnati Reds (2001-2003)"),
        (ADY, "Кощхьэблэ_къедзыгъо", "Official website", "http://www.admin-koshehabl.ru"),
        # several names in a cell, several values in the other
        (WIKI, "Santo_Adriano", "Population (2005), Density", "7.47 people/km²"),
        # a box that only its place says is one
        (AY, "A/Acambay.html", "Jaqinaka", "60,918 (2010)"),
        (WIKI, "Berwick_Carbuilders", "Arena", "Stenko Arena"),
        # values keep their parts, without marks of references
        (WIKI, "Python_(programming_language)", "Designed by", "Guido van Rossum"),
        (WIKI, "Python_(programming_language)", "Filename extensions", ".py, .pyw, .pyz, .pyi, .pyc, .pyd"),
        (WIKI, "Pleasant_Valley_High_School_(California)", "Students", "1,973"),
        (MINI, "A/Bob_Dylan", "Genres", "Folk; blues; rock; gospel; country; traditional pop; jazz"),
        (MINI, "A/Bob_Dylan", "Spouses", "Sara Dylan (m. 1965; div. 1977); Carolyn Dennis (m. 1986; div. 1992)"),
        (MINI, "A/Lion", "Subspecies", "*P. l. leo*; *P. l. melanochaita*; *P. l. fossilis*; *P. l. sinhaleyus*"),
    ],
)
def test_real_box_has_the_fact(zims: Path, archive: str, path: str, name: str, value: str) -> None:
    assert (name, value) in read_page(zims, archive, path).facts


@pytest.mark.parametrize(
    ("archive", "path", "name"),
    [
        (WIKI, "Brazil", "Population, Total"),
        (WIKI, "Brazil", "Flag"),
        (WIKI, "Lafayette,_Minnesota", "Elevation, Total"),
        # the title of a box does not name its picture
        (MINI, "A/Bob_Dylan", "Bob Dylan"),
        (WIKI, "Adgat", "Adgat"),
        # names of columns are not facts
        (WIKI, "Michael_Robinson_(footballer)", "Years"),
        (SPLIT, "A/True_to_Life.html", "Source"),
        (WIKI, "Langenbogen", "Coat of arms"),
        # links to neighbours
        (WIKI, "Nebraska_Highway_24", "Nebraska Highways"),
        (MINI, "A/World_Trade_Center_(1973–2001)", "References"),
    ],
)
def test_real_box_does_not_have_the_fact(zims: Path, archive: str, path: str, name: str) -> None:
    document = read_page(zims, archive, path)

    assert document.facts
    assert name not in dict(document.facts)


@pytest.mark.parametrize(
    ("archive", "path"), [(WIKI, "Association_of_Free_Democrats"), (WIKI, "Berlin_Wall"), (ADY, "Къэбэртэябзэ")]
)
def test_navigation_box_is_not_a_fact(zims: Path, archive: str, path: str) -> None:
    assert [name for name, _ in read_page(zims, archive, path).facts if name != "Coordinates"] == []


def test_no_real_fact_is_empty_or_has_marks(zims: Path) -> None:
    for file in (WIKI, MINI, SPLIT, ADY):
        archive = Archive(zims / file)
        for number in range(0, archive.all_entry_count, 7):
            entry = archive._get_entry_by_id(number)
            if entry.is_redirect or "html" not in entry.get_item().mimetype:
                continue
            for name, value in read_html(bytes(entry.get_item().content), entry.path).facts:
                assert any(map(str.isalnum, value)), (entry.path, name)
                assert not {"[edit]", "[1]", ".mw-parser-output", "\n"} & {name, value}, (entry.path, name)
                assert "**" not in name, (entry.path, name)


def test_infobox_becomes_key_facts() -> None:
    """A header row followed by one wide cell is a pair, and so is td + td."""
    document = read_box(
        "<tr><th colspan=2>Ray Charles</th></tr>"
        "<tr><td colspan=2 class='infobox-image'><img src='a.jpg'></td></tr>"
        "<tr><th>Born</th><td>Robinson<br><span style='display:none'>(1930-09-23)</span>Albany</td></tr>"
        "<tr><td>Jobs:</td><td><ul><li>Singer</li><li>Pianist</li></ul></td></tr>"
        "<tr><th colspan=2>Trinomial name</th></tr><tr><td colspan=2><i>Canis</i></td></tr>",
        title="Ray Charles",
    )

    assert document.facts == (("Born", "Robinson; Albany"), ("Jobs", "Singer; Pianist"), ("Trinomial name", "*Canis*"))
    assert document.blocks[0].text == (
        "- Ray Charles\n- Born: Robinson; Albany\n- Jobs: Singer; Pianist\n- Trinomial name: *Canis*"
    )


def test_fact_names_include_their_group() -> None:
    document = read_box(
        "<tr><td colspan=2><b>Population</b></td></tr><tr><td>- Total</td><td>17</td></tr>"
        "<tr><td>• Density</td><td>2</td></tr><tr><td colspan=2><b>Website:</b> x.org</td></tr>"
    )

    assert document.facts == (("Population, Total", "17"), ("Population, Density", "2"), ("Website", "x.org"))


def test_text_without_a_name_stays_in_the_box() -> None:
    document = read_box(
        "<tr><th colspan=2>Battle of X</th></tr><tr><td colspan=2>Part of a war</td></tr>"
        "<tr><td colspan=2><img src='x.png'><br>The field</td></tr><tr><th>Date</th><td>1307</td></tr>"
        "<tr><th>Result</th><td></td></tr>"
    )

    assert document.facts == (("Date", "1307"),)
    assert [(block.kind, block.text) for block in document.blocks[:2]] == [
        ("facts", "- Battle of X\n- Part of a war\n- Date: 1307"),
        ("figure", "[Image: The field]"),
    ]


def test_box_of_links_is_left_out() -> None:
    links = "".join(f"<li><a href='x{n}'>Related article {n}</a></li>" for n in range(12))

    document = read_box(f"<tr><th>Politics of X</th></tr><tr><td><ul>{links}</ul></td></tr>")

    assert (document.facts, document.body) == ((), "Text.")
    assert document.dropped == {"navigation": 1}


def test_infobox_without_text_adds_nothing() -> None:
    document = read_html(b"<table class='infobox'><tr><td><img src='x.png'></td></tr></table><p>Text.</p>", "x")

    assert document.body == "Text."

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openzim_mcp.worker.document import Document
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim
from support.epubs import write_epub
from support.pdfs import page, write_pdf

MD5 = "0123456789abcdef0123456789abcdef"


def _vtt(*lines: str) -> str:
    return "WEBVTT\n\n" + "".join(f"00:{n:02}:15.000 --> 00:{n:02}:19.000\n{line}\n\n" for n, line in enumerate(lines))


def _stub(target: str, title: str = "Stub") -> str:
    return f"""<html><head><title>{title}</title><meta http-equiv="refresh" content="0;URL='{target}'"></head></html>"""


TED = """<html><head><title>The Still</title></head><body><p id="speaker">Ada Quill</p>
<p class="title lang-default">The Still</p><p class="title lang-fr">L'alambic</p><p class="title lang-en">The still</p>
<p class="description lang-default">On fresh water.</p><p class="description lang-fr">Sur l'eau douce.</p>
<p class="description lang-en">On fresh water at sea.</p>
<video><source src="videos/1/video.webm"><track kind="subtitles" src="videos/1/subs/subs_fr.vtt" srclang="fr" label="Français">
<track kind="subtitles" src="videos/1/subs/subs_en.vtt" srclang="en" label="English"></video></body></html>"""
VIDEO = {
    "id": "x1",
    "title": "Making fire",
    "description": "How to make fire.\n\nWith a bow drill.",
    "author": {"channelTitle": "Camp School"},
    "publicationDate": "2024-05-01T10:00:00Z",
    "subtitlePath": "videos/x1",
    "subtitleList": [{"code": "de", "name": "German - de"}, {"code": "en", "name": "English - en"}],
    "chapterList": [
        {"startTime": 0, "endTime": 60, "title": "Wood"},
        {"startTime": 60, "endTime": 120, "title": "Drill"},
    ],
    "duration": "PT1H2M3S",
}
PAGES: dict[str, str | bytes] = {
    "index.html": "<html><body><div id=app></div></body></html>",
    # ted2zim
    "the-still": TED,
    "videos/1/subs/subs_fr.vtt": _vtt("L'eau de mer est salée."),
    "videos/1/subs/subs_en.vtt": _vtt("Sea water is salty.", "A still makes it fresh."),
    # youtube2zim 3
    "index/making-fire-x1": _stub("../index.html#/watch/making-fire-x1?list=p", "Making fire"),
    "index/all-p": _stub("../index.html#/playlist/all-p"),
    "videos/making-fire-x1.json": json.dumps(VIDEO),
    "videos/x1/video.en.vtt": _vtt("Dry wood burns.", "Turn the drill fast."),
    "videos/x1/video.de.vtt": _vtt("Trockenes Holz brennt."),
    "playlists/all-p.json": json.dumps({"title": "All", "videos": [{"slug": "making-fire-x1", "title": "Making fire"}]}),
    # kolibri
    MD5: f"<h1>Knots</h1><p>A lesson.</p><iframe src='assets/pdfjs/web/viewer.html?file=../../../{MD5}.pdf'></iframe>",
    f"{MD5}.pdf": write_pdf([page(["Intro."]), page(["A bowline does not slip."])]),
    "files/lesson/": f"<h1>Film</h1><video><track src='{MD5}.vtt' srclang='en'></video>",
    f"{MD5}.vtt": _vtt("Tie it twice."),
    "book-page": "<p>A book.</p><iframe src='assets/epub_embed.html?url=../stories.epub'></iframe>",
    "stories.epub": write_epub({"one.xhtml": "<h1>Dawn</h1><p>The whale rose.</p>"}),
    # gutenberg2zim
    "index/book_12": _stub("../index.html#/book/12"),
    "books/12.json": json.dumps(
        {"title": "Emma", "author": {"name": "Jane Austen"}, "formats": [{"format": "html", "path": "Emma.12"}]}
    ),
    "Emma.12": "<h2>Chapter 1</h2><p>Emma Woodhouse, handsome, clever, and rich.</p>",
    # mindtouch2zim
    "index/page_7": _stub("../index.html#/Chemistry/Atoms"),
    "content/page_content_7.json": json.dumps({"htmlBody": "<h2>Atoms</h2><p>Atoms are small.</p>"}),
    # freecodecamp
    "index/js/loops/while.html": _stub("../../../index.html#js/loops/while"),
    "content/curriculum/js/loops/while.md": "---\ntitle: While loops\n---\n# --description--\n\nThey repeat.",
    # maps2zim
    "search/Geneva": _stub("../index.html#lat=46.2&lon=6.15&zoom=10", "Geneva"),
    # others
    "old": _stub("new"),
    "new": "<p>The new page.</p>",
    "slow": '<meta http-equiv="Refresh" content="5; url=new"><p>Wait here.</p>',
    "away": _stub("https://example.org/x"),
    "circle": _stub("circle2"),
    "circle2": _stub("circle"),
}  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive("kinds", [str(write_zim(tmp_path_factory.mktemp("kinds") / "kinds.zim", PAGES))])


def _read(archive: Archive, path: str, language: str = "") -> Document:
    item = archive.find_entry(path)
    assert item is not None
    return read_document(archive, item, language)


def test_talk_is_its_page_and_its_transcript(archive: Archive) -> None:
    document = _read(archive, "the-still")

    assert "On fresh water at sea." in document.body
    assert "alambic" not in document.body
    assert "Also subtitled in: Français" in document.body
    assert [(row.locator, row.text) for row in document.passages][-2:] == [
        ("00:15", "Sea water is salty."),
        ("01:15", "A still makes it fresh."),
    ]


def test_talk_is_read_in_the_language_of_the_question(archive: Archive) -> None:
    document = _read(archive, "the-still", "fr")

    assert "Sur l'eau douce." in document.body
    assert document.passages[-1].text == "L'eau de mer est salée."


def test_video_stub_is_read_from_the_json_beside_it(archive: Archive) -> None:
    document = _read(archive, "index/making-fire-x1")

    assert (document.title, dict(document.facts)) == (
        "Making fire",
        {"Channel": "Camp School", "Published": "2024-05-01", "Length": "1:02:03"},
    )
    assert [row.title for row in document.sections[1:]] == ["Transcript (English - en)", "Wood", "Drill"]
    assert document.passages[-1].text == "Turn the drill fast."
    assert "With a bow drill." in document.body


def test_playlist_lists_its_videos(archive: Archive) -> None:
    document = _read(archive, "index/all-p")

    assert (document.title, document.body) == ("All", "- Making fire")
    assert document.links[0].target == "index/making-fire-x1"


@pytest.mark.parametrize(
    ("path", "locator", "text"),
    [
        (MD5, "p. 2", "A bowline does not slip."),
        ("files/lesson/", "00:15", "Tie it twice."),
        ("book-page", "", "The whale rose."),
        ("index/book_12", "", "Emma Woodhouse, handsome, clever, and rich."),
        ("index/page_7", "", "Atoms are small."),
        ("index/js/loops/while.html", "", "They repeat."),
        ("old", "", "The new page."),
        ("slow", "", "Wait here."),
    ],
)
def test_page_is_read_with_what_it_shows(archive: Archive, path: str, locator: str, text: str) -> None:
    passage = _read(archive, path).passages[-1]

    assert (passage.locator, passage.text) == (locator, text)


def test_place_has_coordinates(archive: Archive) -> None:
    document = _read(archive, "search/Geneva")

    assert document.coordinates == (46.2, 6.15)
    assert document.body == "- Coordinates: 46.2, 6.15"


@pytest.mark.parametrize("path", ["away", "circle"])
def test_refresh_that_leads_nowhere_is_a_sentence(archive: Archive, path: str) -> None:
    document = _read(archive, path)

    assert document.body.startswith("This page only refers to ")
    assert document.passages == []


def test_damaged_json_of_a_stub_is_not_an_error(tmp_path: Path) -> None:
    pages = {"index.html": "<p>App</p>", "index/v": _stub("../index.html#/watch/v"), "videos/v.json": "[" * 100_000}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages))])

    assert _read(archive, "index/v").body == "App"

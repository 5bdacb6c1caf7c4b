from __future__ import annotations

import os
from pathlib import Path

from libzim.writer import Creator, Hint, Item, StringProvider

from openzim_mcp.calls.archive import BuildPassageIndex, PassageIndexResult, ScanPages
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.jobs.passage_index import build_passage_index
from openzim_mcp.zimfile import ArchiveFile, stat_parts

CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
SHARED = Path(__file__).parent.parent.parent.parent / "shared" / "zims"


class Page(Item):  # type: ignore[misc]
    def __init__(self, path: str, title: str, content: str | bytes, mimetype: str) -> None:
        super().__init__()
        self.path, self.title, self.content, self.mimetype = path, title, content, mimetype

    def get_path(self) -> str:
        return self.path

    def get_title(self) -> str:
        return self.title

    def get_mimetype(self) -> str:
        return self.mimetype

    def get_contentprovider(self) -> StringProvider:
        return StringProvider(self.content)

    def get_hints(self) -> dict[Hint, int]:
        return {Hint.FRONT_ARTICLE: self.mimetype == "text/html"}


def write_zim(
    path: Path,
    pages: dict[str, str] | dict[str, bytes] | dict[str, str | bytes],
    *,
    redirects: dict[str, str] | None = None,
    metadata: dict[str, str | bytes] | None = None,
    index: bool = True,
    redirects_are_articles: bool = False,
) -> Path:
    """Write an archive with libzim; the path of a page ends its MIME type if it has an extension."""
    types = {
        ".css": "text/css",
        ".csv": "text/csv",
        ".epub": "application/epub+zip",
        ".js": "application/javascript",
        ".md": "text/markdown",
        ".mp4": "video/mp4",
        ".pdf": "application/pdf",
        ".srt": "text/plain",
        ".svg": "image/svg+xml",
        ".vtt": "text/vtt",
        ".json": "application/json",
        ".png": "image/png",
        ".txt": "text/plain",
        ".webm": "video/webm",
        ".xhtml": "application/xhtml+xml",
    }
    creator = Creator(path).config_indexing(index, "eng").config_nbworkers(1)
    with creator:
        if pages:
            creator.set_mainpath(next(iter(pages)))
        for name, html in pages.items():
            mimetype = types.get(Path(name).suffix, "text/html")
            creator.add_item(Page(name, name.replace("_", " "), html, mimetype))
        hints: dict[Hint, int] = {Hint.FRONT_ARTICLE: True} if redirects_are_articles else {}
        for name, target in (redirects or {}).items():
            creator.add_redirection(name, name, target, hints)
        for key, value in ({"Title": "Test", "Language": "eng"} | (metadata or {})).items():
            creator.add_metadata(key, value, "text/plain;charset=utf-8")
    return path


def archive_file(path: Path, name: str | None = None) -> ArchiveFile:
    """A file as the library would describe it."""
    return ArchiveFile(name or path.stem, str(path), (str(path),), *stat_parts([str(path)]))


def build_index(path: Path) -> PassageIndexResult:
    """Build the index of an archive's passages, as the job does."""
    return build_passage_index([str(path)], BuildPassageIndex(), lambda *_: None)


def scan_all_pages(path: Path) -> None:
    """Index what is found on the pages of an archive, as the job does."""
    assert scan_pages([str(path)], ScanPages(), lambda *_: None).is_complete


TOWNS = {
    "Ravenport": "<h1>Ravenport</h1><p>Ravenport is a harbour town.</p>",
    "Alderwick": "<p>Alderwick lies on a hill.</p>",
    "Zürich": "<p>Zürich is a city.</p>",
    "maps/alderwick.png": "not really a picture",
    "maps/ravenport.png": "not really a picture",
    "style.css": "body {}",
}


ISLES = {
    "Ravenport": """<h1>Ravenport</h1><p>Ravenport is a harbour town on the east coast of the Isles.</p>
        <h2>History</h2><p>The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick.</p>
        <h2>Trade</h2><p>Its merchants sell dried herring, amber and rope to every harbour of the Isles.</p>""",
    "Alderwick": """<h1>Alderwick</h1><p>Alderwick lies on a hill. Its people trade with Ravenport.</p>
        <h2>Schools</h2><p>The school of Alderwick teaches photosynthesis and the stars.</p>""",
    "Ada_Quill": "<h1>Ada Quill</h1><p>Ada Quill was a shipwright, the founder of a harbour town.</p>",
    "Zürich": "<h1>Zürich</h1><p>Zürich is a city of banks.</p>",
    "Straße": "<h1>Straße</h1><p>Eine Straße ist ein Weg.</p>",
    "C++": "<h1>C++</h1><p>C++ is a language that grew out of C.</p>",
    "C": "<h1>C</h1><p>C is the third letter.</p>",
    "Mercury_(planet)": "<h1>Mercury</h1><p>Mercury is the smallest planet.</p>",
    "Mercury_(element)": "<h1>Mercury</h1><p>Mercury is a liquid metal.</p>",
    "Mercury_(god)": "<h1>Mercury</h1><p>Mercury was a god of trade.</p>",
    "Herring": "<h1>Herring</h1><p>Herring is a fish. Harbour towns dry herring.</p>",
    "tags/harbour": "<h1>harbour</h1><ul>"
    + "".join(f'<li><a href="../Ravenport">Ravenport harbour founded herring {n}</a></li>' for n in range(20))
    + "</ul>",
    "I.Q.": "<p>A measure.</p>",
    "New_Year's_Day": "<p>The first day.</p>",
    "Lantern_fish": "<p>A fish that glows, not a lantern.</p>",
    "Nørrebros_Theater": "<p>A stage in Nørrebros.</p>",
    "notes.txt": "A harbour is a place for ships.",
}


def _place(name: str, latitude: float, longitude: float, text: str) -> str:
    position = f'<meta name="geo.position" content="{latitude};{longitude}">'
    return f"<html><head>{position}</head><body><h1>{name}</h1><p>{text}</p></body></html>"


PARIS = {
    "Eiffel_Tower": _place("Eiffel Tower", 48.8583, 2.2945, "The Eiffel Tower is a tower of iron in Paris."),
    "Rodin_Museum": _place("Rodin Museum", 48.8553, 2.3158, "A museum of the sculptures of Auguste Rodin."),
    "Louvre": _place("Louvre", 48.8611, 2.3358, "The Louvre is an art museum with many paintings."),
    "Trocadéro": _place("Trocadéro", 48.8616, 2.2893, "A square with gardens and a view of the tower."),
    "Versailles": _place("Versailles", 48.8049, 2.1204, "Versailles is a palace, and a museum since 1837."),
    "Auguste_Rodin": "<h1>Auguste Rodin</h1><p>Rodin was a sculptor; a museum in Paris has his works.</p>",
}
"""Places around the Eiffel Tower, and a person."""

FIJI = {
    "Taveuni": _place("Taveuni", -16.85, -179.97, "Taveuni is an island on the date line."),
    "Rabi": _place("Rabi", -16.5, 180.0, "Rabi is an island on the line itself."),
    "Vanua_Levu": _place("Vanua Levu", -16.58, 179.2, "Vanua Levu is a large island west of the line."),
}
"""Islands on both sides of the date line."""


def _about(item: int, text: str, more: str = "") -> str:
    link = f'<a href="https://www.wikidata.org/wiki/Special:EntityPage/Q{item}">Item</a>' if item else ""
    return f"<html><head>{more}</head><body><p>{text}</p>{link}</body></html>"


ENGLISH = {
    "Eiffel_Tower": _about(243, "The Eiffel Tower is a tower in Paris."),
    "Dog": _about(
        0, "The dog is an animal.", '<link rel=alternate hreflang=de href="https://de.wikipedia.org/wiki/Hund">'
    ),
    "Gift": _about(0, "A gift is a present."),
    "Ada_Lovelace": _about(0, "Ada Lovelace was a mathematician."),
    "Springfield": _about(1, "Springfield is a town in the east."),
    "Mercury": '<p>Mercury may refer to:</p><div id="disambigbox"></div>',
    "Berlin": _place("Berlin", 52.52, 13.4, "Berlin is a capital."),
    "Paris": _place("Paris", 48.85, 2.35, "Paris is a capital."),
}
GERMAN = {
    "Eiffelturm": _about(243, "Der Eiffelturm ist ein Turm in Paris."),
    "Hund": _about(0, "Der Hund ist ein Tier."),
    "Gift": _about(0, "Ein Gift ist ein schädlicher Stoff."),
    "Ada_Lovelace": _about(0, "Ada Lovelace war Mathematikerin."),
    "Berlin": _place("Berlin", 52.5, 13.41, "Berlin ist eine Hauptstadt."),
    "Paris": _place("Paris", 33.66, -95.55, "Paris ist eine Stadt in Texas."),
}
TRAVEL = {
    "Eiffel_Tower": _about(0, "Go there early."),
    "Springfield": _about(2, "Springfield is a village in the west."),
    "Mercury": _about(0, "A hotel."),
}
"""A travel guide in English: some titles are those of the encyclopedia, and mean something else."""


def write_languages(directory: Path) -> None:
    """Write an encyclopedia in two languages and a travel guide, their pages scanned."""
    rows = (
        ("wikipedia_en_all", "eng", ENGLISH),
        ("wikipedia_de_all", "deu", GERMAN),
        ("wikivoyage_en_all", "eng", TRAVEL),
    )
    for name, language, pages in rows:
        metadata: dict[str, str | bytes] = {"Language": language, "Name": name, "Title": name}
        scan_all_pages(write_zim(directory / f"{name}.zim", {"Main": "<p>Start.</p>"} | pages, metadata=metadata))

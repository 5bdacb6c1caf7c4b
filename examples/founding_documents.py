"""Build a small real archive: the founding documents of the United States, a page per article and amendment.

`python examples/founding_documents.py TARGET.zim`
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from typing import NamedTuple

from libzim.writer import Creator, Hint, Item, StringProvider

TEXTS = Path(__file__).parent / "library"
_METADATA = {
    "Name": "founding-documents_en",
    "Title": "Founding Documents of the United States",
    "Creator": "Congress of the United States",
    "Publisher": "OpenZIM MCP",
    "Date": "2026-11-15",
    "Description": "The Constitution with its amendments, and the Declaration of Independence",
    "Language": "eng",
    "License": "Public domain",
}
_PART = re.compile(r"^(Preamble|Article [IVX]+|Amendment [IVX]+)$", re.MULTILINE)
_SECTION = re.compile(r"Section \d+")
_ORDINALS = (
    "First Second Third Fourth Fifth Sixth Seventh Eighth Ninth Tenth Eleventh Twelfth Thirteenth Fourteenth Fifteenth "
    "Sixteenth Seventeenth Eighteenth Nineteenth Twentieth Twenty-first Twenty-second Twenty-third Twenty-fourth "
    "Twenty-fifth Twenty-sixth Twenty-seventh"
).split()


class Page(NamedTuple):
    """A page of the archive."""

    title: str
    paragraphs: list[str]


class _HtmlItem(Item):  # type: ignore[misc]
    def __init__(self, path: str, page: Page) -> None:
        super().__init__()
        self._path, self._page = path, page

    def get_path(self) -> str:
        return self._path

    def get_title(self) -> str:
        return self._page.title

    def get_mimetype(self) -> str:
        return "text/html"

    def get_contentprovider(self) -> StringProvider:
        return StringProvider(_render_page(self._page))

    def get_hints(self) -> dict[Hint, int]:
        return {Hint.FRONT_ARTICLE: True}


def _render_page(page: Page) -> str:
    title = html.escape(page.title)
    body = "".join(_render_paragraph(paragraph) for paragraph in page.paragraphs)
    return (
        f"<!DOCTYPE html><html lang='en'><head><title>{title}</title></head><body><h1>{title}</h1>{body}</body></html>"
    )


def _render_paragraph(paragraph: str) -> str:
    tag = "h2" if _SECTION.fullmatch(paragraph) else "p"
    return f"<{tag}>{html.escape(paragraph, quote=False)}</{tag}>"


def _split_paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]


def read_pages(texts: Path = TEXTS) -> list[Page]:
    """Return the parts of the Constitution and the Declaration as pages."""
    _, *parts = _PART.split((texts / "constitution.txt").read_text(encoding="utf-8").partition("\n")[2])
    pages = [Page(title, _split_paragraphs(text)) for title, text in zip(parts[::2], parts[1::2], strict=True)]
    first, *declaration = _split_paragraphs((texts / "declaration.txt").read_text(encoding="utf-8"))
    return [*pages, Page(first.partition(" of the Thirteen")[0], declaration)]


def _main_page(pages: list[Page]) -> Page:
    return Page(_METADATA["Title"], [_METADATA["Description"] + ": " + ", ".join(page.title for page in pages) + "."])


def build_archive(target: Path) -> None:
    """Write the archive to `target`."""
    pages = read_pages()
    amendments = [page.title for page in pages if page.title.startswith("Amendment")]
    creator = Creator(target).config_indexing(True, "eng").config_nbworkers(1).config_verbose(False)
    with creator:
        creator.set_mainpath("index")
        creator.add_item(_HtmlItem("index", _main_page(pages)))
        for page in pages:
            creator.add_item(_HtmlItem(page.title.replace(" ", "_"), page))
        for ordinal, title in zip(_ORDINALS, amendments, strict=True):
            name = f"{ordinal} Amendment"
            creator.add_redirection(name.replace(" ", "_"), name, title.replace(" ", "_"), {Hint.FRONT_ARTICLE: True})
        for key, value in _METADATA.items():
            creator.add_metadata(key, value)


if __name__ == "__main__":
    build_archive(Path(sys.argv[1]))

"""Build the handbook, the archive that ships with the package, from `docs/`.

The build is reproducible: random identifiers are replaced by a hash of the content.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

from libzim.writer import Creator, Hint, Item, StringProvider
from markdown_it import MarkdownIt

_METADATA = {
    "Name": "openzim-mcp_en_handbook",
    "Title": "OpenZIM MCP Handbook",
    "Creator": "OpenZIM MCP",
    "Publisher": "OpenZIM MCP",
    "Date": "2026-11-15",
    "Description": "How to use, set up and understand OpenZIM MCP",
    "Language": "eng",
    "License": "GPL-3.0-or-later",
}
_PAGE = "<!DOCTYPE html><html><head><meta charset='utf-8'><title>{title}</title></head><body>{body}</body></html>"
_XAPIAN_UUID = re.compile(rb"(\x0f\x0dXapian Glass..)(.{16})", re.DOTALL)
_CHECKSUM_BYTES = 16


class _Page(Item):  # type: ignore[misc]
    def __init__(self, path: str, title: str, html: str) -> None:
        super().__init__()
        self._path, self._title, self._html = path, title, html

    def get_path(self) -> str:
        return self._path

    def get_title(self) -> str:
        return self._title

    def get_mimetype(self) -> str:
        return "text/html"

    def get_contentprovider(self) -> StringProvider:
        return StringProvider(self._html)

    def get_hints(self) -> dict[Hint, int]:
        return {Hint.FRONT_ARTICLE: True}


def render_pages(docs: Path) -> dict[str, tuple[str, str]]:
    """Return the title and HTML of each page, by its path in the archive."""
    markdown = MarkdownIt().enable("table")
    pages = {}
    for file in sorted(docs.glob("*.md")):
        text = file.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        links = re.sub(r"\]\(([\w-]+)\.md(#[\w-]+)?\)", r"](\1\2)", text)
        pages[file.stem] = (title, _PAGE.format(title=title, body=markdown.render(links)))
    return pages


def _make_reproducible(raw: bytes) -> bytes:
    """Replace the random identifiers of libzim and Xapian, and update the checksum."""
    blank = _XAPIAN_UUID.sub(rb"\1" + bytes(16), raw[:8] + bytes(16) + raw[24:-_CHECKSUM_BYTES])
    uuid = hashlib.md5(blank, usedforsecurity=False).digest()
    fixed = _XAPIAN_UUID.sub(lambda match: match[1] + uuid, blank[:8] + uuid + blank[24:])
    return fixed + hashlib.md5(fixed, usedforsecurity=False).digest()


def build_handbook(docs: Path, target: Path) -> None:
    """Write the handbook to `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    creator = Creator(target).config_indexing(True, "eng").config_nbworkers(1).config_verbose(False)
    with creator:
        creator.set_mainpath("index")
        for path, (title, html) in render_pages(docs).items():
            creator.add_item(_Page(path, title, html))
        for key, value in _METADATA.items():
            creator.add_metadata(key, value)
    target.write_bytes(_make_reproducible(target.read_bytes()))


if __name__ == "__main__":
    root = Path(__file__).parent.parent
    default_target = root / "src/openzim_mcp/data/handbook.zim"
    build_handbook(root / "docs", Path(sys.argv[1]) if len(sys.argv) > 1 else default_target)

"""What an archive says of a picture: the alternative text and the caption on a page that shows it.

No table tells which pages show a picture, and a large archive is not read for one. So a few pages are looked at: those
with a title in the name of the file, those of the folders above it, the main page, and in a small archive all.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from openzim_mcp import errors
from openzim_mcp.calls.page import FIRST_MARK
from openzim_mcp.text import safe_line
from openzim_mcp.uris import path_in_text
from openzim_mcp.worker.document import Block, Document, Media
from openzim_mcp.worker.inline_marks import InlineMarks, strip_marks
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import find_reader, is_page
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.readers.text import placeholder
from openzim_mcp.worker.reading import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive, Item

_MAX_NAME_WORDS = 8
_MAX_PAGES = 300
_MAX_BYTES = 16 << 20
_MAX_PARSED_PAGES = 6
_SMALL_ARCHIVE_ENTRIES = 2000
_MAX_FOLDERS = 4
_MAX_CHARS = 1000
# A width, a number of a page and the like, as MediaWiki puts them before the name of a file.
_SIZE_PREFIX = re.compile(r"^(?:(?:lossy-|lossless-)?(?:page\d+-)?\d{1,5}px-)+")
_EXTENSIONS = re.compile(r"(?:\.(?:jpe?g|png|gif|webp|tiff?|bmp|avif|svg))+$", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_MIN_NAME_CHARS = 3
_ASCII_RUN = re.compile(r"[\w.-]+", re.ASCII)
_CAPTION = re.compile(r"\[Image: ?(.*)\]", re.DOTALL)


def is_picture(item: Item) -> bool:
    """Return whether an entry is a picture without text of its own."""
    return item.mime_type.startswith("image/") and find_reader(item.mime_type, item.path) is None


def read_picture(archive: Archive, item: Item) -> Document:
    """Return the sentence about a picture, and what the first page that is found to show it says of it."""
    blocks = placeholder(item.mime_type, item.size).blocks
    rows = next(_descriptions(archive, item), [])
    if rows:
        blocks = (*blocks, Block("list", "\n".join(f"- {row}" for row in rows), 0))
    return Document.without_sections(blocks)


def _descriptions(archive: Archive, picture: Item) -> Iterator[list[str]]:
    """Yield what pages say of a picture; a page is parsed only if its bytes have the name of the file."""
    mark = max(_ASCII_RUN.findall(picture.path.rpartition("/")[2]), key=len, default="").encode()
    parsed = 0
    for page in _pages_to_read(archive, picture):
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            raw = archive.read_content(page.path)
            if mark not in raw:
                continue
            parsed += 1
            document = read_document(archive, page, raw=raw, marks=InlineMarks())
            rows = _describe(archive, picture, page, document)
            if rows:
                yield rows
        if parsed >= _MAX_PARSED_PAGES:
            return


def _pages_to_read(archive: Archive, picture: Item) -> Iterator[Item]:
    seen: set[str] = set()
    left = _MAX_BYTES
    for page in _candidates(archive, picture):
        if len(seen) >= _MAX_PAGES or timer.is_late():
            return
        if page.path not in seen and is_page(page.mime_type) and page.size <= left:
            seen.add(page.path)
            left -= page.size
            yield page


def _candidates(archive: Archive, picture: Item) -> Iterator[Item]:
    for name in _names_in(picture.path):
        yield from _found(archive, name[:1].upper() + name[1:].replace(" ", "_"))
        by_title = archive.find_by_title(name)
        if by_title is not None:
            yield by_title
    folder = picture.path
    for _ in range(_MAX_FOLDERS):
        folder = folder.rpartition("/")[0]
        for path in (folder, f"{folder}/", f"{folder}/index.html", f"{folder}.html") if folder else ():
            yield from _found(archive, path)
    yield from _found(archive, archive.main_path or "")
    if len(archive.content) <= _SMALL_ARCHIVE_ENTRIES:
        for number in archive.content:
            entry = archive.entry_by_id(number)
            if entry.redirect_to is None and is_page(entry.mime_type):
                yield from _found(archive, entry.path)


def _found(archive: Archive, path: str) -> Iterator[Item]:
    item = resolve.find_path(archive, path) if path else None
    if item is not None:
        yield item


def _names_in(path: str) -> list[str]:
    """Return the titles that the name of a file may hold: its first words, then its last ones."""
    name = _EXTENSIONS.sub("", _SIZE_PREFIX.sub("", unquote(path.rpartition("/")[2])))
    words = _WORD.findall(name.replace("_", " "))
    starts = [" ".join(words[:length]) for length in range(min(len(words), _MAX_NAME_WORDS), 0, -1)]
    ends = [" ".join(words[start:]) for start in range(1, min(len(words), _MAX_NAME_WORDS))]
    names = [name for name in (*starts, *ends) if len(name) >= _MIN_NAME_CHARS and not name.isdecimal()]
    return list(dict.fromkeys(names))


def _describe(archive: Archive, picture: Item, page: Item, document: Document) -> list[str]:
    """Return what a page says of a picture, as lines; none if it does not show it."""
    for number, thing in enumerate(document.inline_objects):
        if not isinstance(thing, Media) or not _is_target(archive, thing.target, picture):
            continue
        block = next((row for row in document.blocks if chr(FIRST_MARK + number) in row.text), None)
        caption = _CAPTION.fullmatch(block.text) if block is not None and block.kind == "figure" else None
        section = document.sections[block.section].title if block is not None else ""
        texts = {
            "Caption": strip_marks(caption[1]).strip() if caption else "",
            "Alternative text": thing.text,
            "Shown in": f"{document.title or page.title} ({path_in_text(page.path)})",
            "Section": section,
        }
        return [f"{name}: {safe_line(text, _MAX_CHARS)}" for name, text in texts.items() if text]
    return []


def _is_target(archive: Archive, target: str, picture: Item) -> bool:
    found = resolve.find_link_target(archive, target)
    return found is not None and found.path == picture.path

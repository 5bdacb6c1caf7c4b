"""Pages that only start a script: their content is in a file beside them, found by the route that the script gets.

Scrapers write such pages (`index/…`) for videos, books, courses and places. Each row of `ROUTES` is one of their
layouts: a pattern of the route, and what reads the file.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openzim_mcp.text import escape_markdown, safe_line, visible_line
from openzim_mcp.worker.document import Link, make_coordinates
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.readers.markdown import read_markdown
from openzim_mcp.worker.readers.subtitles import Chapter, format_time
from openzim_mcp.worker.readers.video import Subtitles, add_subtitles, read_chapters

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Coordinates, Document
    from openzim_mcp.worker.readers.video import Entries

Route = Callable[["Entries", str, "re.Match[str]", Sequence[str]], "Document | None"]
"""Reads what a route leads to: entries, the folder of the application, the match, and the languages to prefer."""

_MAX_ROWS = 300
_PLACE_ROUTE = re.compile(r"/?lat=(-?\d{1,3}(?:\.\d{1,12})?)&lon=(-?\d{1,3}(?:\.\d{1,12})?)")
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?")


def read_route(entries: Entries, folder: str, route: str, languages: Sequence[str]) -> Document | None:
    """Return the content of a route of an application; None if no layout fits."""
    for pattern, read in ROUTES:
        match = pattern.match(route)
        if match:
            document = read(entries, folder, match, languages)
            if document is not None:
                return document
    return None


def _read_json(entries: Entries, path: str) -> dict[str, Any] | None:
    raw = entries.read_if_present(path)
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(raw) if raw else None
        return value if isinstance(value, dict) else None
    return None


def _text(value: object) -> str:
    return visible_line(value) if isinstance(value, str) else ""


def _add_paragraphs(builder: DocumentBuilder, text: object) -> None:
    for paragraph in (text if isinstance(text, str) else "").replace("\r\n", "\n").split("\n\n"):
        lines = "\n".join(visible_line(line) for line in paragraph.split("\n") if line.strip())
        if lines:
            builder.add("lines" if "\n" in lines else "paragraph", escape_markdown(lines))


def _read_video(entries: Entries, folder: str, match: re.Match[str], languages: Sequence[str]) -> Document | None:
    """Read a video of youtube2zim 3: its description and its transcript."""
    video = _read_json(entries, f"{folder}videos/{match[1]}.json")
    if video is None:
        return None
    builder = DocumentBuilder()
    author = video.get("author")
    speaker = _text(author.get("channelTitle")) if isinstance(author, dict) else ""
    facts = (("Channel", speaker), ("Published", _text(video.get("publicationDate"))[:10]), ("Length", _length(video)))
    known = tuple((name, value) for name, value in facts if value)
    if known:
        builder.add("facts", "\n".join(f"- {name}: {value}" for name, value in known))
    _add_paragraphs(builder, video.get("description"))
    add_subtitles(builder, entries, _subtitles(folder, video), languages, _chapters(entries, folder, video))
    return builder.build(_text(video.get("title")), facts=known)


def find_subtitles(entries: Entries, folder: str, route: str) -> list[str]:
    """Return the paths of the subtitles of a video that a route leads to."""
    for pattern, read in ROUTES:
        match = pattern.match(route) if read is _read_video else None
        video = _read_json(entries, f"{folder}videos/{match[1]}.json") if match else None
        if video is not None:
            return [row.path for row in _subtitles(folder, video)]
    return []


def _subtitles(folder: str, video: dict[str, Any]) -> list[Subtitles]:
    directory = _text(video.get("subtitlePath")) or f"videos/{_text(video.get('id'))}"
    rows = video.get("subtitleList")
    return [
        Subtitles(f"{folder}{directory}/video.{row['code']}.vtt", str(row["code"]), _text(row.get("name")))
        for row in (rows if isinstance(rows, list) else [])[:_MAX_ROWS]
        if isinstance(row, dict) and row.get("code")
    ]


def _length(video: dict[str, Any]) -> str:
    match = _DURATION.fullmatch(_text(video.get("duration")))
    if match is None:
        return ""
    hours, minutes, seconds = (int(value or 0) for value in match.groups())
    return format_time(hours * 3600 + minutes * 60 + seconds)


def _chapters(entries: Entries, folder: str, video: dict[str, Any]) -> list[Chapter]:
    rows = video.get("chapterList")
    chapters = [
        Chapter(float(row["startTime"]), _text(row.get("title")))
        for row in (rows if isinstance(rows, list) else [])[:_MAX_ROWS]
        if isinstance(row, dict) and isinstance(row.get("startTime"), int | float)
    ]
    path = _text(video.get("chaptersPath"))
    return chapters or (read_chapters(entries.read_if_present(f"{folder}{path}")) if path else [])


def _read_playlist(entries: Entries, folder: str, match: re.Match[str], _languages: Sequence[str]) -> Document | None:
    playlist = _read_json(entries, f"{folder}playlists/{match[1]}.json")
    if playlist is None:
        return None
    builder = DocumentBuilder()
    _add_paragraphs(builder, playlist.get("description"))
    rows = [row for row in playlist.get("videos") or [] if isinstance(row, dict)][:_MAX_ROWS]
    links = []
    for row in rows:
        title = _text(row.get("title"))
        builder.add("list", f"- {title}")
        links.append(Link("internal", f"{folder}index/{_text(row.get('slug'))}", "", title, 0))
    return builder.build(_text(playlist.get("title")), links=tuple(links))


def _read_book(entries: Entries, folder: str, match: re.Match[str], _languages: Sequence[str]) -> Document | None:
    """Read a book of gutenberg2zim: the text itself where the archive has it, else what is known of it."""
    book = _read_json(entries, f"{folder}books/{match[1]}.json")
    if book is None:
        return None
    title = ": ".join(filter(None, (_text(book.get("title")), _text(book.get("subtitle")))))
    formats = [row for row in book.get("formats") or [] if isinstance(row, dict) and row.get("available", True)]
    paths = {str(row.get("format", "")).lower(): str(row.get("path", "")).lstrip("./") for row in formats}
    raw = entries.read_if_present(folder + paths["html"]) if paths.get("html") else None
    builder = DocumentBuilder()
    author = book.get("author")
    name = _text(author.get("name")) if isinstance(author, dict) else _text(author)
    if name:
        builder.add("facts", f"- Author: {name}")
    _add_paragraphs(builder, book.get("description"))
    if raw:
        builder.add_document(read_html(raw, folder + paths["html"]), 0)
    return builder.build(title, facts=(("Author", name),) if name else ())


def _read_author(entries: Entries, folder: str, match: re.Match[str], _languages: Sequence[str]) -> Document | None:
    path = f"{folder}noscript/author_{match[1]}.html"
    raw = entries.read_if_present(path)
    return read_html(raw, path) if raw else None


def _read_lesson(entries: Entries, folder: str, match: re.Match[str], _languages: Sequence[str]) -> Document | None:
    """Read a challenge of freeCodeCamp, or a page of MindTouch, whose routes are both plain paths."""
    route = unquote(match[1])
    path = f"{folder}content/curriculum/{route}.md"
    raw = entries.read_if_present(path)
    if raw is not None:
        return read_markdown(raw, path)
    shared = _read_json(entries, f"{folder}content/shared.json")
    pages = shared.get("pages") if shared else None
    numbers = [
        row.get("id") for row in (pages if isinstance(pages, list) else [])
        if isinstance(row, dict) and str(row.get("path", "")).strip("/") == route.strip("/")
    ]  # fmt: skip
    return read_page_content(entries, folder, str(numbers[0])) if numbers else None


def read_page_content(entries: Entries, folder: str, number: str) -> Document | None:
    """Read a page of mindtouch2zim by its number."""
    page = _read_json(entries, f"{folder}content/page_content_{number}.json")
    body = page.get("htmlBody") if page else None
    return read_html(body.encode(), f"{folder}index.html") if isinstance(body, str) else None


def _read_place(_entries: Entries, _folder: str, match: re.Match[str], _languages: Sequence[str]) -> Document | None:
    """Read a place of maps2zim: its coordinates stand in the route."""
    coordinates = _coordinates_of(match)
    if coordinates is None:
        return None
    builder = DocumentBuilder()
    builder.add("facts", f"- Coordinates: {coordinates}")
    return builder.build(facts=(("Coordinates", str(coordinates)),), coordinates=coordinates)


def read_place_route(route: str) -> Coordinates | None:
    """Return the coordinates in a route of maps2zim."""
    match = _PLACE_ROUTE.match(route)
    return _coordinates_of(match) if match else None


def _coordinates_of(match: re.Match[str]) -> Coordinates | None:
    return make_coordinates(float(match[1]), float(match[2]))


ROUTES: tuple[tuple[re.Pattern[str], Route], ...] = (
    (re.compile(r"/?watch/([^/?]+)"), _read_video),
    (re.compile(r"/?playlist/([^/?]+)"), _read_playlist),
    (re.compile(r"/?book/(\d+)"), _read_book),
    (re.compile(r"/?author/(\d+)"), _read_author),
    (_PLACE_ROUTE, _read_place),
    (re.compile(r"/?([^?]+)"), _read_lesson),
)


def leads_outside(target: str) -> str:
    """Return the sentence about a page that only refers to something that is not in the archive."""
    return f"This page only refers to {safe_line(target, 300)}, which is not in this archive."

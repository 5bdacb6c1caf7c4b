"""What an archive says of itself, and what is in it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openzim_mcp.calls import OMIT_NONE
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive

_SAMPLE = 5
_ICON_SIZE = 48
_LARGEST_ICON = 8 << 10
_PNG = b"\x89PNG\r\n\x1a\n"
_LONGEST_VALUE = 1000
_LONGEST_TITLE = 40
_LOWER_CASE_TOO = (
    "Title", "Language", "Creator", "Publisher", "Flavour", "Date", "Name", "Description", "Source", "License", "Tags",
)  # fmt: skip
_ILLUSTRATION = re.compile(r"Illustration_(\d+)x(\d+)@(\d+)")
_COUNTER = re.compile(r"\s*(?P<mime>[^;=]+(?:;[^;=]+=[^;=]+(?==))*)=(?P<count>\d+)(?:;|$)")
_DESCRIPTIONS = {
    ("A", False): "articles",
    ("B", False): "article metadata",
    ("C", True): "content: articles, images, styles and scripts",
    ("I", False): "images and other files",
    ("J", False): "scripts",
    ("M", True): "metadata",
    ("M", False): "metadata",
    ("U", False): "categories",
    ("V", False): "category lists",
    ("W", True): "well-known entries such as the main page",
    ("X", True): "search indexes and title lists",
    ("X", False): "search indexes",
    ("-", False): "layout: styles, scripts, favicon",
}


@dataclass(frozen=True)
class Namespace:
    """A namespace: how many entries it has, what they are, and a few of them, spread evenly."""

    count: int
    description: str
    sample: list[str]


@dataclass(frozen=True)
class Metadata:
    """Everything known of an archive without reading its articles."""

    archive: str
    metadata: dict[str, str]
    counts: dict[str, int]
    main_page: str | None
    namespaces: dict[str, Namespace]
    archive_identity: dict[str, str | bool]
    index_capabilities: dict[str, bool]
    illustrations: list[str]
    counter_breakdown: dict[str, int] | None = field(default=None, metadata=OMIT_NONE)


@dataclass(frozen=True)
class Label:
    """What a list of archives shows of each; `icon` is a small PNG in base64, or nothing."""

    title: str
    description: str
    language: str
    date: str
    icon: str


def label(archive: Archive) -> Label:
    """Return what names an archive in a list."""
    picture = archive.illustration(_ICON_SIZE, _LARGEST_ICON)
    return Label(
        title=safe_line(archive.says("Title"), 200),
        description=safe_line(archive.says("Description"), 300),
        language=safe_line(archive.languages, 50),
        date=safe_line(archive.says("Date"), 20),
        icon=base64.b64encode(picture).decode() if picture.startswith(_PNG) else "",
    )


def describe(archive: Archive) -> Metadata:
    """Return the metadata and the namespaces of an archive."""
    return Metadata(**facts(archive), namespaces=namespaces(archive))


def namespaces(archive: Archive) -> dict[str, Namespace]:
    """Return the namespaces of an archive."""
    return {safe_line(letter, 10): _namespace(archive, letter) for letter in archive.namespaces}


def facts(archive: Archive) -> dict[str, Any]:
    """Return everything but the namespaces."""
    raw = archive.metadata()
    texts = {key: _text(value) for key, value in raw.items() if not _ILLUSTRATION.fullmatch(key)}
    return {
        "archive": archive.shown,
        "metadata": texts | {key.lower(): texts[key] for key in _LOWER_CASE_TOO if key in texts},
        "counts": archive.counts,
        "main_page": archive.main_path,
        "archive_identity": {"uuid": archive.uuid, "is_multipart": archive.is_multipart},
        "index_capabilities": {
            "has_fulltext_index": archive.has_fulltext_index,
            "has_title_index": archive.has_title_index,
        },
        "illustrations": ["{}x{}@{}".format(*m.groups()) for key in raw if (m := _ILLUSTRATION.fullmatch(key))],
    } | ({"counter_breakdown": _counter(texts["Counter"])} if "Counter" in texts else {})


def title(archive: Archive) -> dict[str, str]:
    """Return what an archive calls itself, in a few words."""
    return {"title": safe_line(_text(archive.metadata().get("Title", b"")), _LONGEST_TITLE)}


def _text(value: bytes) -> str:
    try:
        return safe_line(value.decode(), _LONGEST_VALUE)
    except UnicodeDecodeError:
        return f"({len(value)} bytes that are not text)"


def _namespace(archive: Archive, letter: str) -> Namespace:
    numbers = archive.namespaces[letter]
    step = max(1, len(numbers) // _SAMPLE)
    return Namespace(
        count=len(numbers),
        description=_DESCRIPTIONS.get((letter, archive.has_new_scheme), "other entries"),
        sample=[archive.entry_at(number).path for number in numbers[::step][:_SAMPLE]],
    )


def _counter(text: str) -> dict[str, int]:
    """Read `text/html=5;image/png=2`; a MIME type may have parameters, as in `text/html;raw=true=3`."""
    return {match["mime"]: int(match["count"]) for match in _COUNTER.finditer(text)}

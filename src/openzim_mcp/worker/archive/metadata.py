"""The metadata, counts and namespaces of an archive."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.calls.archive import ArchiveIdentity, IndexCapabilities, Metadata, Namespace
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.archive.type_counts import count_types

if TYPE_CHECKING:
    from openzim_mcp.calls.archive import ListNamespaces, ReadMetadata
    from openzim_mcp.worker.zim import Archive

_SAMPLED_PATHS = 5
_MAX_VALUE_CHARS = 1000
_KEYS_ALSO_IN_LOWER_CASE = (
    "Title", "Language", "Creator", "Publisher", "Flavour", "Date", "Name", "Description", "Source", "License", "Tags",
)  # fmt: skip
_ILLUSTRATION = re.compile(r"Illustration_(\d+)x(\d+)@(\d+)")
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


def read_metadata(archive: Archive, call: ReadMetadata) -> Metadata:
    """Return the metadata of an archive, with its namespaces if requested."""
    raw = archive.metadata()
    texts = {key: _metadata_text(value) for key, value in raw.items() if not _ILLUSTRATION.fullmatch(key)}
    return Metadata(
        archive=archive.file_name,
        kind=archive_kind(archive),
        metadata=texts | {key.lower(): texts[key] for key in _KEYS_ALSO_IN_LOWER_CASE if key in texts},
        counts=archive.counts,
        main_page=archive.main_path,
        namespaces=_describe_namespaces(archive) if call.with_namespaces else None,
        archive_identity=ArchiveIdentity(archive.uuid, archive.is_multipart),
        index_capabilities=IndexCapabilities(archive.has_fulltext_index, archive.has_title_index),
        illustrations=["{}x{}@{}".format(*m.groups()) for key in raw if (m := _ILLUSTRATION.fullmatch(key))],
        counter_breakdown=count_types(raw["Counter"].decode(errors="replace")) if "Counter" in raw else None,
    )


def list_namespaces(archive: Archive, _call: ListNamespaces) -> dict[str, Namespace]:
    """Return the namespaces of an archive."""
    return _describe_namespaces(archive)


def _describe_namespaces(archive: Archive) -> dict[str, Namespace]:
    return {safe_line(letter, 10): _describe_namespace(archive, letter) for letter in archive.namespaces}


def _metadata_text(value: bytes) -> str:
    try:
        return safe_line(value.decode(), _MAX_VALUE_CHARS)
    except UnicodeDecodeError:
        return f"({len(value)} bytes that are not text)"


def _describe_namespace(archive: Archive, letter: str) -> Namespace:
    ids = archive.namespaces[letter]
    step = max(1, len(ids) // _SAMPLED_PATHS)
    return Namespace(
        count=len(ids),
        description=_DESCRIPTIONS.get((letter, archive.has_new_scheme), "other entries"),
        sample=[archive.entry_by_id(number).path for number in ids[::step][:_SAMPLED_PATHS]],
    )

"""Transcripts of videos: which subtitles to read, and how they follow the text of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from openzim_mcp import errors
from openzim_mcp.languages import two_letter_code
from openzim_mcp.text import safe_line
from openzim_mcp.worker.readers.subtitles import Chapter, add_transcript, parse_chapters, parse_cues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.readers.builder import DocumentBuilder

TRANSCRIPT_ID = "transcript"
_ENGLISH = "en"
_MAX_NAMED_LANGUAGES = 12
_ROLLING_MARK = b"<c>"
"""Automatic captions have a tag around each word."""
_MAX_COMPARED_TRACKS = 3


class Subtitles(NamedTuple):
    """A file of subtitles in the archive."""

    path: str
    language: str
    label: str


class Entries(Protocol):
    """The entries of an archive."""

    def read_if_present(self, path: str) -> bytes | None:
        """Return the content at a path; None if there is no entry."""


def add_subtitles(
    builder: DocumentBuilder,
    entries: Entries,
    subtitles: Sequence[Subtitles],
    languages: Sequence[str],
    chapters: Sequence[Chapter] = (),
) -> None:
    """Add the transcript in the first of some languages that there is, and name the others."""
    chosen = _choose(entries, subtitles, languages)
    if chosen is None:
        return
    track, raw = chosen
    cues = parse_cues(raw)
    if not cues:
        return
    name = track.label or track.language
    builder.open_section(f"Transcript ({name})" if name and len(subtitles) > 1 else "Transcript", 1, TRANSCRIPT_ID)
    others = [row.label or row.language for row in subtitles if row is not track]
    if others:
        more = f" and {len(others) - _MAX_NAMED_LANGUAGES} more" if len(others) > _MAX_NAMED_LANGUAGES else ""
        builder.add("notice", safe_line(f"Also subtitled in: {', '.join(others[:_MAX_NAMED_LANGUAGES])}{more}", 500))
    add_transcript(builder, cues, chapters, level=2)


def _choose(
    entries: Entries, subtitles: Sequence[Subtitles], languages: Sequence[str]
) -> tuple[Subtitles, bytes] | None:
    """Return the track to read: the first language, then English, then any; among equals one typed by people."""
    order = [*map(two_letter_code, languages), _ENGLISH]

    def rank(track: Subtitles) -> int:
        code = two_letter_code(track.language)
        return order.index(code) if code in order else len(order)

    best: tuple[Subtitles, bytes] | None = None
    ranked = sorted(subtitles, key=rank)
    for track in [row for row in ranked if rank(row) == rank(ranked[0])][:_MAX_COMPARED_TRACKS] or ranked[:1]:
        try:
            raw = entries.read_if_present(track.path)
        except errors.OpenZimMcpArchiveError:
            continue
        if raw is not None and (best is None or _ROLLING_MARK in best[1]):
            best = track, raw
    return best


def read_chapters(raw: bytes | None) -> list[Chapter]:
    """Return the chapters of a file of chapters, if there is one."""
    return parse_chapters(raw) if raw else []

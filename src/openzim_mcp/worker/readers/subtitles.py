"""Subtitles (WebVTT, SRT) as text: cues joined into sentences and paragraphs, each with its time."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import SENTENCE_MARKS, escape_markdown, is_unspaced_script, visible_line
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.text import to_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.document import Document

_TIMING = re.compile(
    r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})\s*-{1,2}>\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
)
_VOICE = re.compile(r"<v(?:\.[^ >]*)?\s+([^>]{1,60})>")
_TAG = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,50}\}")
_SENTENCE_END = re.compile(rf"[{SENTENCE_MARKS}][\"”’»)\]]?$")
_PARAGRAPH_CHARS = 280
"""A paragraph ends after the sentence that makes it so long,"""
_MAX_PARAGRAPH_CHARS = 480
"""or after the cue that makes it so long, as many captions have no marks."""
_PAUSE_SECONDS = 4.0
_SECTION_SECONDS = 60
_COMPARED_LINES = 2
_MAX_CUES = 100_000


class Cue(NamedTuple):
    """What is shown from one time to another, in seconds."""

    start: float
    end: float
    text: str


class Chapter(NamedTuple):
    """A part of a video."""

    start: float
    title: str


def read_subtitles(raw: bytes, _path: str = "") -> Document:
    """Return subtitles as a document, in sections of a minute."""
    builder = DocumentBuilder()
    add_transcript(builder, parse_cues(raw))
    return builder.build()


def parse_cues(raw: bytes) -> list[Cue]:
    """Return the cues of WebVTT or SRT in the order of their times, without markup and repeated lines."""
    return list(_without_repeats(sorted(_parse(to_utf8(raw).decode(errors="replace")), key=lambda cue: cue.start)))


def parse_chapters(raw: bytes) -> list[Chapter]:
    """Return the chapters of a WebVTT file of chapters."""
    cues = sorted(_parse(to_utf8(raw).decode(errors="replace")), key=lambda cue: cue.start)
    return [Chapter(cue.start, " ".join(cue.text.split())) for cue in cues]


def _parse(text: str) -> Iterator[Cue]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    position = count = 0
    while position < len(lines) and count < _MAX_CUES:
        timing = _TIMING.match(lines[position])
        position += 1
        if timing is None:
            continue
        start = position
        while position < len(lines) and lines[position].strip() and not _TIMING.match(lines[position]):
            position += 1
        content = [_clean_line(line) for line in lines[start:position]]
        shown = "\n".join(filter(None, content))
        if shown:
            count += 1
            yield Cue(_seconds(timing.groups()[:4]), _seconds(timing.groups()[4:]), shown)


def _clean_line(line: str) -> str:
    named = _VOICE.sub(r"\1: ", line)
    return visible_line(html.unescape(_TAG.sub("", named)))


def _seconds(groups: Sequence[str]) -> float:
    hours, minutes, seconds, fraction = groups
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")


def _without_repeats(cues: Sequence[Cue]) -> Iterator[Cue]:
    """Yield cues line by line; a line that rolls up is shown once, and one that grows only when it is complete."""
    recent: list[str] = []
    pending: Cue | None = None
    for cue in cues:
        for line in cue.text.split("\n"):
            if line in recent:
                continue
            if pending and line.startswith(pending.text):
                pending = Cue(pending.start, cue.end, line)
            else:
                if pending:
                    yield pending
                pending = Cue(cue.start, cue.end, line)
            recent = [*recent, line][-_COMPARED_LINES:]
    if pending:
        yield pending


def add_transcript(
    builder: DocumentBuilder, cues: Sequence[Cue], chapters: Sequence[Chapter] = (), level: int = 1
) -> None:
    """Add what is said as paragraphs, in sections by chapter, else by minute."""
    marks = list(chapters) or [Chapter(minute, "") for minute in _minutes(cues)]
    next_mark = 0
    for start, text in _paragraphs(cues, [mark.start for mark in chapters]):
        time = format_time(start)
        opened: Chapter | None = None
        while next_mark < len(marks) and marks[next_mark].start <= start + 0.5:
            opened = marks[next_mark]
            next_mark += 1
        builder.locator = time
        if opened is not None:
            builder.open_section(opened.title or time, level, f"t-{int(opened.start)}", with_heading=bool(opened.title))
        builder.add("paragraph", escape_markdown(text))
    builder.locator = ""


def _minutes(cues: Sequence[Cue]) -> list[float]:
    return [float(start) for start in range(0, int(cues[-1].start) + 1, _SECTION_SECONDS)] if cues else []


def _paragraphs(cues: Sequence[Cue], breaks: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Yield paragraphs with the time of their first cue; one ends at each of the breaks."""
    start, text, end = 0.0, "", 0.0
    for cue in cues:
        is_long = len(text) >= _PARAGRAPH_CHARS and _SENTENCE_END.search(text)
        is_pause = cue.start - end > _PAUSE_SECONDS
        is_break = any(start < mark <= cue.start + 0.5 for mark in breaks)
        if text and (is_long or is_pause or is_break or len(text) >= _MAX_PARAGRAPH_CHARS):
            yield start, text
            text = ""
        if not text:
            start, text = cue.start, cue.text
        else:
            is_unspaced = is_unspaced_script(text[-1:]) and is_unspaced_script(cue.text[:1])
            text += cue.text if is_unspaced else f" {cue.text}"
        end = cue.end
    if text:
        yield start, text


def format_time(seconds: float) -> str:
    """Return a time as people write it: `03:15`, beyond an hour `1:03:15`."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"

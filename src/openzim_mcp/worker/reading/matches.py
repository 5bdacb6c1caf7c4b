"""Find words in one entry: the lines that hold all of them, and where to read on from there."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.calls.reading import TextMatch, TextMatches
from openzim_mcp.text import find_words, is_unspaced_script, normalize, place_in_page, safe_line, word_spans
from openzim_mcp.worker import render
from openzim_mcp.worker.document import BLOCK_SEPARATOR, describe_extent
from openzim_mcp.worker.reading import article, long_documents, resolve
from openzim_mcp.worker.search.language import query_language
from openzim_mcp.worker.search.snippets import best_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.calls.reading import FindText
    from openzim_mcp.worker.document import Block, Document
    from openzim_mcp.worker.search.language import Language
    from openzim_mcp.worker.zim import Archive, Item

_MAX_TEXT_CHARS = 240
_MAX_SECTION_CHARS = 200
_MAX_SPANS = 100
"""Of the words found in a line, as many as decide which part of a long one is shown."""
_EXACT, _STEMS = 0, 1


class _Line(NamedTuple):
    """A line of a block that holds all words: exactly, or other forms of them."""

    form: int
    block: int
    start: int
    text: str


class _Words:
    """The words to find: of scripts without spaces anywhere, of others as whole words; signs as they are written."""

    def __init__(self, find: str, language: Language) -> None:
        words = find_words(normalize(find))
        self._stem = language.stem
        self._words = {word for word in words if not is_unspaced_script(word)}
        self._stems = set(map(self._stem, self._words))
        self._runs = [word for word in words if is_unspaced_script(word)] or ([] if words else [normalize(find)])

    def find_form(self, text: str) -> int | None:
        """Return in which form a text holds all words; None if it does not."""
        normalized = normalize(text)
        if not all(run in normalized for run in self._runs):
            return None
        words = set(find_words(normalized))
        if self._words <= words:
            return _EXACT
        return _STEMS if self._stems <= set(map(self._stem, words)) else None

    def find_spans(self, line: str, form: int) -> list[tuple[int, int]]:
        """Return where the first words to find stand in a line, in the form in which it has all of them."""
        spans = [span for span in word_spans(line) if self._is_wanted(line[slice(*span)], form)] if self._words else []
        spans += [span for run in self._runs if (span := _find_run(line, run))]
        return sorted(spans)[:_MAX_SPANS]

    def _is_wanted(self, word: str, form: int) -> bool:
        normalized = normalize(word)
        return normalized in self._words if form == _EXACT else self._stem(normalized) in self._stems


def _find_run(line: str, run: str) -> tuple[int, int] | None:
    """Return where a run of normalized characters stands in a line."""
    characters = [normalize(character) for character in line]
    ends = list(accumulate(map(len, characters)))
    at = "".join(characters).find(run)
    if at < 0:
        return None
    start = next(number for number, end in enumerate(ends) if end > at)
    return start, start + len(run)


def find_text(archive: Archive, call: FindText) -> TextMatches:
    """Return some of the lines that hold all words: those with the words as written first, in the order of the page."""
    item, fragment = resolve.require_place(archive, call.path)
    page, blocks, note = _load(archive, item, fragment)
    words = _Words(call.find, query_language(archive, call.find))
    lines = _find_lines(blocks, words)
    article.check_offset(item, call.offset, len(lines), "matches")
    shown = render.collapse_large_blocks(page, blocks) if call.compact else blocks
    starts = [0, *accumulate(len(block.text) + len(BLOCK_SEPARATOR) for block in shown)]
    matches: list[TextMatch] = []
    chars = 0
    for line in lines[call.offset : call.offset + call.limit]:
        match = _make_match(page, blocks[line.block], shown[line.block], starts[line.block], line, words)
        chars += len(match.text)
        if matches and chars > call.max_chars:
            break
        matches.append(match)
    stop = call.offset + len(matches)
    next_offset = stop if stop < len(lines) else None
    return TextMatches(item.path, item.title, archive.file_name, call.find, matches, len(lines), next_offset, note)


def _load(archive: Archive, item: Item, fragment: str) -> tuple[Document, Sequence[Block], str | None]:
    """Return a document, the blocks of it that a fragment names, and a note if others are searched than that."""
    pdf = None if fragment else long_documents.open_long(archive, item)
    if pdf is not None:
        page = long_documents.read_in_time(archive, item, pdf)
        extent = describe_extent(page)
        return (
            page,
            page.blocks,
            f"{extent} were searched in time; repeat the call, or search one part: PATH#SECTION." if extent else None,
        )
    page, blocks, _ = article.load_part(archive, item, fragment, 0)
    if fragment and blocks is page.blocks:
        return page, blocks, f"The page has no part {safe_line(fragment, 100)!r}; all of it was searched."
    return page, blocks, None


def _find_lines(blocks: Sequence[Block], words: _Words) -> list[_Line]:
    """Return the lines that hold all words, those with the words as written first."""
    lines: list[_Line] = []
    for number, block in enumerate(blocks):
        if words.find_form(block.text) is not None:
            start = 0
            for text in block.text.split("\n"):
                form = words.find_form(text)
                if form is not None:
                    lines.append(_Line(form, number, start, text))
                start += len(text) + 1
    return sorted(lines, key=lambda line: line.form)


def _make_match(page: Document, block: Block, shown: Block, block_start: int, line: _Line, words: _Words) -> TextMatch:
    """Return a line, or the part of a long one that has most of the words, and its offset in the text shown."""
    spans = [(start, stop, 1.0) for start, stop in words.find_spans(line.text, line.form)]
    start, stop = best_window(line.text, spans, _MAX_TEXT_CHARS)
    text = line.text[start:stop].strip()
    text = text.lstrip("# ") if block.kind == "heading" else text
    is_folded = not shown.text.startswith(block.text[: line.start + len(line.text)])
    section = safe_line(page.sections[block.section].title, _MAX_SECTION_CHARS)
    return TextMatch(
        place_in_page(section, block.locator),
        ("… " if start else "") + text + (" …" if stop < len(line.text) else ""),
        block_start + (0 if is_folded else line.start + start),
    )

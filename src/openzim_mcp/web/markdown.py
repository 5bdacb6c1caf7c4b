"""Markdown, as documents and answers have it, to HTML; every character of an archive is escaped here.

The Markdown is that of our own readers, so this knows no more of it: paragraphs, lists, tables, code, quotations,
emphasis. Marks in a text (`calls.page`) become links, pictures and formulas.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from openzim_mcp.calls.page import MARK_PATTERN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MAX_DEPTH = 14
"""Lists and quotations that are nested deeper are shown as text."""
_CODE = re.compile(r"(`` .+? ``|`[^`\n]+`)")
_STRONG = re.compile(r"\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*")
_EMPHASIS = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]+?)(?<=[^\s*])\*(?![\w*])")
_STRUCK = re.compile(r"~~(?=\S)([^\n]+?)(?<=\S)~~")
_MARKS = re.compile(MARK_PATTERN)
_ESCAPED_START = re.compile(r"^\\(?=[#>`~=*|\[(\-A-Z])", re.MULTILINE)
_FENCE = re.compile(r"(`{3,})([\w+#.-]*)$")
_ITEM = re.compile(r"(- |\d{1,9}\. )")
_CUT_ITEM = re.compile(r"^… (- |\d{1,9}\. )", re.MULTILINE)
_HEADING = re.compile(r"(#{1,6}) (.+)$")
_TABLE_RULE = re.compile(r"\|(?: --- \|)+$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_WORD = re.compile(r"&(?:\w+|#\d+);|\w+")


def _keep_marks(text: str) -> str:
    return _MARKS.sub("", text)


@dataclass(frozen=True)
class Renderer:
    """Renders blocks; `replace_marks` turns marks into elements, `is_matched` tells which words are marked."""

    replace_marks: Callable[[str], str] = field(default=_keep_marks)
    is_matched: Callable[[str], bool] | None = None

    def inline(self, text: str) -> Markup:
        """Return a text with emphasis, code, line breaks and what its marks stand for."""
        pieces = _CODE.split(_ESCAPED_START.sub("", text))
        html = "".join(
            f"<code>{escape(piece.strip('`').strip())}</code>" if number % 2 else self._emphasize(piece)
            for number, piece in enumerate(pieces)
        )
        return Markup(self.replace_marks(html).replace("\n", "<br>\n"))  # noqa: S704  escaped piece by piece

    def _emphasize(self, text: str) -> str:
        html = str(escape(text))
        if self.is_matched is not None:
            html = _WORD.sub(self._mark_word, html)
        if "*" in html:
            html = _EMPHASIS.sub(r"<em>\1</em>", _STRONG.sub(r"<strong>\1</strong>", html))
        return _STRUCK.sub(r"<del>\1</del>", html) if "~~" in html else html

    def _mark_word(self, match: re.Match[str]) -> str:
        word = match[0]
        is_matched = self.is_matched is not None and word[0] != "&" and self.is_matched(word)
        return f"<mark>{word}</mark>" if is_matched else word

    def blocks(self, text: str) -> Markup:
        """Return a text of several blocks; an item after an ellipsis is an item too."""
        text = _CUT_ITEM.sub(r"\1… ", text) if "… " in text else text
        return Markup("\n").join(self._blocks(text.split("\n"), 0))

    def _blocks(self, lines: Sequence[str], depth: int) -> list[Markup]:
        html: list[Markup] = []
        position = 0
        while position < len(lines):
            line = lines[position]
            stop = position + 1
            if not line.strip():
                position = stop
                continue
            if depth > _MAX_DEPTH:
                html.append(self._paragraph(lines[position:]))
                break
            if fence := _FENCE.match(line):
                stop = _find_fence_end(lines, stop, fence[1])
                html.append(code_block(lines[position + 1 : stop - 1], fence[2]))
            elif line.startswith("|"):
                stop = _find_end(lines, stop, lambda row: row.startswith("|"))
                html.append(self._table(lines[position:stop]))
            elif line.startswith(">"):
                stop = _find_end(lines, stop, lambda row: row.startswith(">"))
                inner = [row[1:].removeprefix(" ") for row in lines[position:stop]]
                html.append(_element("blockquote", Markup("\n").join(self._blocks(inner, depth + 1))))
            elif _ITEM.match(line):
                stop = _find_list_end(lines, position)
                html.append(self._list(lines[position:stop], depth))
            elif heading := _HEADING.match(line):
                html.append(_element("p", _element("strong", self.inline(heading[2]))))
            else:
                stop = _find_end(lines, stop, _is_paragraph_line)
                html.append(self._paragraph(lines[position:stop]))
            position = stop
        return html

    def _paragraph(self, lines: Sequence[str]) -> Markup:
        text = "\n".join(lines)
        if text.startswith(": "):
            return Markup('<p class="dd">{}</p>').format(self.inline(text[2:]))
        return _element("p", self.inline(text))

    def _list(self, lines: Sequence[str], depth: int) -> Markup:
        items: list[list[str]] = []
        first = _ITEM.match(lines[0])
        for line in lines:
            marker = _ITEM.match(line)
            if marker:
                items.append([line[marker.end() :]])
            else:
                items[-1].append(line)
        rows = Markup("\n").join(_element("li", self._item(item, depth)) for item in items)
        if first is None or first[0] == "- ":
            return Markup("<ul>{}</ul>").format(rows)
        return Markup('<ol start="{}">{}</ol>').format(int(first[0][:-2]), rows)

    def _item(self, lines: list[str], depth: int) -> Markup:
        """Return an item: its first line is not a paragraph of its own, so that short items stay short."""
        rest = _unindent(lines[1:])
        first_is_text = (
            bool(lines[0]) and not _ITEM.match(lines[0]) and lines[0][0] not in "|>" and "```" not in lines[0]
        )
        if not first_is_text:
            return Markup("\n").join(self._blocks([lines[0], *rest], depth + 1))
        inner = self._blocks(rest, depth + 1)
        return Markup("\n").join([self.inline(lines[0]), *inner])

    def _table(self, lines: Sequence[str]) -> Markup:
        rows = [_split_cells(line) for line in lines if not _TABLE_RULE.match(line)]
        has_header = len(lines) > 1 and bool(_TABLE_RULE.match(lines[1])) and any(rows[0])
        head = Markup("")
        if has_header:
            cells = Markup("").join(Markup('<th scope="col">{}</th>').format(self.inline(cell)) for cell in rows[0])
            head = Markup("<thead><tr>{}</tr></thead>").format(cells)
        body = Markup("\n").join(
            _element("tr", Markup("").join(_element("td", self.inline(cell)) for cell in row))
            for row in rows[1 if has_header else 0 :]
        )
        return Markup(
            '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>{}<tbody>{}</tbody></table></div>'
        ).format(head, body)


def code_block(lines: Sequence[str], language: str = "") -> Markup:
    """Return code as it is; a wide one scrolls, also by keyboard."""
    label = Markup(' data-language="{}"').format(language) if language else Markup("")
    return Markup('<pre tabindex="0"{}><code>{}</code></pre>').format(label, "\n".join(lines))


def _element(tag: str, content: Markup) -> Markup:
    return Markup(f"<{tag}>{{}}</{tag}>").format(content)  # noqa: S704  tags are ours


def _split_cells(line: str) -> list[str]:
    cells = _CELL_BORDER.split(line.strip().removeprefix("|").removesuffix("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]


def _find_fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    """Return where code ends, after its fence; code that was cut ends with the text."""
    return next((number + 1 for number in range(start, len(lines)) if lines[number].strip() == fence), len(lines) + 1)


def _find_end(lines: Sequence[str], start: int, belongs: Callable[[str], bool]) -> int:
    return next((number for number in range(start, len(lines)) if not belongs(lines[number])), len(lines))


def _find_list_end(lines: Sequence[str], start: int) -> int:
    """Return where a list ends: at a line that is neither an item nor indented, nor blank before such a line."""
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            following = lines[number + 1] if number + 1 < len(lines) else ""
            if not (_ITEM.match(following) or following.startswith("  ")):
                return number
        elif not (_ITEM.match(line) or line.startswith(" ")):
            return number
    return len(lines)


def _is_paragraph_line(line: str) -> bool:
    is_other = line.startswith(("|", ">")) or _ITEM.match(line) or _FENCE.match(line) or _HEADING.match(line)
    return bool(line.strip()) and not is_other


def _unindent(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]

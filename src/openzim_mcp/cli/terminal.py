"""How results are shown: the same blocks in color on a terminal, as Markdown in a pipe, or the payload as JSON.

Text from archives is not trusted: control characters never reach the terminal.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TextIO, TypeAlias

from openzim_mcp.text import replace_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn
    from rich.text import Text

    from openzim_mcp import errors

Style = Literal["", "good", "warn", "bad", "dim"]
_COLORS: dict[Style, str] = {"": "", "good": "green", "warn": "yellow", "bad": "red", "dim": "dim"}
_ASCII_REPLACEMENTS = {
    "…": "...",
    "—": "-",
    "–": "-",
    "›": ">",
    "→": "->",
    "‘": "'",
    "’": "'",
    "“": '"',
    "”": '"',
    "•": "*",
    "×": "x",
    "✓": "+",
    "ß": "ss",
    "æ": "ae",
    "ø": "o",
    "ł": "l",
}
_MIN_WIDTH_FOR_BARS = 60
_MIN_COLUMN_WIDTH = 11
_MAX_LISTED_NAMES = 20
_DETAILS_IN_HINT = {"did_you_mean", "arguments"}  # fields for programs; the hint or message says the same


@dataclass(frozen=True)
class Cell:
    """Text with a style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Table:
    """Rows under a header; `right` names the columns aligned to the right, `whole` those that are never wrapped."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: frozenset[str] = field(default_factory=frozenset)
    whole: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class KeyValues:
    """Names and values, one pair per line."""

    rows: Sequence[tuple[str, str | Cell]]


@dataclass(frozen=True)
class Lines:
    """Lines that are not wrapped."""

    rows: Sequence[Cell]


Block: TypeAlias = str | Cell | Table | KeyValues | Lines
"""A plain string is Markdown."""


def _ascii_replacement(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    replacements = []
    for character in error.object[error.start : error.end]:
        base = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
        replacements.append(_ASCII_REPLACEMENTS.get(character) or base or "?")
    return "".join(replacements), error.end


def replace_unencodable() -> None:
    """Write similar ASCII characters for those that the console's encoding lacks, instead of failing."""
    codecs.register_error("ascii-replacement", _ascii_replacement)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ascii-replacement")


def _as_cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _to_markdown(block: Block) -> str:
    if isinstance(block, Table):
        rows = [list(block.header), ["--:" if name in block.right else "---" for name in block.header]]
        rows += [[_as_cell(cell).text.replace("|", "\\|").replace("\n", " ") for cell in row] for row in block.rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if isinstance(block, KeyValues):
        return "\n".join(f"- {name}: {_as_cell(value).text}" for name, value in block.rows)
    if isinstance(block, Lines):
        return "\n".join(row.text for row in block.rows)
    return _as_cell(block).text


def _stack_rows(table: Table) -> list[KeyValues]:
    """Return each row of a table as names and values, for a terminal that is too narrow for columns."""
    return [KeyValues(list(zip(table.header, row, strict=True))) for row in table.rows]


def _min_table_width(table: Table) -> int:
    """Return the width below which the columns are too narrow to read."""
    texts = {name: [_as_cell(row[column]).text for row in table.rows] for column, name in enumerate(table.header)}
    return sum(
        max(map(len, [name, *texts[name]])) + 2 if name in table.whole else _MIN_COLUMN_WIDTH for name in table.header
    )


def _render_text(cell: str | Cell) -> Text:
    from rich.text import Text  # noqa: PLC0415

    return Text(replace_control(_as_cell(cell).text), style=_COLORS[_as_cell(cell).style])


def _render_markdown(markdown: str) -> RenderableType:
    """Render Markdown with headings aligned left and URLs visible."""
    from rich import markdown as md  # noqa: PLC0415

    class Heading(md.Heading):
        def __rich_console__(self, *_: object) -> Iterator[RenderableType]:
            self.text.justify = "left"
            yield self.text

    class Page(md.Markdown):
        elements: ClassVar[dict[str, type[md.MarkdownElement]]] = md.Markdown.elements | {"heading_open": Heading}

    return Page(replace_control(markdown), hyperlinks=False)


def _render_table(table: Table, width: int) -> RenderableType:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if width < _min_table_width(table):
        return Group(*(part for row in _stack_rows(table) for part in (_render_key_values(row), Text())))
    grid = Grid(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in table.header:
        side: Literal["left", "right"] = "right" if name in table.right else "left"
        grid.add_column(name, justify=side, overflow="fold", no_wrap=name in table.whole)
    for row in table.rows:
        grid.add_row(*map(_render_text, row))
    return grid


def _render_key_values(block: KeyValues) -> RenderableType:
    from rich.table import Table as Grid  # noqa: PLC0415

    grid = Grid.grid(padding=(0, 2, 0, 0))
    for name, value in block.rows:
        grid.add_row(_render_text(Cell(name, "dim")), _render_text(value))
    return grid


def _render(block: Block, width: int) -> RenderableType:
    """Return a block as Rich draws it; Rich is imported only here, as a pipe does not need it."""
    from rich.text import Text  # noqa: PLC0415

    if isinstance(block, str):
        return _render_markdown(block)
    if isinstance(block, Cell):
        return _render_text(block)
    if isinstance(block, Lines):
        return Text("\n").join(map(_render_text, block.rows))
    if isinstance(block, Table):
        return _render_table(block, width)
    return _render_key_values(block)


class ProgressBars:
    """Progress bars for one or more tasks; without a console, nothing is shown."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        if self._console is not None:
            from rich.progress import Progress  # noqa: PLC0415

            self._progress = Progress(*_progress_columns(self._console.width), console=self._console, transient=True)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def add(self, label: str, total: int | None = None) -> Callable[[int, int | None], None]:
        """Add a bar that counts bytes; return a function to call with the bytes done and, once known, the total."""
        progress = self._progress
        if progress is None:
            return lambda _done, _total: None
        task = progress.add_task(replace_control(label), total=total)

        def update(done: int, total: int | None) -> None:
            progress.update(task, completed=done, total=total)

        return update


def _progress_columns(width: int) -> list[ProgressColumn]:
    """Return the columns that fit; a narrow terminal gets no bar."""
    from rich import progress  # noqa: PLC0415

    label = progress.TextColumn("{task.description}", markup=False)
    if width < _MIN_WIDTH_FOR_BARS:
        return [label, progress.TaskProgressColumn(), progress.TimeRemainingColumn()]
    return [
        label,
        progress.BarColumn(bar_width=None),
        progress.TaskProgressColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    ]


def _supports_color(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colors, or FORCE_COLOR says so."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "") not in {"dumb", "unknown"}


def _make_console(stream: TextIO) -> Console:
    from rich.console import Console  # noqa: PLC0415

    return Console(file=stream, highlight=False, markup=False, emoji=False)


class Terminal:
    """The output of a command: results on standard output, everything else on standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        replace_unencodable()

    @property
    def is_interactive(self) -> bool:
        """Whether the results go to a terminal."""
        return not self.as_json and _supports_color(sys.stdout)

    def show(self, payload: object, *blocks: Block) -> None:
        """Show a result: its blocks, or with `--json` its payload."""
        if self.as_json:
            self._write(_format_json(payload))
        elif self.is_interactive:
            console = _make_console(sys.stdout)
            for number, block in enumerate(blocks):
                if number and not isinstance(block, Cell):
                    console.print()
                console.print(_render(block, console.width), soft_wrap=isinstance(block, Cell | Lines))
        else:
            self._write(replace_control("\n\n".join(map(_to_markdown, blocks))))

    def _write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def info(self, text: str, style: Style = "dim") -> None:
        """Write a line to standard error."""
        if _supports_color(sys.stderr):
            _make_console(sys.stderr).print(_render_text(Cell(text, style)), soft_wrap=True)
        else:
            sys.stderr.write(f"{replace_control(text)}\n")

    def error(self, error: errors.OpenZimMcpError) -> None:
        """Show an error, its hint and the names it suggests."""
        if self.as_json:
            self._write(_format_json(error.payload("command")))
            return
        for line in error.message.splitlines():
            self.info(f"openzim-mcp: {line}", "bad")
        if error.hint:
            self.info(error.hint)
        for name, values in error.details.items():
            if isinstance(values, list) and values and name not in _DETAILS_IN_HINT:
                self.info(f"{name.replace('_', ' ')}: {_join_names(values)}")

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[ProgressBars]:
        """Show progress bars on standard error, if it is a terminal."""
        is_visible = _supports_color(sys.stderr) and not self.as_json
        with ProgressBars(_make_console(sys.stderr) if is_visible else None) as bars:
            yield bars


def _join_names(values: Sequence[object]) -> str:
    names = [str(value.get("title", value) if isinstance(value, dict) else value) for value in values]
    return ", ".join(names[:_MAX_LISTED_NAMES]) + (", …" if len(names) > _MAX_LISTED_NAMES else "")


def _format_json(payload: object) -> str:
    """Return a payload as JSON that any console can show."""
    import msgspec  # noqa: PLC0415  only this needs it

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(msgspec.to_builtins(payload), ensure_ascii=plain, indent=2)
    return re.sub(r"[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)

"""The one renderer: the same blocks in colour on a terminal, as Markdown in a pipe, as JSON for scripts.

Nothing that a command shows is trusted: control characters never reach the terminal.
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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TextIO, TypeAlias

from openzim_mcp.text import replace_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console, RenderableType
    from rich.progress import ProgressColumn

    from openzim_mcp import errors

Style = Literal["", "good", "warn", "bad", "dim"]
_COLOURS: dict[Style, str] = {"": "", "good": "green", "warn": "yellow", "bad": "red", "dim": "dim"}
_PLAIN_LETTERS = {
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
_NARROW = 60
_COLUMN = 11
_NAMED = 20


@dataclass(frozen=True)
class Cell:
    """A text and how it is meant."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Table:
    """Rows under a header; numbers, named in `right`, are aligned to the right; what is in `whole` is never broken."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: frozenset[str] = field(default_factory=frozenset)
    whole: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class KeyValues:
    """Names and values, a line each."""

    rows: Sequence[tuple[str, str | Cell]]


@dataclass(frozen=True)
class Lines:
    """Lines as they are."""

    rows: Sequence[Cell]


Block: TypeAlias = str | Cell | Table | KeyValues | Lines
"""A text is Markdown."""


def _plainer(error: UnicodeError) -> tuple[str, int]:
    """Write what a console's alphabet lacks in letters that it has."""
    assert isinstance(error, UnicodeEncodeError)
    letters = []
    for letter in error.object[error.start : error.end]:
        base = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
        letters.append(_PLAIN_LETTERS.get(letter) or base or "?")
    return "".join(letters), error.end


def replace_unencodable() -> None:
    """Let no letter that a console lacks end the command."""
    codecs.register_error("plainer", _plainer)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="plainer")


def _cell(cell: str | Cell) -> Cell:
    return cell if isinstance(cell, Cell) else Cell(cell)


def _markdown(block: Block) -> str:
    """Return a block as Markdown."""
    if isinstance(block, Table):
        rows = [list(block.header), ["--:" if name in block.right else "---" for name in block.header]]
        rows += [[_cell(cell).text.replace("|", "\\|").replace("\n", " ") for cell in row] for row in block.rows]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if isinstance(block, KeyValues):
        return "\n".join(f"- {name}: {_cell(value).text}" for name, value in block.rows)
    if isinstance(block, Lines):
        return "\n".join(row.text for row in block.rows)
    return _cell(block).text


def _stacked(table: Table) -> list[KeyValues]:
    """Return a table's rows one below the other, for a terminal that is too narrow for columns."""
    return [KeyValues(list(zip(table.header, row, strict=True))) for row in table.rows]


def _least_width(table: Table) -> int:
    """Return the width below which columns are too narrow to read."""
    cells = {name: [_cell(row[at]).text for row in table.rows] for at, name in enumerate(table.header)}
    return sum(max(map(len, [name, *cells[name]])) + 2 if name in table.whole else _COLUMN for name in table.header)


def _page(markdown: str) -> RenderableType:
    """Return Markdown as Rich draws it, with headings where reading starts and addresses in sight."""
    from rich import markdown as md  # noqa: PLC0415

    class Heading(md.Heading):
        def __rich_console__(self, *_: object) -> Iterator[RenderableType]:
            self.text.justify = "left"
            yield self.text

    class Page(md.Markdown):
        elements: ClassVar[dict[str, type[md.MarkdownElement]]] = md.Markdown.elements | {"heading_open": Heading}

    return Page(markdown, hyperlinks=False)


def _renderable(block: Block, width: int) -> RenderableType:
    """Return a block as Rich draws it."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415  a pipe does without Rich
    from rich.console import Group  # noqa: PLC0415
    from rich.table import Table as Grid  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    def text(cell: str | Cell) -> Text:
        return Text(replace_control(_cell(cell).text), style=_COLOURS[_cell(cell).style])

    if isinstance(block, str):
        return _page(replace_control(block))
    if isinstance(block, Cell):
        return text(block)
    if isinstance(block, Lines):
        return Text("\n").join(map(text, block.rows))
    if isinstance(block, Table) and width < _least_width(block):
        return Group(*(part for facts in _stacked(block) for part in (_renderable(facts, width), Text())))
    if isinstance(block, Table):
        grid = Grid(header_style="bold", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for name in block.header:
            side: Literal["left", "right"] = "right" if name in block.right else "left"
            grid.add_column(name, justify=side, overflow="fold", no_wrap=name in block.whole)
        rows: Sequence[Sequence[str | Cell]] = block.rows
    else:
        grid = Grid.grid(padding=(0, 2, 0, 0))
        rows = [(Cell(name, "dim"), value) for name, value in block.rows]
    for row in rows:
        grid.add_row(*map(text, row))
    return grid


class ProgressBars:
    """Progress of one thing or of several at once; invisible where nobody watches."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._progress: Any = None

    def __enter__(self) -> Self:
        if self._console is not None:
            from rich.progress import Progress  # noqa: PLC0415

            self._progress = Progress(*_columns(self._console.width), console=self._console, transient=True)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def add(self, label: str, total: int | None = None) -> Callable[[int, int | None], None]:
        """Start a bar of bytes; call what is returned with the bytes done, and in all where that is known by now."""
        task = self._progress.add_task(replace_control(label), total=total) if self._progress else None

        def update(done: int, total: int | None) -> None:
            if self._progress:
                self._progress.update(task, completed=done, **({} if total is None else {"total": total}))

        return update


def _columns(width: int) -> list[ProgressColumn]:
    """Return what fits beside each other: the bar first gives way."""
    from rich import progress  # noqa: PLC0415

    label = progress.TextColumn("{task.description}", markup=False)
    least: list[ProgressColumn] = [label, progress.TaskProgressColumn(), progress.TimeRemainingColumn()]
    if width < _NARROW:
        return least
    return [
        label,
        progress.BarColumn(bar_width=None),
        progress.TaskProgressColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    ]


def _supports_color(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can do more than lines, or is told to be one."""
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "") not in {"dumb", "unknown"}


def _console(stream: TextIO) -> Console:
    from rich.console import Console  # noqa: PLC0415

    return Console(file=stream, highlight=False, markup=False, emoji=False)


class Terminal:
    """Where a command says what it has to say: results to standard output, all else to standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        replace_unencodable()

    @property
    def is_interactive(self) -> bool:
        """Whether a person sees the results as they come."""
        return not self.as_json and _supports_color(sys.stdout)

    def show(self, payload: Any, *blocks: Block) -> None:
        """Show a result: its blocks to people, its payload to scripts."""
        if self.as_json:
            self._write(_as_json(payload))
        elif self.is_interactive:
            console = _console(sys.stdout)
            for number, block in enumerate(blocks):
                if number and not isinstance(block, Cell):
                    console.print()
                console.print(_renderable(block, console.width), soft_wrap=isinstance(block, Cell | Lines))
        else:
            self._write(replace_control("\n\n".join(map(_markdown, blocks))))

    def _write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def info(self, text: str, style: Style = "dim") -> None:
        """Say something beside the result."""
        if _supports_color(sys.stderr):
            _console(sys.stderr).print(_renderable(Cell(text, style), 0), soft_wrap=True)
        else:
            sys.stderr.write(f"{replace_control(text)}\n")

    def error(self, error: errors.OpenZimMcpError) -> None:
        """Say what went wrong and what to do about it."""
        if self.as_json:
            self._write(_as_json(error.payload("command")))
            return
        for line in error.message.splitlines():
            self.info(f"openzim-mcp: {line}", "bad")
        if error.hint:
            self.info(error.hint)
        for name, values in error.details.items():
            if isinstance(values, list) and values:
                self.info(f"{name}: {_few(values)}")

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[ProgressBars]:
        """Show progress while the block runs."""
        watched = _supports_color(sys.stderr) and not self.as_json
        with ProgressBars(_console(sys.stderr) if watched else None) as bars:
            yield bars


def _few(values: Sequence[Any]) -> str:
    """Return the first of some names."""
    names = [str(value.get("title", value) if isinstance(value, dict) else value) for value in values]
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def _as_json(payload: Any) -> str:
    """Return a payload as JSON that any console can show."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(payload, ensure_ascii=plain, indent=2)
    return re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)

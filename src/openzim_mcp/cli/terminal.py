"""How results are shown: the same blocks in color on a terminal, as Markdown in a pipe, or the payload as JSON.

Text from archives is not trusted: control characters never reach the terminal.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TextIO, TypeAlias

from openzim_mcp.text import replace_control

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn, TaskID
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
_MAX_WORD_WIDTH = 20
_MAX_LISTED_NAMES = 20
_DETAIL_LABELS = {
    "did_you_mean": "Nearest",
    "candidates": "It is in",
    "available_sections": "Sections",
}
"""The lists of an error that people see; the others are for programs."""


@dataclass(frozen=True)
class Cell:
    """Text with a style."""

    text: str
    style: Style = ""


@dataclass(frozen=True)
class Table:
    """Rows under a header.

    `right` names the columns aligned to the right, `whole` those that are never wrapped, `optional` those that a narrow
    terminal leaves out, the first one first.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    right: frozenset[str] = field(default_factory=frozenset)
    whole: frozenset[str] = field(default_factory=frozenset)
    optional: tuple[str, ...] = ()

    def without(self, name: str) -> Table:
        """Return the table without a column."""
        kept = [number for number, other in enumerate(self.header) if other != name]
        rows = [[row[number] for number in kept] for row in self.rows]
        return dataclasses.replace(self, header=[self.header[number] for number in kept], rows=rows)


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


def _fit_table(table: Table, width: int) -> Table | None:
    """Leave out optional columns until the others fit; None if they never do."""
    for name in table.optional:
        if _min_table_width(table) <= width:
            break
        table = table.without(name)
    return table if _min_table_width(table) <= width else None


def _min_table_width(table: Table) -> int:
    """Return the width below which the columns are too narrow to read."""
    from rich.cells import cell_len  # noqa: PLC0415

    total = 0
    for column, name in enumerate(table.header):
        texts = [name, *(_as_cell(row[column]).text for row in table.rows)]
        width = max(map(cell_len, texts))
        longest_word = max((cell_len(word) for text in texts for word in text.split()), default=0)
        readable_width = max(_MIN_COLUMN_WIDTH, min(longest_word, _MAX_WORD_WIDTH))
        total += 2 + (width if name in table.whole else min(width, readable_width))
    return total


def _stack_rows(table: Table) -> Iterator[RenderableType]:
    """Yield each row as names and values, for a terminal that is too narrow for columns; `whole` ones as they are."""
    from rich.text import Text  # noqa: PLC0415

    for row in table.rows:
        cells = dict(zip(table.header, row, strict=True))
        first = table.header[0]
        if first in table.whole:
            yield Text.assemble(_render_text(cells.pop(first)))
        yield _render_key_values(KeyValues([(name, cell) for name, cell in cells.items() if _as_cell(cell).text]))
        yield Text()


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

    fitting = _fit_table(table, width)
    if fitting is None:
        return Group(*_stack_rows(table))
    table = fitting
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

    def add(self, label: str, total: int | None = None) -> ProgressBar:
        """Add a bar that counts bytes."""
        progress = self._progress
        if progress is None:
            return ProgressBar(None, None)
        return ProgressBar(progress, progress.add_task(replace_control(label), total=total))


@dataclass(frozen=True)
class ProgressBar:
    """One bar; calling it sets the bytes that are done and, once it is known, their total."""

    progress: Progress | None
    task: TaskID | None

    def __call__(self, done: int, total: int | None) -> None:
        """Show progress."""
        if self.progress and self.task is not None:
            self.progress.update(self.task, completed=done, total=total)

    def restart(self, label: str, total: int) -> None:
        """Use the bar for the next of several tasks."""
        if self.progress and self.task is not None:
            self.progress.reset(self.task, description=replace_control(label), total=total)


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


def _print_blocks(console: Console, blocks: Sequence[Block]) -> None:
    for number, block in enumerate(blocks):
        if number and not isinstance(block, Cell):
            console.print()
        console.print(_render(block, console.width), soft_wrap=isinstance(block, Cell | Lines | Table))


def _is_long(text: str, height: int) -> bool:
    return sys.stdin.isatty() and text.count("\n") >= height


def _show_in_pager(text: str) -> bool:
    """Show a text with $PAGER, or with less; return False if there is none."""
    command = shlex.split(os.environ.get("PAGER") or "less")
    if not command or shutil.which(command[0]) is None:
        return False
    # As git does: colors, no pager for a text that fits, and the text stays on the screen.
    environment = {"LESS": "FRX", **os.environ}
    on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pager's own key while it runs
    try:
        with contextlib.suppress(OSError):  # the reader may leave before the end
            subprocess.run(command, input=text.encode(), env=environment, check=False)  # noqa: S603
    finally:
        signal.signal(signal.SIGINT, on_interrupt)
    return True


class Terminal:
    """The output of a command: results on standard output, everything else on standard error."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        replace_unencodable()

    @property
    def is_interactive(self) -> bool:
        """Whether the results go to a terminal."""
        return not self.as_json and _supports_color(sys.stdout)

    def show(self, payload: object, *blocks: Block, paged: bool = False) -> None:
        """Show a result: its blocks, in a pager if they may be `paged` and are long; or with `--json` its payload."""
        if self.as_json:
            self._write(_format_json(payload))
        elif self.is_interactive:
            console = _make_console(sys.stdout)
            with console.capture() if paged else contextlib.nullcontext() as capture:
                _print_blocks(console, blocks)
            if capture and not (_is_long(capture.get(), console.height) and _show_in_pager(capture.get())):
                self._write(capture.get().rstrip("\n"))
        else:
            self._write(replace_control("\n\n".join(map(_to_markdown, blocks))))

    def _write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def info(self, text: str, style: Style = "dim") -> None:
        """Write a line to standard error; a sentence is wrapped between words, a command to copy is not."""
        if _supports_color(sys.stderr):
            has_command = "openzim-mcp " in text
            _make_console(sys.stderr).print(_render_text(Cell(text, style)), soft_wrap=has_command)
        else:
            sys.stderr.write(f"{replace_control(text)}\n")

    def error(self, error: errors.OpenZimMcpError) -> None:
        """Show an error, its hint and the names it suggests."""
        if self.as_json:
            self._write(_format_json(error.payload("command")))
            return
        for line in error.message.splitlines():
            self.info(f"openzim-mcp: {line}", "bad")
        said = f"{error.message}\n{error.hint}"
        for line in [*(error.hint or "").splitlines(), *_detail_lines(error.details, said)]:
            self.info(line)

    @contextlib.contextmanager
    def status(self, text: str) -> Iterator[None]:
        """Show on standard error, if it is a terminal, what the user waits for, until the block ends."""
        if not _supports_color(sys.stderr) or self.as_json:
            yield
            return
        with _make_console(sys.stderr).status(_render_text(text)):
            yield

    @contextlib.contextmanager
    def progress_bars(self) -> Iterator[ProgressBars]:
        """Show progress bars on standard error, if it is a terminal."""
        is_visible = _supports_color(sys.stderr) and not self.as_json
        with ProgressBars(_make_console(sys.stderr) if is_visible else None) as bars:
            yield bars


def _detail_lines(details: Mapping[str, object], said: str) -> Iterator[str]:
    """Yield a line for each list of names in an error that its sentences do not mention."""
    for detail, label in _DETAIL_LABELS.items():
        values = details.get(detail)
        names = [_detail_name(value) for value in values] if isinstance(values, list) else []
        if names and not all(name in said for name in names):
            more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
            yield f"{label}: {', '.join(names[:_MAX_LISTED_NAMES])}{more}"


def _detail_name(value: object) -> str:
    """Return the name in an item of a list: an item is a name, or an object with a title and, if it has one, a URI."""
    if not isinstance(value, dict):
        return str(value)
    title = str(value.get("title", ""))
    return f"{title} ({value['uri']})" if "uri" in value else title


def _format_json(payload: object) -> str:
    """Return a payload as JSON that any console can show."""
    import msgspec  # noqa: PLC0415  only this needs it

    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(msgspec.to_builtins(payload), ensure_ascii=plain, indent=2)
    return re.sub(r"[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text)

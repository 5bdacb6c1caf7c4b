"""Play the first five minutes of a new user, from nothing, and write down what each command printed.

    python scripts/first_five_minutes.py              install as the README says; write docs/first-five-minutes.txt
    python scripts/first_five_minutes.py --installed  use the program of this environment, and print

Everything happens in a new home directory without caches, on a pseudo-terminal. The archive to download is that of the
demonstration, in a library on this machine; the seconds are those of the machine that ran it.
"""

from __future__ import annotations

import functools
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import record_terminal
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
TRANSCRIPT = ROOT / "docs" / "first-five-minutes.txt"
ARCHIVE = "founding-documents_en_2026-11"
_PORT_SHOWN = "http://127.0.0.1:8080"
_HEAD = """What a new user sees who installs the program, gets an archive, asks it and connects a client. Each command
ran on a terminal, in a new home directory; the archive came from a library on the same machine.
`python scripts/first_five_minutes.py` writes this file.
"""
_LIBRARY_XML = """<?xml version="1.0" encoding="UTF-8"?>
<library version="20110515">
  <book id="{id}" title="Founding Documents of the United States" name="founding-documents_en" language="eng"
    description="The Constitution with its amendments, and the Declaration of Independence" date="2026-11-15"
    articleCount="64" size="{kib}" url="{url}/{archive}.zim" />
</library>
"""
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])|\x1b\[\d*[ABCDGHJK]|\x1b\[\?25[lh]")

_SPINNER = re.compile("[\u2800-\u28ff] ")


class Step(NamedTuple):
    """A command line of a new user, and why it is typed."""

    line: str
    reason: str
    exit_code: int = 0


INSTALL = Step("uv tool install .", "Install it, in a clone.")
STEPS = (
    Step("openzim-mcp", "What is it? Without an archive it serves its handbook."),
    Step("openzim-mcp catalog --library {library}", "Which archives are there?"),
    Step("openzim-mcp download founding-documents_en --library {library}", "Get one."),
    Step("openzim-mcp list", "What do I have?"),
    Step("openzim-mcp ask can the police search my house", "Ask, without quotes."),
    Step("openzim-mcp ask how deep is the ocean", "Ask something that it cannot know.", 1),
    Step("openzim-mcp read 'Second Amendment'", "Read an article by another name of it."),
    Step("openzim-mcp read Article_II --section 'Section 4'", "Read one section."),
    Step("openzim-mcp verify", "Is the file intact?"),
    Step("openzim-mcp connect claude-desktop --write", "Connect a client."),
    Step("openzim-mcp doctor", "Does everything work?"),
)


class Result(NamedTuple):
    """A step that was run."""

    step: Step
    line: str
    exit_code: int
    seconds: float
    output: str


@contextmanager
def serve_library(folder: Path) -> Iterator[str]:
    """Build the archive, serve it with a catalog, and yield the URL of the catalog."""
    builder = [sys.executable, str(ROOT / "examples" / "founding_documents.py"), str(folder / f"{ARCHIVE}.zim")]
    subprocess.run(builder, stdout=subprocess.DEVNULL, check=True)
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        (folder / "library.xml").write_text(_catalog_xml(folder / f"{ARCHIVE}.zim", url), encoding="utf-8")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"{url}/library.xml"
        finally:
            server.shutdown()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is the base class's
        """Log nothing."""


def _catalog_xml(archive: Path, url: str) -> str:
    identifier = hashlib.md5(archive.name.encode(), usedforsecurity=False).hexdigest()
    return _LIBRARY_XML.format(id=identifier, kib=archive.stat().st_size // 1024, url=url, archive=ARCHIVE)


def play(home: Path, *, with_install: bool) -> list[Result]:
    """Run all steps in a home directory."""
    served = home.parent / "served"
    served.mkdir()
    with serve_library(served) as library:
        steps = ((INSTALL,) if with_install else ()) + STEPS
        return [_run_step(step, home, library) for step in steps]


def _run_step(step: Step, home: Path, library: str) -> Result:
    line = step.line.format(library=library)
    start = time.perf_counter()
    exit_code, output = record_terminal.run_on_terminal(["sh", "-c", line], _environment(home), cwd=ROOT)
    return Result(step, line, exit_code, time.perf_counter() - start, _clean(output, home, library))


def _environment(home: Path) -> dict[str, str]:
    """Return the environment of a user who has set nothing: what is needed to reach a package index is kept."""
    kept = {
        name: value for name, value in os.environ.items() if re.search("proxy|cert|index|^LANG$", name, re.IGNORECASE)
    }
    path = os.pathsep.join([str(home / ".local" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    screen = {"TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    return kept | screen | {"HOME": str(home), "PATH": path}


def _clean(output: str, home: Path, library: str) -> str:
    """Return what is left on the screen, without names of this machine."""
    text = Text.from_ansi(_OVERWRITTEN.sub("", output)).plain
    text = text.replace(library.removesuffix("/library.xml"), _PORT_SHOWN)
    text = text.replace(f"{ROOT}", "~/openzim-mcp").replace(f"{home}", "~")
    return "\n".join(row.rstrip() for row in text.splitlines() if not _SPINNER.match(row)).strip("\n")


def format_transcript(results: list[Result]) -> str:
    """Return the steps as text, with seconds and exit codes."""
    parts = [_HEAD]
    for result in results:
        line = re.sub(r"http://127\.0\.0\.1:\d+", _PORT_SHOWN, result.line)
        status = f"[{result.seconds:.1f} s, exit code {result.exit_code}]"
        parts.append(f"{result.step.reason}\n$ {line}\n{result.output}\n{status}\n")
    total = sum(result.seconds for result in results)
    parts.append(f"{len(results)} commands, {total:.0f} seconds.\n")
    return "\n".join(parts)


def main() -> int:
    """Play all steps; return 1 if one of them ended with another exit code than expected."""
    is_installed = "--installed" in sys.argv
    temporary = Path(tempfile.mkdtemp())
    try:
        home = temporary / "home"
        home.mkdir()
        results = play(home, with_install=not is_installed)
    finally:
        shutil.rmtree(temporary)
    if is_installed:
        print(format_transcript(results))
    else:
        TRANSCRIPT.write_text(format_transcript(results), encoding="utf-8")
    return int(any(result.exit_code != result.step.exit_code for result in results))


if __name__ == "__main__":
    sys.exit(main())

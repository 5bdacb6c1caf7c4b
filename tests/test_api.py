from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import AsyncLibrary, Library, errors
from openzim_mcp.calls.reading import SectionHead, SectionName
from support.archives import write_zim
from support.stdio_server import StdioServer

ANSWER = "The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick."
RAVENPORT = "zim://isles_en_all_2026-01/entry/Ravenport"
_SCRIPT_TIMEOUT_SECONDS = 60


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, town_zim: Path) -> Path:
    folder = tmp_path_factory.mktemp("library")
    for zim in (isles_zim, town_zim):
        os.link(zim, folder / zim.name)
    return folder


@pytest.fixture(scope="module")
def library(isles_zim: Path) -> Iterator[Library]:
    with Library(isles_zim) as library:
        yield library


def run_script(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=_SCRIPT_TIMEOUT_SECONDS,
        check=False,
    )


def test_answer_is_that_of_the_tool(library: Library, isles_zim: Path) -> None:
    with StdioServer(isles_zim) as server:
        result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": "Who founded Ravenport?"}})

    answer = library.ask("Who founded Ravenport?")

    assert result["content"][0]["text"] == answer.text
    assert answer.text.startswith(ANSWER)
    assert answer.answered is result["_meta"]["openzim/answered"] is True
    assert answer.confidence == result["_meta"]["openzim/confidence"]
    assert [source.uri for source in answer.sources] == [row["uri"] for row in result["_meta"]["openzim/sources"]]
    assert [(row.text, row.section, row.uri) for row in answer.passages][:1] == [(ANSWER, "History", RAVENPORT)]


def test_unanswered_question_says_so(library: Library) -> None:
    answer = library.ask("What is the airspeed of a swallow?", budget="small")

    assert not answer.answered
    assert answer.text.startswith("Not found here: ")


def test_requests_in_plain_words_work(library: Library) -> None:
    answer = library.ask("outline of Ravenport")

    assert answer.answered
    assert answer.confidence is None
    assert "History" in answer.text


def test_answer_continues_by_its_cursor(tmp_path: Path) -> None:
    text = "".join(f"<h2>Part {n}</h2><p>{'The lighthouse keeper of isle ' + str(n)} rows out. </p>" for n in range(40))
    archive = write_zim(tmp_path / "keepers.zim", {"Keeper": f"<h1>Keeper</h1>{text}"})
    with Library(archive) as library:
        first = library.ask("What does the lighthouse keeper row?", budget=150)

        second = library.ask(first.query, cursor=first.next_cursor)

    assert first.next_cursor
    assert second.passages
    assert not {row.text for row in first.passages} & {row.text for row in second.passages}


def test_search_covers_all_archives_or_one(directory: Path) -> None:
    with Library(directory) as library:
        everywhere = library.search("Ravenport harbour", limit=50)
        towns = library.search("Ravenport harbour", archive="towns")
        titles = library.search("Ravenprt", mode="title")

    assert {hit.archive for hit in everywhere} == {"isles_en_all_2026-01.zim", "towns_en_all_2026-01.zim"}
    assert {hit.archive for hit in towns} == {"towns_en_all_2026-01.zim"}
    assert RAVENPORT in [hit.uri for hit in everywhere]
    assert titles[0].title == "Ravenport"
    assert everywhere.failed == {}


def test_search_pages_are_one_list(library: Library) -> None:
    page = library.search("harbour", limit=2)
    hits = list(page)
    while page.next_cursor:
        page = library.search("harbour", limit=2, cursor=page.next_cursor)
        hits += page

    assert [hit.path for hit in hits] == [hit.path for hit in library.search("harbour", limit=100)]
    assert len(hits) > 2


def test_broken_archive_fails_alone(tmp_path: Path, isles_zim: Path) -> None:
    os.link(isles_zim, tmp_path / isles_zim.name)
    (tmp_path / "broken.zim").write_bytes(isles_zim.read_bytes()[:200] + b"\0" * 2000)
    with Library(tmp_path) as library:
        states = {row.name: row.status for row in library.archives()}
        hits = library.search("herring")

    assert states == {"broken.zim": "unusable", isles_zim.name: "ok"}
    assert {hit.archive for hit in hits} == {isles_zim.name}


def test_titles_are_suggested(library: Library) -> None:
    assert [hit.title for hit in library.suggest("Raven")] == ["Ravenport"]


def test_article_is_read_whole(library: Library) -> None:
    article = library.read("ravenport")

    assert (article.title, article.path, article.uri) == ("Ravenport", "Ravenport", RAVENPORT)
    assert article.mime_type == "text/html"
    assert article.text.startswith("Ravenport is a harbour town")
    assert "## Trade" in article.text
    assert library.read(RAVENPORT) == article
    assert library.read("zim://isles_en_all_2026-01") == article
    assert "## Trade" not in library.read(f"{RAVENPORT}#History").text


def test_parts_of_an_article_are_read(library: Library) -> None:
    section = library.read_section("Ravenport", "History")
    outline = library.read_outline("Ravenport")

    assert section.section == SectionHead("History", "History", 2)
    assert section.next == SectionName("Trade", "Trade")
    assert ANSWER in section.content
    assert [row.title for row in outline.toc] == ["History", "Trade"]
    assert [row.section for row in library.find("Ravenport", "herring").matches] == ["Trade"]
    assert library.find("Ravenport", "elephant").total == 0
    assert library.read_bytes("notes.txt") == b"A harbour is a place for ships."


def test_links_are_read(library: Library) -> None:
    page = library.links("tags/harbour")
    related = library.links("tags/harbour", direction="related")

    assert [row.path for row in page.outbound_links or ()] == ["Ravenport"]
    assert [row.title for row in related.related or ()] == ["Ravenport"]


def test_articles_are_iterated(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [row.path for row in library.articles()]
    monkeypatch.setattr("openzim_mcp.api._ENTRIES_PER_CALL", 3)

    assert [row.path for row in library.articles("isles")] == paths
    assert paths == sorted(paths)
    assert "Ravenport" in paths
    assert "notes.txt" not in paths


@pytest.mark.parametrize(
    ("call", "error", "message", "notes"),
    [
        ('read("Rvnprt of Nowhere")', errors.EntryNotFound, "Rvnprt of Nowhere", "articles() lists"),
        ('read("A", archive="nope")', errors.ArchiveNotFound, "No archive 'nope'", "available_archives"),
        ('ask("x", budget=3)', errors.OpenZimMcpValidationError, "budget: should be small", ""),
        ('ask(" ")', errors.OpenZimMcpValidationError, "query is empty", "Say what to look for"),
        ('search("x", limit=0)', errors.OpenZimMcpValidationError, "limit: ", ""),
        ('read_section("Ravenport", "Weather")', errors.SectionNotFound, "Weather", "History"),
        ('search("x", cursor="made up")', errors.InvalidCursor, "cursor", ""),
    ],
)
def test_errors_are_exceptions_with_hints(
    library: Library, call: str, error: type[Exception], message: str, notes: str
) -> None:
    with pytest.raises(error) as raised:
        eval(f"library.{call}", {"library": library})

    assert message in str(raised.value)
    assert notes in "\n".join(getattr(raised.value, "__notes__", ()))
    assert not any(word in str(raised.value) for word in ("zim_file_path", "compact_budget", "entry_path"))


def test_ambiguous_article_names_its_candidates(directory: Path) -> None:
    with Library(directory) as library, pytest.raises(errors.AmbiguousEntry) as raised:
        library.read("Ravenport")

    assert RAVENPORT in {row["uri"] for row in raised.value.details["candidates"]}


def test_missing_directory_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(errors.OpenZimMcpConfigurationError, match="does not exist"):
        Library(tmp_path / "missing")


def test_both_libraries_have_the_same_methods() -> None:
    def signatures(library: type) -> dict[str, str]:
        methods = inspect.getmembers(library, inspect.isfunction)
        named = {name: list(inspect.signature(method).parameters) for name, method in methods if name[0] != "_"}
        return {name: str(parameters) for name, parameters in named.items() if name != "close"}

    assert signatures(Library) == signatures(AsyncLibrary)
    assert Library.ask.__doc__ == AsyncLibrary.ask.__doc__


def test_async_library_answers_many_at_once(isles_zim: Path) -> None:
    async def ask() -> list[bool]:
        async with AsyncLibrary(isles_zim) as library:
            questions = ["Who founded Ravenport?", "What is herring?", "Which planet is the smallest?"]
            return [answer.answered for answer in await asyncio.gather(*map(library.ask, questions))]

    assert asyncio.run(ask()) == [True, True, True]


def test_async_library_raises_what_its_block_raises(isles_zim: Path) -> None:
    async def fail() -> None:
        async with AsyncLibrary(isles_zim):
            raise KeyError("plain")

    with pytest.raises(KeyError, match="plain"):
        asyncio.run(fail())


def test_async_library_must_be_open(isles_zim: Path) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(AsyncLibrary(isles_zim).ask("x"))


def test_library_works_inside_a_running_loop(library: Library) -> None:
    async def cell() -> str:
        return library.ask("Who founded Ravenport?").text

    assert asyncio.run(cell()).startswith(ANSWER)


def test_library_is_shared_by_threads(library: Library) -> None:
    texts: list[str] = []
    threads = [threading.Thread(target=lambda: texts.append(library.read("Herring").text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert texts == ["Herring is a fish. Harbour towns dry herring."] * 8


def test_closed_library_opens_again(isles_zim: Path) -> None:
    library = Library(isles_zim)
    first = library.read("Herring")
    library.close()
    library.close()

    assert library.read("Herring") == first
    library.close()


_LEFT_OPEN = """
import sys
from openzim_mcp import Library
library = Library(sys.argv[1])
print(library.read("Herring").title)
print(library._thread._library._app.workers._idle[0]._process.pid)
"""


def test_program_ends_without_close(isles_zim: Path) -> None:
    process = run_script(_LEFT_OPEN, str(isles_zim))

    title, worker = process.stdout.split()
    assert (title, process.returncode, process.stderr) == ("Herring", 0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(worker), 0)


_INTERRUPTED = """
import os, signal, sys, threading
from openzim_mcp import Library
library = Library(sys.argv[1])
library.read("Herring")
signal.signal(signal.SIGINT, signal.default_int_handler)
async def never(_library):
    import anyio
    os.kill(os.getpid(), signal.SIGINT)
    await anyio.sleep_forever()
try:
    library._call(never)
except KeyboardInterrupt:
    print("interrupted", library.read("Herring").title)
"""


def test_interrupt_ends_a_call_and_not_the_library(isles_zim: Path) -> None:
    process = run_script(_INTERRUPTED, str(isles_zim))

    assert (process.stdout, process.stderr) == ("interrupted Herring\n", "")


_FORKED = """
import os, sys, warnings
from openzim_mcp import Library
warnings.simplefilter("ignore", DeprecationWarning)
library = Library(sys.argv[1])
library.read("Herring")
if child := os.fork():
    os.waitpid(child, 0)
print("parent" if child else "child", library.read("Herring").title)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_process_opens_its_own(isles_zim: Path) -> None:
    process = run_script(_FORKED, str(isles_zim))

    assert (process.stdout, process.returncode) == ("child Herring\nparent Herring\n", 0), process.stderr


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import openzim_mcp", {"openzim_mcp.api", "openzim_mcp.app", "anyio", "msgspec", "pydantic", "mcp"}),
        ("from openzim_mcp import Library", {"mcp", "mcp_types", "starlette", "click", "libzim", "openzim_mcp.worker"}),
    ],
)
def test_import_loads_only_what_is_needed(code: str, absent: set[str]) -> None:
    process = run_script(f"import sys\n{code}\nprint(*sys.modules)")

    assert not absent & set(process.stdout.split())


def test_unknown_attribute_is_an_error() -> None:
    import openzim_mcp

    with pytest.raises(AttributeError, match="has no attribute 'Librry'"):
        _ = openzim_mcp.Librry  # type: ignore[attr-defined]

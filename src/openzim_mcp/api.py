"""The Python API: the archives of some directories as a `Library`, for scripts and notebooks, or an `AsyncLibrary`."""

from __future__ import annotations

import base64
import contextlib
import functools
import os
import re
import sys
import threading
import weakref
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, TypeAlias, TypeVar

import anyio
import msgspec
from anyio.from_thread import BlockingPortal

from openzim_mcp import config, errors, uris
from openzim_mcp.app import links as article_links
from openzim_mcp.app import reading
from openzim_mcp.app.app import App
from openzim_mcp.app.arguments import parse_request, require_text
from openzim_mcp.app.elsewhere import add_elsewhere
from openzim_mcp.app.health import list_states
from openzim_mcp.app.near import NearHit, NearPage, run_search
from openzim_mcp.app.query.ask import answer_query
from openzim_mcp.app.query.excerpts import CitedPassage, Source  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.app.query.reply import QueryRequest, Reply
from openzim_mcp.app.references import locate_entry
from openzim_mcp.app.search import MergedHit, MergedPage, Mode, SearchRequest, with_archive
from openzim_mcp.calls import Struct
from openzim_mcp.calls.archive import ListArticles
from openzim_mcp.calls.reading import FindText, ReadBinary, ReadTableOfContents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
    from types import TracebackType

    from openzim_mcp.app.health import ArchiveState
    from openzim_mcp.app.links import LinksPage
    from openzim_mcp.calls.archive import ArticleRows, EntryRow
    from openzim_mcp.calls.reading import Section, TableOfContents, TextMatches

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Opened: TypeAlias = "Future[tuple[BlockingPortal, AsyncLibrary]]"
_WORKER_COUNT = 2
_UNLIMITED_CHARS = 10_000_000
_ENTRIES_PER_CALL = 500
_NAMES = {
    "zim_file_path": "archive",
    "compact_budget": "budget",
    "entry_path": "ref",
    "section_id": "section",
    "binary=true": "read_bytes",
    "zim_browse": "articles()",
    "zim_metadata": "archives()",
    "zim_health": "`openzim-mcp verify`",
}
"""What errors name as a tool or its argument, and what that is here."""


class Answer(Struct, frozen=True):
    """The reply to a question; `text` is Markdown with the passages and their sources, as `zim_query` returns it.

    `answered` is False if the archives do not answer it: the passages are then the nearest ones. `confidence` is None
    for other requests, such as "summary of X". `next_cursor` brings the next passages.
    """

    query: str
    text: str
    answered: bool
    confidence: float | None
    passages: list[CitedPassage]
    sources: list[Source]
    next_cursor: str | None = None


class Hit(MergedHit, frozen=True, kw_only=True):
    """An article that was found; `uri` reads it. Of what is near a place, how far it is, and in which direction."""

    uri: str
    distance_m: int | None = None
    direction: str | None = None


class SearchResults(Struct, frozen=True):
    """A page of results, the best first; `failed` has the reason for each archive that could not be searched.

    `complete` is False if not all pages have been read for places; `openzim-mcp index` reads them.
    """

    query: str
    results: list[Hit]
    next_cursor: str | None = None
    failed: dict[str, str] = msgspec.field(default_factory=dict)
    complete: bool = True

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, number: int) -> Hit:
        return self.results[number]


class Article(Struct, frozen=True):
    """The whole text of an entry as Markdown; `note` says which part it is if the reference had a fragment."""

    archive: str
    path: str
    title: str
    mime_type: str
    text: str
    uri: str
    note: str | None = None


def _with_hints(
    method: Callable[Concatenate[AsyncLibrary, _Parameters], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[AsyncLibrary, _Parameters], Coroutine[Any, Any, _Result]]:
    """Let errors of a method show their hints in a traceback, and name arguments as they are called here."""

    @functools.wraps(method)
    async def call(self: AsyncLibrary, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return await method(self, *args, **kwargs)
        except errors.OpenZimMcpError as error:
            raise _to_exception(error) from None

    return call


def _to_exception(error: errors.OpenZimMcpError) -> errors.OpenZimMcpError:
    """Return a copy of an error, which others may hold, with its hint and its lists as notes."""
    is_argument = "arguments" in error.details  # the hint then lists the arguments of the tool
    hint = _rename(error.hint) if error.hint and not is_argument else None
    lists = [f"{name}: {value}" for name, value in error.details.items() if isinstance(value, list) and not is_argument]
    copy = type(error)(_rename(error.message), hint=hint, **error.details)
    for note in filter(None, [hint, *lists]):
        copy.add_note(note)
    return copy


def _rename(text: str) -> str:
    return re.sub("|".join(_NAMES), lambda match: _NAMES[match[0]], text)


class AsyncLibrary:
    """The archives in some directories, or some `.zim` files; without any, those that `openzim-mcp` serves by default.

    Use it with `async with`: worker processes read the archives, and end with the block.
    """

    def __init__(self, *directories: str | os.PathLike[str]) -> None:
        self._settings = config.load_local_settings([os.fspath(directory) for directory in directories])
        self._stack = contextlib.AsyncExitStack()
        self._opened: App | None = None

    async def __aenter__(self) -> Self:
        workers = self._settings.worker.count or _WORKER_COUNT
        self._opened = await self._stack.enter_async_context(App.open(self._settings, workers=workers))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._opened = None
        # Without the error: task groups would wrap it into an exception group.
        await self._stack.aclose()

    @property
    def _app(self) -> App:
        if self._opened is None:
            raise RuntimeError("The library is not open: use `async with AsyncLibrary(…) as library`.")
        return self._opened

    @_with_hints
    async def ask(
        self, question: str, *, archive: str | None = None, budget: int | str | None = None, cursor: str | None = None
    ) -> Answer:
        """Answer a question with passages and their sources, or say that the archives do not answer it.

        `budget` is how many tokens the text may have: a number, "small", "medium" or "large". `cursor` is the
        `next_cursor` of an answer and brings its next passages. Requests of `zim_query` work too: "summary of X".
        """
        arguments = {"query": question, "zim_file_path": archive, "compact_budget": budget, "cursor": cursor}
        reply = await answer_query(self._app, parse_request(QueryRequest, arguments))
        assert isinstance(reply, Reply), "a briefing is the answer to synthesize=True only"
        answered = not reply.is_empty if reply.answered is None else reply.answered
        return Answer(
            question,
            reply.text,
            answered,
            reply.confidence,
            list(reply.passages),
            list(reply.cited),
            reply.next_cursor,
        )

    @_with_hints
    async def search(
        self,
        query: str = "",
        *,
        archive: str | None = None,
        mode: Literal["fulltext", "title"] = "fulltext",
        near: str | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> SearchResults:
        """Find articles by words, a question or a title, in one archive or in all; `cursor` brings the next page.

        `near` is a place, such as "Eiffel Tower", "48.85,2.35" or "48.85,2.35,5km": only what is near is found, the
        nearest first.
        """
        return await self._search(query, archive, mode, limit, cursor, near)

    @_with_hints
    async def suggest(self, text: str, *, archive: str | None = None, limit: int = 10) -> list[Hit]:
        """Complete a title while it is typed."""
        return (await self._search(text, archive, "suggest", limit, None)).results

    async def _search(
        self, query: str, archive: str | None, mode: Mode, limit: int, cursor: str | None, near: str | None = None
    ) -> SearchResults:
        arguments: dict[str, Any] = {"query": query, "mode": mode, "near": near, "limit": limit, "cursor": cursor}
        if not cursor:
            arguments |= {"zim_file_path": archive, "cross_file": archive is None}
        page = await run_search(self._app, parse_request(SearchRequest, arguments))
        if isinstance(page, NearPage):
            return SearchResults(query, list(map(_to_hit, page.results)), page.next_cursor, complete=page.complete)
        if isinstance(page, MergedPage):
            failed = {row.archive: row.error for row in page.per_file_results if row.error}
            return SearchResults(query, [_to_hit(row) for row in page.results], page.next_cursor, failed)
        rows = [with_archive(page.archive, row) for row in page.results or page.suggestions or ()]
        return SearchResults(query, [_to_hit(row) for row in rows], page.next_cursor)

    @_with_hints
    async def read(self, ref: str, *, archive: str | None = None) -> Article:
        """Read an article by its path, title, `zim://` URI or URL on the original site, whole, as Markdown.

        A fragment (`#id`) reads a part of it. The URI of an archive reads its main page.
        """
        file, path = await locate_entry(self._app, ref, archive)
        text = await reading.read_entry_text(self._app, file, path, _UNLIMITED_CHARS)
        uri = uris.entry_uri(file.name, text.actual_path)
        return Article(file.file_name, text.actual_path, text.title, text.mime_type, text.content, uri, text.note)

    @_with_hints
    async def read_section(self, ref: str, section: str, *, archive: str | None = None) -> Section:
        """Read one section by its heading, words of it, its id or its number, with its tables."""
        arguments = {"entry_path": ref, "section_id": section, "zim_file_path": archive, "max_chars": _UNLIMITED_CHARS}
        request = parse_request(reading.SectionRequest, arguments | {"compact": False})
        return await reading.read_section(self._app, request)

    @_with_hints
    async def read_outline(self, ref: str, *, archive: str | None = None) -> TableOfContents:
        """Read the sections of an article as a tree, and where else there is an article about the same."""
        file, path = await locate_entry(self._app, ref, archive)
        contents = await reading.read_or_closest(self._app, file, ReadTableOfContents(path))
        return await add_elsewhere(self._app, file, contents)

    @_with_hints
    async def find(
        self, ref: str, words: str, *, archive: str | None = None, limit: int = 20, offset: int = 0
    ) -> TextMatches:
        """Find the lines of an article that hold all words; `offset` is the `next_offset` of the previous result."""
        file, path = await locate_entry(self._app, ref, archive)
        call = FindText(path, require_text(words), offset, limit, _UNLIMITED_CHARS)
        return await reading.read_or_closest(self._app, file, call)

    @_with_hints
    async def read_bytes(self, ref: str, *, archive: str | None = None) -> bytes:
        """Read a picture or another file as it is, up to 10 MiB."""
        file, path = await locate_entry(self._app, ref, archive)
        return base64.b64decode((await reading.read_or_closest(self._app, file, ReadBinary(path))).data)

    @_with_hints
    async def links(
        self,
        ref: str,
        *,
        archive: str | None = None,
        direction: Literal["outbound", "inbound", "related"] = "outbound",
        limit: int | None = None,
        cursor: str | None = None,
    ) -> LinksPage:
        """Return the links of an article, the pages that link to it, or the articles related to it."""
        arguments = {"direction": direction, "limit": limit, "cursor": cursor}
        if not cursor:
            arguments |= {"entry_path": ref, "zim_file_path": archive}
        return await article_links.read_links(self._app, parse_request(article_links.LinksRequest, arguments))

    @_with_hints
    async def archives(self) -> list[ArchiveState]:
        """Return every archive, and whether it can be read."""
        return await list_states(self._app)

    async def articles(self, archive: str | None = None) -> AsyncIterator[EntryRow]:
        """Iterate over the articles of an archive, in the order of their paths."""
        start, done = 0, False
        while not done:
            rows = await self._list_articles(archive, start)
            for row in rows.entries:
                yield row
            start, done = rows.stop, rows.done

    @_with_hints
    async def _list_articles(self, archive: str | None, start: int) -> ArticleRows:
        file = await self._app.find_archive(archive)
        return await self._app.workers.call(file, ListArticles(_ENTRIES_PER_CALL, start=start))


def _to_hit(row: MergedHit | NearHit) -> Hit:
    uri = uris.entry_uri(row.archive.removesuffix(".zim"), row.path)
    return Hit(**msgspec.structs.asdict(row), uri=uri)


def _in_thread(
    method: Callable[Concatenate[AsyncLibrary, _Parameters], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[Library, _Parameters], _Result]:
    """Return a method of `Library` for one of `AsyncLibrary`."""

    @functools.wraps(method)
    def call(self: Library, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return self._call(lambda library: method(library, *args, **kwargs))

    return call


class Library:
    """The archives in some directories, or some `.zim` files; without any, those that `openzim-mcp` serves by default.

    Opens with the first call, and closes with `close()`, the end of a `with` block, or the end of the program. It has
    an event loop in a thread of its own, so that it works where a loop is running (notebooks), and from any thread.
    """

    def __init__(self, *directories: str | os.PathLike[str]) -> None:
        self._directories = directories
        self._lock = threading.Lock()
        self._thread: _LibraryThread | None = None
        config.load_local_settings([os.fspath(directory) for directory in directories])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes; the next call opens the library again."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.close()

    def _call(self, method: Callable[[AsyncLibrary], Coroutine[Any, Any, _Result]]) -> _Result:
        with self._lock:
            # A forked process has no threads of its parent.
            if self._thread is None or self._thread.process_id != os.getpid():
                self._thread = _LibraryThread(self._directories)
            thread = self._thread
        return thread.call(method)

    ask = _in_thread(AsyncLibrary.ask)
    search = _in_thread(AsyncLibrary.search)
    suggest = _in_thread(AsyncLibrary.suggest)
    read = _in_thread(AsyncLibrary.read)
    read_section = _in_thread(AsyncLibrary.read_section)
    read_outline = _in_thread(AsyncLibrary.read_outline)
    find = _in_thread(AsyncLibrary.find)
    read_bytes = _in_thread(AsyncLibrary.read_bytes)
    links = _in_thread(AsyncLibrary.links)
    archives = _in_thread(AsyncLibrary.archives)
    _list_articles = _in_thread(AsyncLibrary._list_articles)  # noqa: SLF001  of the same module

    def articles(self, archive: str | None = None) -> Iterator[EntryRow]:
        """Iterate over the articles of an archive, in the order of their paths."""
        start, done = 0, False
        while not done:
            rows = self._list_articles(archive, start)
            yield from rows.entries
            start, done = rows.stop, rows.done


class _LibraryThread:
    """A thread with an event loop and an open library; it ends with the program or when nobody refers to it."""

    def __init__(self, directories: tuple[str | os.PathLike[str], ...]) -> None:
        self.process_id = os.getpid()
        opened: _Opened = Future()
        options = {"backend_options": _loop_options()}
        thread = threading.Thread(
            target=anyio.run, args=(_serve, directories, opened), kwargs=options, name="openzim-mcp", daemon=True
        )
        thread.start()
        self._portal, self._library = opened.result()
        self.close = weakref.finalize(self, _close, self._portal, thread, self.process_id)

    def call(self, method: Callable[[AsyncLibrary], Coroutine[Any, Any, _Result]]) -> _Result:
        """Run a method of the library and wait for its result; Ctrl-C cancels it."""
        future: Future[_Result] = self._portal.start_task_soon(method, self._library)
        try:
            return future.result()
        except errors.OpenZimMcpError as error:
            raise error.with_traceback(None) from None
        except BaseException:
            future.cancel()
            raise


async def _serve(directories: tuple[str | os.PathLike[str], ...], opened: _Opened) -> None:
    try:
        async with AsyncLibrary(*directories) as library, BlockingPortal() as portal:
            opened.set_result((portal, library))
            await portal.sleep_until_stopped()
    except BaseException as error:
        if opened.done():
            raise
        opened.set_exception(error)


def _close(portal: BlockingPortal, thread: threading.Thread, process_id: int) -> None:
    """End a thread and its calls; in a fork of its process there is nothing to end."""
    if os.getpid() == process_id and thread.is_alive():
        portal.call(portal.stop, True)
        thread.join()


def _loop_options() -> dict[str, Any]:
    """Choose an event loop that can start processes: on Windows, notebooks set a policy for one that cannot."""
    if sys.platform == "win32":
        import asyncio  # noqa: PLC0415

        return {"loop_factory": asyncio.ProactorEventLoop}
    return {}

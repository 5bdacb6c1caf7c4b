from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from libzim.reader import get_cluster_cache_max_size

from openzim_mcp import calls, errors, worker
from openzim_mcp.calls.archive import Describe
from openzim_mcp.calls.search import EstimateAnswer, Question, SearchText
from openzim_mcp.worker import main
from openzim_mcp.worker.main import OpenArchives, _ProgressReporter, handle_request
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.search.answer import estimate_answer
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.zim import enlarge_cluster_cache, reduce_cluster_cache
from support.archives import write_zim
from support.stdio_server import StdioServer

resource = pytest.importorskip("resource")

UNLIMITED = 1 << 40


def test_archive_stays_open(town_zim: Path) -> None:
    archives = OpenArchives(max_descriptors=100, max_data_bytes=UNLIMITED)

    first = archives.open("towns", [str(town_zim)])

    assert archives.open("towns", [str(town_zim)]) is first


def test_changed_file_is_opened_again(town_zim: Path, tmp_path: Path) -> None:
    archives = OpenArchives(max_descriptors=100, max_data_bytes=UNLIMITED)
    path = tmp_path / "a.zim"
    shutil.copy(town_zim, path)
    before = archives.open("a", [str(path)])

    write_zim(tmp_path / "b.zim", {"Only": "x"}).replace(path)
    after = archives.open("a", [str(path)])

    assert before.counts["entries"] == 7
    assert after.counts["entries"] == 1


def test_removed_file_is_reported(town_zim: Path, tmp_path: Path) -> None:
    archives = OpenArchives(max_descriptors=100, max_data_bytes=UNLIMITED)
    path = tmp_path / "a.zim"
    shutil.copy(town_zim, path)
    archives.open("a", [str(path)])

    path.unlink()

    with pytest.raises(errors.ArchiveUnusable, match="'a' cannot be read: No such file"):
        archives.open("a", [str(path)])


def open_copies(archives: OpenArchives, town_zim: Path, folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / f"{number}.zim"
        if not path.exists():
            shutil.copy(town_zim, path)
        archives.open(str(number), [str(path)])


def open_files_in(folder: Path) -> set[str]:
    links = [Path(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    targets = [os.readlink(link) for link in links if os.path.lexists(link)]
    return {Path(target).stem for target in targets if target.startswith(str(folder))}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_least_recently_used_archives_are_closed_first(town_zim: Path, tmp_path: Path) -> None:
    archives = OpenArchives(max_descriptors=12, max_data_bytes=UNLIMITED)

    open_copies(archives, town_zim, tmp_path, 3)
    archives.open("0", [str(tmp_path / "0.zim")])
    shutil.copy(town_zim, tmp_path / "3.zim")
    archives.open("3", [str(tmp_path / "3.zim")])

    assert open_files_in(tmp_path) == {"2", "0", "3"}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_many_archives_are_not_all_kept_open(town_zim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "_MAX_OPEN", 4)
    monkeypatch.setattr(main, "_MAX_OPEN_OF_MANY", 2)
    archives = OpenArchives(max_descriptors=1000, max_data_bytes=UNLIMITED)

    open_copies(archives, town_zim, tmp_path, 4)
    assert open_files_in(tmp_path) == {"0", "1", "2", "3"}

    open_copies(archives, town_zim, tmp_path, 5)
    assert open_files_in(tmp_path) == {"3", "4"}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_archives_are_closed_at_the_memory_limit(town_zim: Path, tmp_path: Path) -> None:
    archives = OpenArchives(max_descriptors=1000, max_data_bytes=0)

    open_copies(archives, town_zim, tmp_path, 3)

    assert open_files_in(tmp_path) == {"2"}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_fewer_clusters_are_kept_at_the_memory_limit(town_zim: Path) -> None:
    sizes = []
    for max_data_bytes in (UNLIMITED, 0):
        enlarge_cluster_cache(1024)
        OpenArchives(max_descriptors=100, max_data_bytes=max_data_bytes).open("town", [str(town_zim)])
        sizes.append(get_cluster_cache_max_size())

    assert sizes == [24 << 20, 16 << 20]


def test_fewer_clusters_are_kept_in_little_memory() -> None:
    reduce_cluster_cache()
    enlarge_cluster_cache(256)

    assert get_cluster_cache_max_size() == 16 << 20


def test_documents_of_a_closed_archive_are_dropped(town_zim: Path, tmp_path: Path) -> None:
    archives = OpenArchives(max_descriptors=4, max_data_bytes=UNLIMITED)
    archive = archives.open("towns", [str(town_zim)])
    _, document = article.load_page(archive, "Ravenport")
    assert article.load_page(archive, "Ravenport")[1] is document

    open_copies(archives, town_zim, tmp_path, 1)

    assert article.load_page(archive, "Ravenport")[1] is not document


@pytest.mark.parametrize("function", ["os:getcwd", "never_imported:run", "search.snippets:snippet"])
def test_unknown_function_is_not_imported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, function: str) -> None:
    (tmp_path / "never_imported.py").write_text("raise SystemExit('this module was imported')")
    monkeypatch.setattr(worker, "__path__", [*worker.__path__, str(tmp_path)])
    request = calls.Request(function, calls.Target("a", ()), msgspec.Raw(msgspec.msgpack.encode({})))
    sent: list[calls.Reply] = []

    reply = handle_request(OpenArchives(100, UNLIMITED), request, _ProgressReporter(sent.append, lambda: None))

    assert isinstance(reply, calls.Bug)
    assert f"LookupError: {function}" in reply.traceback
    assert sent == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe in the file system")
def test_worker_without_a_server_ends_a_hanging_call(tmp_path: Path) -> None:
    """A pipe that nobody writes to makes libzim wait for ever, with Python's lock held."""
    os.mkfifo(tmp_path / "hang.zim")
    call = msgspec.Raw(calls.encode_call(Describe()))
    request = calls.Request(Describe.function, calls.Target("hang", (str(tmp_path / "hang.zim"),)), call)

    process = subprocess.run(
        [sys.executable, "-m", "openzim_mcp.worker.main", "1024", "0.1", str(os.getpid())],
        input=calls.encode_frame(request),
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert process.returncode == 1
    assert process.stdout == calls.encode_frame(calls.Ready())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can set the limits of another process")
def test_many_archives_are_searched_with_few_descriptors(
    open_server: Callable[..., StdioServer], town_zim: Path, tmp_path: Path
) -> None:
    for number in range(100):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    server = open_server(tmp_path, PASSAGE_INDEX_ENABLED="false")
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGKILL)  # a new worker has the new limit

    for query in ("harbour town", "hill"):
        page = server.call("zim_search", query=query, cross_file=True)
        assert (page["archives_searched"], page["archives_failed"]) == (100, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a worker like this")
def test_many_archives_are_searched_with_little_memory(
    open_server: Callable[..., StdioServer], town_zim: Path, tmp_path: Path
) -> None:
    """Each open archive has a decompressor of 8 MB, most of it never touched."""
    for number in range(60):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    server = open_server(tmp_path, PASSAGE_INDEX_ENABLED="false", WORKER__MEMORY_MIB="256", WORKER__COUNT="1")

    for query in ("harbour town", "hill"):
        page = server.call("zim_search", query=query, cross_file=True)
        assert (page["archives_searched"], page["archives_failed"]) == (60, 0)


def test_closed_archive_is_freed_at_once(town_zim: Path) -> None:
    archives = OpenArchives(max_descriptors=100, max_data_bytes=UNLIMITED)
    archive = archives.open("towns", [str(town_zim)])
    search_text(archive, SearchText("harbour town", 0, 10, snippet_chars=300, scan_seconds=10))
    estimate_answer(archive, EstimateAnswer(Question("what is Ravenport?")))
    was_freed = weakref.ref(archive)
    gc.disable()
    try:
        del archive, archives
        assert was_freed() is None
    finally:
        gc.enable()


def test_first_call_of_a_worker_is_decoded(town_zim: Path) -> None:
    code = """
import sys, msgspec
from openzim_mcp import calls
from openzim_mcp.worker.main import OpenArchives, handle_request
call = msgspec.Raw(msgspec.msgpack.encode({"path": "Ravenport"}))
request = calls.Request("reading.page:read_page", calls.Target("towns", (sys.argv[1],)), call)
print(type(handle_request(OpenArchives(100, 1 << 40), request, lambda *_: None)).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code, str(town_zim)], capture_output=True, text=True, check=True)

    assert done.stdout == "Success\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a worker like this")
def test_parser_without_memory_is_out_of_memory(tmp_path: Path) -> None:
    """The parser reports the end of memory by an error of its own, at whichever step it comes."""
    html = "<title>Page</title><p><b>word</b>"
    path = write_zim(tmp_path / "page.zim", {"First": html, "Second": html})
    code = """
import os, resource, sys, msgspec
from openzim_mcp import calls
from openzim_mcp.worker.main import OpenArchives, handle_request
archives = OpenArchives(100, 1 << 40)
target = calls.Target("page", (sys.argv[1],))
first, second = (
    calls.Request("reading.page:read_page", target, msgspec.Raw(msgspec.msgpack.encode({"path": path})))
    for path in ("First", "Second")
)
handle_request(archives, first, lambda *_: None)  # imports what is needed
for free_kib in range(0, 6000, 100):
    if os.fork() == 0:
        data = int(open("/proc/self/statm").read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_DATA, (data + (free_kib << 10), resource.RLIM_INFINITY))
        reply = handle_request(archives, second, lambda *_: None)
        print(getattr(reply, "error", type(reply).__name__), flush=True)
        os._exit(0)
    os.wait()
"""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) == {"OutOfMemory", "Success"}

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import ReadText
from openzim_mcp.calls.search import SearchText
from openzim_mcp.worker import page_timer
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.reading.article import read_text
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

if not hasattr(signal, "setitimer"):
    pytest.skip("this system has no timers", allow_module_level=True)


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    pages = {
        "Slow": "<h1>Slow</h1>" + "<p>A page about herring and amber.</p>" * 40_000,
        "Quick": "<h1>Quick</h1><p>Herring is a fish.</p>",
    }
    return Archive("pages", [str(write_zim(tmp_path / "pages.zim", pages))])


def test_slow_page_is_interrupted_and_then_refused(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a busy machine other programs may take the time of the page.
    monkeypatch.setattr(page_timer, "_MIN_BUSY_SHARE", 0.0)
    timer.start_call(0.05, is_about_entry=True)
    with pytest.raises(errors.EntryTooSlow, match="Entry 'Slow' of 'pages' takes too long to read"):
        read_text(archive, ReadText("Slow", 1000))

    timer.start_call(600, is_about_entry=True)
    with pytest.raises(errors.EntryTooSlow):
        read_text(archive, ReadText("Slow", 1000))
    assert read_text(archive, ReadText("Quick", 1000)).title == "Quick"


def test_search_leaves_a_slow_page_out(archive: Archive) -> None:
    timer.start_call(0.2, is_about_entry=False)

    hits = search_text(archive, SearchText("herring", 0, 5, snippet_chars=200, scan_seconds=5.0))

    assert "Quick" in [hit.title for hit in hits.results]


def test_waiting_for_the_disk_does_not_make_a_page_slow(archive: Archive) -> None:
    timer.start_call(0.2, is_about_entry=True)
    with pytest.raises(errors.EntryTooSlow), timer.limit(archive, "Quick"):
        time.sleep(60)
    timer.start_call(600, is_about_entry=True)

    assert read_text(archive, ReadText("Quick", 1000)).title == "Quick"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_limit_holds_if_a_destructor_swallows_its_exception(archive: Archive) -> None:
    class Waiting:
        def __del__(self) -> None:
            time.sleep(60)

    def wait_twice() -> None:
        Waiting()
        time.sleep(60)

    timer.start_call(0.2, is_about_entry=True)
    with pytest.raises(errors.EntryTooSlow), timer.limit(archive, "Quick"):
        wait_twice()


def test_no_limit_is_left_behind(archive: Archive) -> None:
    timer.start_call(600, is_about_entry=True)

    read_text(archive, ReadText("Quick", 1000))

    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)

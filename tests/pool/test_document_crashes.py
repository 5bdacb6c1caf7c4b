"""A PDF that ends the process that reads it costs itself, not its archive: in a search, an answer and an article."""

from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls import Call
from openzim_mcp.calls.reading import ReadText
from openzim_mcp.calls.search import FindPassages, Question, SearchText
from openzim_mcp.config import CacheSettings
from openzim_mcp.library.facts import FactStore
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from openzim_mcp.zimfile import ArchiveFile
from support.archives import archive_file, write_zim
from support.pdfs import page, write_pdf

pytestmark = pytest.mark.anyio
if not Path("/proc/self/task").is_dir():
    pytest.skip("the state of a worker is read from /proc", allow_module_level=True)

SEARCH = SearchText("bowline knots", 0, 10, snippet_chars=200, scan_seconds=5.0)
QUESTION = FindPassages(Question("How does a bowline knot slip?"), scan_seconds=5)
CRASHING_PDFIUM = """
import os, signal
import pypdfium2

class PdfDocument(pypdfium2.PdfDocument):
    def __init__(self, content, *arguments, **options):
        if b"ends the process" in content:
            os.kill(os.getpid(), signal.SIGSEGV)
        if b"takes forever" in content:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
            while True:
                pass
        if b"at its outline" in content:
            self.get_toc = lambda **_: os.kill(os.getpid(), signal.SIGSEGV)
        super().__init__(content, *arguments, **options)

pypdfium2.PdfDocument = PdfDocument
"""


@pytest.fixture
def pool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pool:
    """A pool whose workers have a PDFium that crashes on some files."""
    (tmp_path / "python").mkdir()
    (tmp_path / "python/sitecustomize.py").write_text(CRASHING_PDFIUM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "python"))
    return _make_pool(FactStore(), deadline=60)


def _make_pool(facts: FactStore, deadline: float) -> Pool:
    return Pool(facts, ResultCache(CacheSettings(enabled=False)), workers=1, deadline=deadline, memory_mib=1024)


def _shelf(tmp_path: Path, crashing: int, fault: bytes = b"ends the process") -> ArchiveFile:
    good = write_pdf([page(["A bowline is a knot that does not slip under load."])])
    pages: dict[str, str | bytes] = {
        "home": "<h1>Library</h1><p>Documents about knots and the bowline.</p>",
        "files/bowline knots.pdf": good,
        **{f"files/bowline knots {n}.pdf": good + b"% " + fault for n in range(crashing)},
    }
    return archive_file(write_zim(tmp_path / "shelf.zim", pages))


@pytest.mark.parametrize("call", [SEARCH, QUESTION])
async def test_document_that_crashes_is_left_out_of_a_search(tmp_path: Path, pool: Pool, call: Call[object]) -> None:
    shelf = _shelf(tmp_path, crashing=1)
    async with pool.running():
        for _ in range(2):
            assert "A bowline is a knot" in str(await pool.call(shelf, call)).replace("*", "")

    assert pool.facts.incidents(shelf) == {}


@pytest.mark.parametrize("place", [b"ends the process", b"at its outline"])
async def test_document_that_crashes_says_so(tmp_path: Path, pool: Pool, place: bytes) -> None:
    pages = {"long.pdf": write_pdf([page(["A bowline."])] * 40) + b"% " + place, "note": "<p>A note.</p>"}
    shelf = archive_file(write_zim(tmp_path / "shelf.zim", pages))
    async with pool.running():
        text = (await pool.call(shelf, ReadText("long.pdf", 1000))).content
        assert (await pool.call(shelf, ReadText("note", 1000))).content.strip() == "A note."

    assert (
        text.strip() == "This PDF is damaged: reading it ended the program that reads it. It is left out from now on."
    )
    assert pool.facts.incidents(shelf) == {}


async def test_many_documents_that_crash_end_one_call(tmp_path: Path, pool: Pool) -> None:
    shelf = _shelf(tmp_path, crashing=5)
    async with pool.running():
        with pytest.raises(errors.WorkerFailed, match="Several documents of 'shelf' crashed the reader"):
            await pool.call(shelf, SEARCH)
        assert "A bowline is a knot" in str(await pool.call(shelf, SEARCH)).replace("*", "")

    assert pool.facts.incidents(shelf) == {}


async def test_document_that_hangs_is_left_out_of_the_next_search(tmp_path: Path, pool: Pool) -> None:
    shelf = _shelf(tmp_path, crashing=1, fault=b"takes forever")
    impatient = _make_pool(pool.facts, deadline=6)
    async with impatient.running():
        with pytest.raises(errors.EntryTooSlow, match=r"bowline knots 0\.pdf"):
            await impatient.call(shelf, SEARCH)
    async with pool.running():
        assert "A bowline is a knot" in str(await pool.call(shelf, SEARCH)).replace("*", "")

    assert pool.facts.incidents(shelf) == {}

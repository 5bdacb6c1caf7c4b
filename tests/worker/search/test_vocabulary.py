from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from openzim_mcp import files
from openzim_mcp.calls.search import CountWords, KnownWords, Question
from openzim_mcp.worker.main import OpenArchives
from openzim_mcp.worker.search import vocabulary
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.index_terms import count_rows, read_terms
from openzim_mcp.worker.search.vocabulary import count_words
from openzim_mcp.worker.zim import Archive, ClosedArchive
from openzim_mcp.zimfile import Identity, stat_parts
from support.archives import write_zim

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(files, "archives_directory", lambda: str(tmp_path / "archives"))
    return tmp_path / "archives"


def closed(path: Path, opened: list[str]) -> ClosedArchive:
    """An archive that notes when it is opened."""

    def open_archive() -> Archive:
        opened.append(path.name)
        return Archive(path.stem, [str(path)])

    return ClosedArchive(stat_parts([str(path)]).identity, open_archive)


def frequencies(known: KnownWords) -> dict[str, int]:
    return known.counts.frequencies


def test_words_are_counted_as_libzim_counts_them(zims: Path) -> None:
    path = zims / "built/se_coffee.zim"
    archive = Archive("coffee", [str(path)])
    question = Question("Which milk is best for foaming in Italian espresso machines, or flurbish?", language="en")

    known = count_words(closed(path, []), CountWords(question))

    assert frequencies(known) == {word: archive.frequency(word) for word in frequencies(known)}
    assert frequencies(known)["espresso"] > frequencies(known)["foaming"] > frequencies(known)["flurbish"] == 0
    assert (known.kind, known.counts.articles) == ("qa", archive.text_count)


def test_all_terms_of_an_index_are_read(zims: Path) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])
    index = archive.read_fulltext_index(1 << 30)

    terms = read_terms(index)
    sample = [term.decode() for term in sorted(terms)[::997] if term.isalpha() and term.isascii()]

    assert len(terms) == pytest.approx(count_rows(index), rel=0.05)
    assert {
        word: terms[word.encode()] for word in sample if archive.frequency(word) not in {0, terms[word.encode()]}
    } == {}


def test_record_is_asked_without_opening_the_archive(isles_zim: Path, own_cache: Path) -> None:
    opened: list[str] = []
    first = count_words(closed(isles_zim, opened), CountWords(Question("who founded Ravenport")))
    second = count_words(closed(isles_zim, opened), CountWords(Question("who founded Ravenport")))

    assert first == second
    assert opened == [isles_zim.name]
    assert [path.name for path in own_cache.glob("*/*")] == ["words"]


def test_record_of_another_state_of_the_file_is_not_asked(isles_zim: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(isles_zim, tmp_path / "copy.zim"))
    opened: list[str] = []
    count_words(closed(path, opened), CountWords(Question("harbour")))
    os.utime(path, (1, 1))
    count_words(closed(path, opened), CountWords(Question("harbour")))

    assert opened == ["copy.zim", "copy.zim"]


def test_record_stays_in_memory_if_it_is_not_to_be_kept(isles_zim: Path, own_cache: Path) -> None:
    opened: list[str] = []
    for _ in range(2):
        count_words(closed(isles_zim, opened), CountWords(Question("harbour"), keep=False))
    vocabulary._unsaved.clear()

    assert opened == [isles_zim.name]
    assert not own_cache.exists()


@pytest.mark.parametrize("damage", [b"", b"{}", b"no record\n"])
def test_damaged_record_is_made_again(isles_zim: Path, own_cache: Path, damage: bytes) -> None:
    call = CountWords(Question("Ravenport"))
    expected = count_words(closed(isles_zim, []), call)
    (record,) = own_cache.glob("*/words")
    record.write_bytes(damage)

    assert count_words(closed(isles_zim, []), call) == expected
    assert len(record.read_bytes()) > len(damage)


def test_record_that_was_cut_off_is_read_to_its_end(isles_zim: Path, own_cache: Path) -> None:
    call = CountWords(Question("Ravenport harbour zebra"))
    count_words(closed(isles_zim, []), call)
    (record,) = own_cache.glob("*/words")
    content = record.read_bytes()
    for size in range(content.index(b"\n") + 1, len(content), 7):
        record.write_bytes(content[:size])

        assert frequencies(count_words(closed(isles_zim, []), call))["zebra"] == 0


def test_titles_count_where_there_is_no_index(tmp_path: Path) -> None:
    path = write_zim(
        tmp_path / "plain.zim", {"Sea_Otter": "<p>A mammal</p>", "River_otter": "<p>Another</p>"}, index=False
    )

    known = count_words(closed(path, []), CountWords(Question("otters mammals")))

    assert frequencies(known) == {"otters": 2, "mammals": 0}


def test_archive_with_documents_is_asked_itself(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"Home": "<p>A shelf</p>", "knots.pdf": b"%PDF-1.4"}
    path = write_zim(tmp_path / "shelf.zim", pages)
    opened: list[str] = []
    for _ in range(2):
        known = count_words(closed(path, opened), CountWords(Question("bowline")))

    assert frequencies(known) == {"bowline": 1}
    assert len(opened) == 3


def test_question_without_spaces_is_asked_of_the_archive(zims: Path) -> None:
    path, opened = zims / "built/nonlatin_pub.zim", list[str]()
    count_words(closed(path, opened), CountWords(Question("x")))

    known = count_words(closed(path, opened), CountWords(Question("什么是软件包", language="zh")))

    assert len(opened) == 2
    assert any(frequencies(known).values())


@pytest.mark.parametrize(("typed", "articles"), [("Rav", 1), ("harbour Rav", 1), ("Zyxw", 0)])
def test_last_word_may_be_the_start_of_one(isles_zim: Path, typed: str, articles: int) -> None:
    known = count_words(closed(isles_zim, []), CountWords(Question(typed), is_prefix=True))

    assert list(frequencies(known).values())[-1] == articles


@pytest.mark.parametrize(
    "index",
    [b"", b"\x0f\rXapian Chert", b"\x0f\rXapian Glass\x04n" + bytes(30), b"\x0f\rXapian Glass\x04n" + b"\xff" * 99],
)
def test_other_bytes_are_not_an_index(index: bytes) -> None:
    with pytest.raises(NotReadable):
        read_terms(index)


def test_damaged_index_ends_with_an_error_or_other_terms(zims: Path) -> None:
    index = Archive("coffee", [str(zims / "built/se_coffee.zim")]).read_fulltext_index(1 << 30)
    for start in range(40, len(index), len(index) // 60):
        damaged = index[:start] + b"\xff" * 64 + index[start + 64 :]
        try:
            read_terms(damaged)
        except NotReadable:
            continue


def test_worker_gives_a_closed_archive(isles_zim: Path) -> None:
    archives = OpenArchives(max_descriptors=100, max_data_bytes=1 << 40)
    parts: Sequence[str] = [str(isles_zim)]

    archive = archives.closed("isles", parts)

    assert isinstance(archive.identity, str)
    assert archive.identity == Identity(stat_parts(parts).identity)
    assert archive.open() is archives.open("isles", parts)

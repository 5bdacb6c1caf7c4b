from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from openzim_mcp.worker.jobs.page_mark import PageMark


def end_process_at(path: Path, number: int) -> bool:
    """Begin to read a page and end; return whether it may be read."""
    with contextlib.closing(PageMark(str(path))) as mark:
        return mark.begin(number)


def test_page_is_left_out_after_two_ends(tmp_path: Path) -> None:
    path = tmp_path / "mark"

    assert [end_process_at(path, 0) for _ in range(4)] == [True, True, False, False]


def test_page_that_was_read_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    end_process_at(path, 7)
    with contextlib.closing(PageMark(str(path))) as mark:
        was_suspect = mark.is_suspect(7)
        assert mark.begin(7)
        mark.end(7)
        is_suspect = mark.is_suspect(7)

    assert (was_suspect, is_suspect) == (True, False)
    assert [end_process_at(path, 7) for _ in range(3)] == [True, True, False]


def test_process_that_ends_between_pages_counts_for_none(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    for _ in range(3):
        with contextlib.closing(PageMark(str(path))) as mark:
            assert mark.begin(7)
            mark.end(7)

    assert end_process_at(path, 7)


def test_pages_are_remembered_while_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mark"
    for number in (7, 7, 9, 0):
        end_process_at(path, number)
    with contextlib.closing(PageMark(str(path))) as mark:
        for number in range(7):
            assert mark.begin(number)
            mark.end(number)

    with contextlib.closing(PageMark(str(path))) as mark:
        assert [number for number in range(10) if mark.is_suspect(number)] == [7, 9]
        assert [mark.begin(number) for number in (7, 9)] == [False, True]


@pytest.mark.parametrize("content", [b"", b"not a mark", b"files/knots.pdf\0files/fm 10.pdf"])
def test_other_content_is_no_mark(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mark"
    path.write_bytes(content)

    assert [end_process_at(path, 7) for _ in range(3)] == [True, True, False]


def test_mark_is_removed_when_all_pages_were_read(tmp_path: Path) -> None:
    mark = PageMark(str(tmp_path / "mark"))
    mark.begin(7)

    mark.remove()
    mark.close()

    assert list(tmp_path.iterdir()) == []

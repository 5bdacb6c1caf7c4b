from __future__ import annotations

import os
from pathlib import Path

import pytest

from openzim_mcp.cli import doctor, storage


def test_largest_archive_is_measured_if_it_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.zim").write_bytes(bytes(5000))
    (tmp_path / "large.zim").write_bytes(bytes(50_000))
    (tmp_path / "larger.txt").write_bytes(bytes(90_000))

    assert storage.find_largest_archive(str(tmp_path)) is None
    assert storage.find_largest_archive(str(tmp_path / "missing")) is None
    monkeypatch.setattr(storage, "_MIN_FILE_BYTES", 10_000)
    assert storage.find_largest_archive(str(tmp_path)) == str(tmp_path / "large.zim")


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="the system cannot drop a file from memory")
def test_read_takes_some_time_and_a_missing_file_none(tmp_path: Path) -> None:
    file = tmp_path / "a.zim"
    file.write_bytes(bytes(500_000))

    seconds = storage.measure_read_seconds(str(file))

    assert seconds is not None
    assert seconds > 0
    assert storage.measure_read_seconds(str(tmp_path / "missing")) is None


@pytest.mark.parametrize(
    ("seconds", "state", "words"),
    [
        (0.0001, "good", "a read takes 0.1 ms, so the first question about a subject takes less than 0.1 s"),
        (0.002, "good", "a read takes 2 ms, so the first question about a subject takes about 0.6 s"),
        (0.012, "warn", "a read takes 12 ms, so the first question about a subject takes about 3.6 s"),
    ],
)
def test_slow_disk_is_a_warning_that_says_what_to_expect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, state: str, words: str
) -> None:
    monkeypatch.setattr(storage, "_MIN_FILE_BYTES", 1)
    monkeypatch.setattr(storage, "measure_read_seconds", lambda _path: seconds)
    (tmp_path / "a.zim").write_bytes(b"x")

    (result,) = doctor.check_storage([str(tmp_path)])

    assert (result.what, result.state) == ("disk", state)
    assert words in result.text

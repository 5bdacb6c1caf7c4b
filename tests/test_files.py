from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from openzim_mcp import files


def test_cache_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert files.cache_directory() == str(tmp_path / "openzim-mcp")


@pytest.mark.parametrize(("data", "content"), [("a\r\né\n", "a\r\né\n".encode()), (b"\x00\xff", b"\x00\xff")])
def test_atomic_write_creates_directories(tmp_path: Path, data: str | bytes, content: bytes) -> None:
    path = tmp_path / "new" / "file"

    files.write_atomic(str(path), data)

    assert path.read_bytes() == content
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_atomic_write_sets_the_mode(tmp_path: Path) -> None:
    files.write_atomic(str(tmp_path / "file"), "", mode=0o640)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_failed_atomic_write_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()

    with pytest.raises(OSError, match="directory"):
        files.write_atomic(str(tmp_path / "directory"), "data")

    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


def test_lock_excludes_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    code = f"import os; from openzim_mcp import files; print(files.try_lock(os.open({str(path)!r}, os.O_RDWR)))"
    command = [sys.executable, "-c", code]
    with path.open("wb") as file:
        assert files.try_lock(file.fileno())
        while_locked = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    after_close = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert (while_locked, after_close) == ("False\n", "True\n")


def test_lock_is_granted_where_it_is_not_supported() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)

    assert files.try_lock(writer)

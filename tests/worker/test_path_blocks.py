from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.path_blocks import PathBlocks
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import RecordBlock, ZimFile
from support.archives import write_zim


class CountedFile(ZimFile):
    """A file that counts how often it is read."""

    reads = 0

    def read(self, offset: int, length: int) -> bytes:
        self.reads += 1
        return super().read(offset, length)


def refuse(number: int) -> str:
    raise AssertionError(number)


@pytest.mark.parametrize(
    "name", ["real/wikipedia_en_100_mini_2022-10.zim", "built/devdocs_python.zim", "built/nonlatin_pub.zim"]
)
def test_paths_are_those_of_libzim(zims: Path, name: str) -> None:
    archive = Archive("x", [str(zims / name)])
    blocks = PathBlocks(ZimFile([str(zims / name)]), refuse, archive.content_prefix)

    assert [blocks.path(number) for number in archive.content] == [
        archive.path_by_id(number) for number in archive.content
    ]


def test_neighbours_are_read_at_once(zims: Path) -> None:
    file = CountedFile([str(zims / "built/dictionary_pub.zim")])
    blocks = PathBlocks(file, refuse, "")
    before = file.reads

    neighbours = [blocks.path(number) for number in range(4200, 4220)]

    assert neighbours == sorted(neighbours)
    assert file.reads - before == 2


def test_paths_that_cannot_be_read_are_left_to_libzim(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "x.zim", {"Alpha": "<p>a</p>", "Beta": "<p>b</p>"})
    path.write_bytes(path.read_bytes()[:100])

    assert PathBlocks(ZimFile([str(path)]), lambda number: f"#{number}", "").path(1) == "#1"
    assert RecordBlock(0, [0], bytes(16) + b"no end").path(0) is None

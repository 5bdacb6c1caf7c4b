"""No archive can stop the server: damaged files, and files that change while they are open."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from libzim.reader import Archive

from support.archives import SHARED, write_zim
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]


def call_every_tool(server: StdioServer, name: str) -> list[dict[str, Any]]:
    """Call the tools on an archive; each returns a result or an error."""
    return [
        server.call("zim_health", zim_file_path=name),
        server.call("zim_metadata", zim_file_path=name),
        server.call("zim_browse", zim_file_path=name, namespace="C", limit=500),
        server.call("zim_browse", zim_file_path=name, namespace="M", mode="walk"),
    ]


@pytest.fixture(scope="module")
def full_server() -> Iterator[StdioServer]:
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are not here")
    with StdioServer("--mode", "advanced", SHARED, CACHE__ENABLED="false", WORKER__DEADLINE_SECONDS="30") as server:
        yield server


DAMAGED = sorted(
    str(path.relative_to(SHARED)) for path in [*SHARED.glob("damaged/*.zim"), *SHARED.glob("*/*/invalid.*.zim")]
)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_does_not_stop_the_server(full_server: StdioServer, name: str) -> None:
    process = full_server.process

    results = call_every_tool(full_server, str(SHARED / name))

    assert process.poll() is None
    assert str(SHARED) not in str(results)
    valid = full_server.call("zim_metadata", zim_file_path="se_coffee")
    assert valid["metadata"]["Title"] == "Coffee Stack Exchange"


@pytest.mark.parametrize("folder", ["real", "built"])
def test_every_tool_works_on_valid_archives(full_server: StdioServer, zims: Path, folder: str) -> None:
    names = {path.name for path in (zims / folder).iterdir() if path.suffix == ".zim"}

    for name in sorted(names):
        health, metadata, page, walk = call_every_tool(full_server, name)

        assert health["is_valid"], name
        assert metadata["counts"]["all_entries"] > 0, name
        assert walk.get("operation") in {None, "namespace_not_found"}, name
        assert page.get("operation") in {None, "namespace_not_found"}, name


def words_zim(path: Path) -> Path:
    """A small archive whose indexes have many blocks."""
    generator = random.Random(5)
    words = ["".join(generator.choices("abcdefghijklmnop", k=generator.randrange(3, 9))) for _ in range(600)]
    pages = {
        f"{generator.choice(words)}_{n}": f"<p>common {' '.join(generator.choices(words, k=60))}</p>"
        for n in range(120)
    }
    return write_zim(path, pages)


def index_ranges(path: Path) -> list[range]:
    """The blocks of the two Xapian databases in the file."""
    raw, archive = path.read_bytes(), Archive(path)
    entries = [archive._get_entry_by_id(number) for number in range(archive.all_entry_count)]
    contents = [bytes(entry.get_item().content) for entry in entries if entry.path.endswith("/xapian")]
    return [range(raw.find(content[:64]), raw.find(content[:64]) + len(content), 4096) for content in contents]


def test_zeroed_index_block_does_not_stop_the_server(open_server: OpenServer, tmp_path: Path) -> None:
    original = words_zim(tmp_path / "original.zim")
    raw, ranges = original.read_bytes(), index_ranges(original)
    served = tmp_path / "served"
    served.mkdir()
    shutil.copy(original, served / "valid.zim")
    server = open_server(served, WORKER__DEADLINE_SECONDS="20")

    assert len(ranges) == 2
    quarantined = 0
    for start in [block for blocks in ranges for block in blocks]:
        mutant = bytearray(raw)
        mutant[start : start + 4096] = bytes(min(4096, len(raw) - start))
        (tmp_path / "mutant").write_bytes(mutant)
        (tmp_path / "mutant").replace(served / "mutant.zim")

        health, *_ = call_every_tool(server, "mutant")

        quarantined += bool(health["quarantine"])
        assert health["is_valid"] is (bytes(mutant) == raw), start
        assert server.call("zim_metadata", zim_file_path="valid")["metadata"]["Title"] == "Test", start
    assert quarantined, "no block made libzim crash or hang: this test no longer tests anything"


def truncate(path: Path, _replacement: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _replacement: Path) -> None:
    os.truncate(path, 0)


def overwrite_in_place(path: Path, replacement: Path) -> None:
    with path.open("r+b") as file:
        file.write(replacement.read_bytes())
        file.truncate()


def zero_in_place(path: Path, _replacement: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(bytes(size))


def delete(path: Path, _replacement: Path) -> None:
    path.unlink()


def replace(path: Path, replacement: Path) -> None:
    shutil.copy(replacement, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize(
    ("damage", "titles"),
    [
        (truncate, set()),
        (empty, set()),
        (zero_in_place, set()),
        (delete, set()),
        (overwrite_in_place, {"Other"}),
        (replace, {"Other"}),
    ],
)
def test_open_archive_may_be_damaged_at_any_time(
    open_server: OpenServer, zims: Path, tmp_path: Path, damage: Callable[[Path, Path], None], titles: set[str]
) -> None:
    replacement = write_zim(tmp_path / "replacement", {"A": "x"}, metadata={"Title": "Other"})
    served = tmp_path / "served"
    served.mkdir()
    copied_archive = Path(shutil.copy(zims / "built/se_coffee.zim", served / "copied.zim"))
    shutil.copy(zims / "built/bare.zim", served / "valid.zim")
    server = open_server(served)
    call_every_tool(server, "copied")

    request_ids = [
        server.start_call("zim_browse", zim_file_path="copied", namespace="C", limit=500, offset=n) for n in range(20)
    ]
    damage(copied_archive, replacement)
    for request_id in request_ids:
        server.finish_call(request_id)
    results = call_every_tool(server, "copied")

    assert {result["metadata"]["Title"] for result in results if "metadata" in result} == titles
    assert server.call("zim_metadata", zim_file_path="valid")["counts"]["entries"] == 2

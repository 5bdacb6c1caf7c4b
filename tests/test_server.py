"""No archive can take the server down: every fault on real files, through the real server."""

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


def ask_everything(server: StdioServer, name: str) -> list[dict[str, Any]]:
    """Call every tool on an archive; each answers with a result or an error."""
    return [
        server.call("zim_health", zim_file_path=name),
        server.call("zim_metadata", zim_file_path=name),
        server.call("zim_browse", zim_file_path=name, namespace="C", limit=500),
        server.call("zim_browse", zim_file_path=name, namespace="M", mode="walk"),
    ]


@pytest.fixture(scope="module")
def all_archives() -> Iterator[StdioServer]:
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are not here")
    with StdioServer("--mode", "advanced", SHARED, CACHE__ENABLED="false", WORKER__DEADLINE_SECONDS="10") as server:
        yield server


DAMAGED = sorted(
    str(path.relative_to(SHARED)) for path in [*SHARED.glob("damaged/*.zim"), *SHARED.glob("*/*/invalid.*.zim")]
)


@pytest.mark.parametrize("name", DAMAGED)
def test_no_damaged_file_takes_the_server_down(all_archives: StdioServer, name: str) -> None:
    process = all_archives.process

    answers = ask_everything(all_archives, str(SHARED / name))

    assert process.poll() is None
    assert str(SHARED) not in str(answers)
    sound = all_archives.call("zim_metadata", zim_file_path="se_coffee")
    assert sound["metadata"]["Title"] == "Coffee Stack Exchange"


@pytest.mark.parametrize("folder", ["real", "built"])
def test_every_sound_archive_answers_every_tool(all_archives: StdioServer, zims: Path, folder: str) -> None:
    names = {path.name for path in (zims / folder).iterdir() if path.suffix == ".zim"}

    for name in sorted(names):
        health, described, page, walk = ask_everything(all_archives, name)

        assert health["is_valid"], name
        assert described["counts"]["all_entries"] > 0, name
        assert walk.get("operation") in {None, "namespace_not_found"}, name
        assert page.get("operation") in {None, "namespace_not_found"}, name


def words_zim(path: Path) -> Path:
    """A small archive whose indexes have many blocks."""
    chance = random.Random(5)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randrange(3, 9))) for _ in range(600)]
    pages = {
        f"{chance.choice(words)}_{n}": f"<p>common {' '.join(chance.choices(words, k=60))}</p>" for n in range(120)
    }
    return write_zim(path, pages)


def index_ranges(path: Path) -> list[range]:
    """Where the two Xapian databases lie in the file."""
    raw, archive = path.read_bytes(), Archive(path)
    entries = [archive._get_entry_by_id(number) for number in range(archive.all_entry_count)]
    contents = [bytes(entry.get_item().content) for entry in entries if entry.path.endswith("/xapian")]
    return [range(raw.find(content[:64]), raw.find(content[:64]) + len(content), 4096) for content in contents]


def test_every_block_of_both_indexes_zeroed_in_turn(open_server: OpenServer, tmp_path: Path) -> None:
    original = words_zim(tmp_path / "original.zim")
    raw, ranges = original.read_bytes(), index_ranges(original)
    served = tmp_path / "served"
    served.mkdir()
    shutil.copy(original, served / "sound.zim")
    server = open_server(served, WORKER__DEADLINE_SECONDS="2")

    assert len(ranges) == 2
    closed = 0
    for start in [block for blocks in ranges for block in blocks]:
        mutant = bytearray(raw)
        mutant[start : start + 4096] = bytes(min(4096, len(raw) - start))
        (tmp_path / "mutant").write_bytes(mutant)
        (tmp_path / "mutant").replace(served / "mutant.zim")

        health, *_ = ask_everything(server, "mutant")

        closed += bool(health["quarantine"])
        assert health["is_valid"] is (bytes(mutant) == raw), start
        assert server.call("zim_metadata", zim_file_path="sound")["metadata"]["Title"] == "Test", start
    assert closed, "no block made libzim crash or hang: the test has lost its teeth"


def truncate(path: Path, _other: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _other: Path) -> None:
    os.truncate(path, 0)


def overwrite_in_place(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.write(other.read_bytes())
        file.truncate()


def zero_in_place(path: Path, _other: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(bytes(size))


def delete(path: Path, _other: Path) -> None:
    path.unlink()


def replace(path: Path, other: Path) -> None:
    shutil.copy(other, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize(
    ("ruin", "titles"),
    [
        (truncate, set()),
        (empty, set()),
        (zero_in_place, set()),
        (delete, set()),
        (overwrite_in_place, {"Other"}),
        (replace, {"Other"}),
    ],
)
def test_an_open_archive_may_be_ruined_at_any_time(
    open_server: OpenServer, zims: Path, tmp_path: Path, ruin: Callable[[Path, Path], None], titles: set[str]
) -> None:
    other = write_zim(tmp_path / "other", {"A": "x"}, metadata={"Title": "Other"})
    served = tmp_path / "served"
    served.mkdir()
    victim = Path(shutil.copy(zims / "built/se_coffee.zim", served / "victim.zim"))
    shutil.copy(zims / "built/bare.zim", served / "sound.zim")
    server = open_server(served)
    ask_everything(server, "victim")

    numbers = [
        server.start_call("zim_browse", zim_file_path="victim", namespace="C", limit=500, offset=n) for n in range(20)
    ]
    ruin(victim, other)
    for number in numbers:
        server.finish_call(number)
    after = ask_everything(server, "victim")

    assert {answer["metadata"]["Title"] for answer in after if "metadata" in answer} == titles
    assert server.call("zim_metadata", zim_file_path="sound")["counts"]["entries"] == 2

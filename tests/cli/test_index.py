from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import files, page_index
from openzim_mcp.zimfile import stat_parts
from support import command_line
from support.archives import write_zim

COMPLETE = {"state": "complete", "done": 2, "of": 2}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    write_zim(
        tmp_path / "towns.zim",
        {"Ravenport": '<p>Near <a href="Alderwick">a hill</a>.</p>', "Alderwick": "<p>A hill.</p>"},
    )
    return tmp_path


def index_of(*arguments: str | Path) -> Any:
    (row,) = command_line.run("index", *arguments, "--json").json["archives"]
    return row["index"], row["passage_index"]


def test_index_makes_all_indexes_and_removes_them(library: Path) -> None:
    before = index_of("--status", library)
    made = command_line.run("index", library / "towns.zim")
    after = index_of("--status", library)
    command_line.run("verify", library)
    removed = index_of("--remove", "--yes", library)

    assert before == removed == ({"state": "not built", "done": 0, "of": 0}, "not built")
    assert made.code == 0
    assert "complete, 2 pages" in made.out
    assert after == (COMPLETE, "complete")
    assert "verified" in command_line.run("list", library).out


def test_remove_needs_consent(library: Path) -> None:
    command_line.run("index", library)

    refused = command_line.run("index", "--remove", library)

    assert refused.code == 1
    assert "add --yes" in refused.err
    assert index_of("--status", library) == (COMPLETE, "complete")


def test_index_that_another_process_makes_is_left_alone(library: Path) -> None:
    identity = stat_parts([str(library / "towns.zim")]).identity
    lock_path = Path(page_index.lock_path(identity))
    lock_path.parent.mkdir(parents=True)
    with lock_path.open("wb") as lock:
        assert files.try_lock(lock.fileno())

        made, removed = (command_line.run("index", *options, library) for options in ((), ("--remove", "--yes")))

    assert (made.code, removed.code) == (1, 1)
    assert "another process is making it" in made.out
    assert "another process is making it" in removed.out
    assert lock_path.exists()


def test_options_that_exclude_each_other_are_refused(library: Path) -> None:
    assert command_line.run("index", "--status", "--remove", library).code == 2

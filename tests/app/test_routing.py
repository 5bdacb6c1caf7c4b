"""Of many archives, those are asked that have the words; the others stay closed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openzim_mcp.zimfile import stat_parts
from support.archives import write_zim
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]

ARCHIVES = 60


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty archives, each about a town with a name of its own; those with low numbers speak more of ships."""
    directory = tmp_path_factory.mktemp("towns")
    for number in range(ARCHIVES):
        pages = {
            town_name(number): f"<p>{town_name(number)} is a town. It was founded in {1500 + number} by a miller.</p>",
            "Harbour": "<p>Ships come here.</p>" * (1 if number < 55 else 0) + "<p>It is a place by the sea.</p>",
        }
        pages |= {f"Ship_{ship}": "<p>One of the ships of the town.</p>" for ship in range(5 if number < 10 else 0)}
        write_zim(directory / f"town{number:02}.zim", pages, metadata={"Title": f"Town {number}"})
    return directory


def town_name(number: int) -> str:
    consonants = "bdfgklmnprst"
    return f"Q{consonants[number % 12]}o{consonants[number // 12]}uvale"


def open_archives(server: StdioServer) -> set[str]:
    return set(_open_archives(server))


def _open_archives(server: StdioServer) -> Iterator[str]:
    for pid in server.worker_pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed since it was listed
                target = os.readlink(descriptor)
                if target.endswith(".zim"):
                    yield Path(target).stem


def ask(server: StdioServer, query: str) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query}})
    return str(result["content"][0]["text"])


def records(directory: Path) -> list[str]:
    """The names of the files that are kept of the archives of a directory."""
    cache = Path(os.environ["XDG_CACHE_HOME"]) / "openzim-mcp" / "archives"
    identities = [stat_parts([str(path)]).identity for path in directory.glob("*.zim")]
    return sorted(path.name for identity in identities for path in (cache / identity).glob("*"))


def test_question_opens_few_of_many_archives(open_server: OpenServer, towns: Path) -> None:
    question = f"when was {town_name(37)} founded?"
    earlier = open_server(towns, PASSAGE_INDEX_ENABLED="false")
    earlier.call("zim_health")  # which describes all archives, however long it takes
    ask(earlier, question)  # and the other records are made
    server = open_server(towns, PASSAGE_INDEX_ENABLED="false")

    assert "1537" in ask(server, question)
    assert "town37" in open_archives(server)
    assert len(open_archives(server)) <= 10


def test_title_is_found_in_one_of_many_archives(open_server: OpenServer, towns: Path) -> None:
    server = open_server(towns, PASSAGE_INDEX_ENABLED="false")

    assert "1541" in ask(server, f"summary of {town_name(41)}")


def test_search_of_many_archives_says_how_many_were_passed_over(open_server: OpenServer, towns: Path) -> None:
    server = open_server(towns, PASSAGE_INDEX_ENABLED="false")

    page = server.call("zim_search", query="ships", cross_file=True)

    assert (page["archives_searched"], page["archives_failed"]) == (60, 0)
    assert (page["archives_passed_over"], page["archives_without_results"]) == (35, 5)
    assert {hit["archive"] for hit in page["results"]} <= {f"town{number:02}.zim" for number in range(10)}


@pytest.mark.parametrize("mode", ["title", "suggest"])
def test_name_is_found_in_one_of_many_archives(open_server: OpenServer, towns: Path, mode: str) -> None:
    server = open_server(towns, PASSAGE_INDEX_ENABLED="false")
    name = town_name(23)

    page = server.call("zim_search", query=name[:4] if mode == "suggest" else name, mode=mode, cross_file=True)

    assert "town23.zim" in {hit["archive"] for hit in page["results"]}


def test_archives_are_listed_without_opening_them(open_server: OpenServer, towns: Path) -> None:
    open_server(towns).call("zim_health")
    server = open_server(towns)

    archives = server.call("zim_health")["loaded_archives"]

    assert {row["title"] for row in archives} == {f"Town {number}" for number in range(ARCHIVES)}
    assert open_archives(server) == set()


def test_setting_keeps_no_records(open_server: OpenServer, tmp_path: Path) -> None:
    for name in ("Ravenport", "Alderwick"):
        write_zim(tmp_path / f"{name}.zim", {name: f"<p>{name} was founded by a miller.</p>"})
    server = open_server(tmp_path, RECORDS_ENABLED="false")

    for _ in range(2):
        ask(server, "who founded Ravenport?")
        server.call("zim_health")

    assert records(tmp_path) == []
    ask(open_server(tmp_path), "who founded Ravenport?")
    assert records(tmp_path) == ["description.json", "description.json", "words", "words"]


def test_entry_is_found_in_one_of_many_archives_without_opening_the_others(
    open_server: OpenServer, towns: Path
) -> None:
    ask(open_server(towns), "when was the miller born?")  # the records are made
    server = open_server(towns)

    article = server.request("tools/call", {"name": "zim_get", "arguments": {"entry_path": town_name(29)}})

    assert "1529" in article["content"][0]["text"]
    assert open_archives(server) == {"town29"}


def test_entry_whose_words_are_in_too_many_archives_is_looked_for_in_all(open_server: OpenServer, towns: Path) -> None:
    server = open_server(towns)

    error = server.request("tools/call", {"name": "zim_get", "arguments": {"entry_path": "Harbour"}})

    assert "60 archives have 'Harbour'" in error["content"][0]["text"]

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp import Library, errors
from openzim_mcp.app.near import parse_near
from openzim_mcp.cli.command import Exit
from support.archives import FIJI, PARIS, scan_all_pages, write_zim
from support.command_line import run
from support.http_server import HttpServer
from support.stdio_server import StdioServer, wait_until

OpenServer = Callable[..., StdioServer]
TOWER = "48.8583,2.2945"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two archives whose pages were scanned."""
    for name, pages in {"paris": PARIS, "fiji": FIJI}.items():
        scan_all_pages(write_zim(tmp_path / f"{name}.zim", pages))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("48.85,2.35", ((48.85, 2.35), 10_000)),
        (" 48.85; 2.35 ", ((48.85, 2.35), 10_000)),
        ("48.85, 2.35, 5km", ((48.85, 2.35), 5_000)),
        ("48.85,2.35,500 m", ((48.85, 2.35), 500)),
        ("-16.5,180,2.5mi", ((-16.5, 180), 4023.36)),
        ("geo:48.85,2.35", ((48.85, 2.35), 10_000)),
        ("48.85 N 2.35 W", ((48.85, -2.35), 10_000)),
        ("16°30'0\"S, 179°E", ((-16.5, 179), 10_000)),
        ("48,2", ((48, 2), 10_000)),
        ("Eiffel Tower", ("Eiffel Tower", 10_000)),
        ("Eiffel Tower, 5 km", ("Eiffel Tower", 5_000)),
        ("Paris 20 km", ("Paris", 20_000)),
        ("Rome", ("Rome", 10_000)),
        ("Route 66", ("Route 66", 10_000)),
    ],
)
def test_near_is_coordinates_or_a_title_and_a_radius(text: str, expected: tuple[object, float]) -> None:
    place, radius = parse_near(text)

    assert (place, pytest.approx(radius)) == expected


@pytest.mark.parametrize("text", ["95,2", "48,190", ",,", "5km", "48.85,2.35,0km", "48.85,2.35,99999km"])
def test_impossible_place_is_an_error(text: str) -> None:
    with pytest.raises(errors.OpenZimMcpValidationError, match="near: "):
        parse_near(text)


def test_nearest_articles_of_all_archives_come_first(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", near=TOWER)

    assert [(row["archive"], row["path"], row["distance_m"], row.get("direction")) for row in page["results"]] == [
        ("paris.zim", "Eiffel_Tower", 0, None),
        ("paris.zim", "Trocadéro", 529, "NW"),
        ("paris.zim", "Rodin_Museum", 1594, "E"),
        ("paris.zim", "Louvre", 3037, "E"),
    ]
    assert page["near"] == {"latitude": 48.8583, "longitude": 2.2945, "radius_m": 10_000}
    assert (page["total"], page["complete"], page["done"], page["next_cursor"]) == (4, True, True, None)


def test_words_and_place_must_both_match(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", query="museums", near="Eiffel Tower, 2km", cross_file=True)

    assert [(row["path"], row["snippet"]) for row in page["results"]] == [
        ("Rodin_Museum", "A **museum** of the sculptures of Auguste Rodin.")
    ]
    assert page["near"]["title"] == "Eiffel Tower"
    assert page["near"]["archive"] == "paris.zim"


def test_article_that_gives_the_place_is_left_out(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", near="eiffel tower", zim_file_path="paris")

    assert [row["path"] for row in page["results"]] == ["Trocadéro", "Rodin_Museum", "Louvre"]
    assert page["archive"] == "paris.zim"


def test_title_is_looked_for_in_all_archives(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", near="Louvre,20000km", zim_file_path="fiji")

    assert {row["archive"] for row in page["results"]} == {"fiji.zim"}
    assert page["total"] == 3


@pytest.mark.parametrize("arguments", [{"near": "Eiffel Tower"}, {"near": TOWER, "zim_file_path": "paris"}])
def test_pages_of_places_join_to_one_list(open_server: OpenServer, directory: Path, arguments: dict[str, str]) -> None:
    server = open_server(directory)
    whole = server.call("zim_search", **arguments)["results"]
    page = server.call("zim_search", **arguments, limit=1)
    rows = page["results"]
    while page["next_cursor"]:
        page = server.call("zim_search", cursor=page["next_cursor"])
        rows += page["results"]

    assert rows == whole
    assert len(rows) >= 3


def test_result_says_that_places_are_not_known_yet(open_server: OpenServer, tmp_path: Path) -> None:
    write_zim(tmp_path / "paris.zim", PARIS)
    page = open_server(tmp_path, INDEX__ENABLED="false").call("zim_search", near="Eiffel Tower")

    assert (page["results"], page["total"], page["complete"]) == ([], 0, False)
    assert page["progress"] == {"done": 0, "of": 6}
    assert "`openzim-mcp index`" in page["hint"]


def test_server_indexes_places_by_itself(open_server: OpenServer, tmp_path: Path) -> None:
    write_zim(tmp_path / "paris.zim", PARIS)
    server = open_server(tmp_path, INDEX__ENABLED="true")
    wait_until(lambda: bool(server.call("zim_search", near=TOWER)["complete"]))

    assert server.call("zim_search", near=TOWER)["total"] == 4


def test_title_without_coordinates_says_so(open_server: OpenServer, directory: Path) -> None:
    error = open_server(directory).call("zim_search", near="Auguste Rodin")

    assert error["operation"] == "place_not_found"
    assert error["message"] == "The article 'Auguste Rodin' has no coordinates."
    assert "coordinates" in error["hint"]


def test_unknown_title_offers_the_closest(open_server: OpenServer, directory: Path) -> None:
    error = open_server(directory).call("zim_search", near="Loubre Palace Garden")

    assert error["operation"] == "entry_not_found"


def test_places_near_the_date_line_are_found_on_both_sides(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", near="Taveuni,150km")

    assert [(row["title"], row["direction"]) for row in page["results"]] == [("Rabi", "N"), ("Vanua Levu", "W")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"near": TOWER, "mode": "title", "query": "x"}, "near belongs to mode='fulltext'"),
        ({"near": TOWER, "namespace": "C"}, "near belongs to mode='fulltext'"),
    ],
)
def test_wrong_combination_is_explained(
    open_server: OpenServer, directory: Path, arguments: dict[str, str], message: str
) -> None:
    assert message in open_server(directory).call("zim_search", **arguments)["message"]


def test_python_api_finds_places(directory: Path) -> None:
    with Library(directory) as library:
        results = library.search("museum", near="Eiffel Tower", limit=1)
        rest = library.search(cursor=results.next_cursor)

    assert [(hit.title, hit.distance_m, hit.direction, hit.uri) for hit in (*results, *rest)] == [
        ("Rodin Museum", 1594, "E", "zim://paris/entry/Rodin_Museum"),
        ("Louvre", 3037, "E", "zim://paris/entry/Louvre"),
    ]
    assert results.complete


def test_terminal_finds_places(directory: Path) -> None:
    near = run("search", "--near", "Eiffel Tower, 2 km", directory)
    with_words = run("search", "museum", "--near", TOWER, "--json", directory)

    assert near.out.startswith("1. **Trocadéro** — 529 m NW  \n   paris.zim: Trocadéro\n2. **Rodin Museum** — 1.6 km E")
    assert [row["path"] for row in with_words.json["results"]] == ["Rodin_Museum", "Louvre"]
    assert run("search", "--near", "Auguste Rodin", directory).code == Exit.NEGATIVE
    assert run("search").code == Exit.USAGE


def test_terminal_says_that_pages_were_not_read(tmp_path: Path) -> None:
    result = run("search", "--near", TOWER, write_zim(tmp_path / "paris.zim", PARIS))

    assert result.out == "Nothing was found.\n"
    assert "openzim-mcp index" in result.err


def test_api_over_http_finds_places(directory: Path) -> None:
    with HttpServer((directory,)) as server:
        page = server.get("/api/v1/search", params={"near": "Eiffel Tower", "q": "museum", "limit": 1}).json()
        rest = server.get("/api/v1/search", params={"cursor": page["next_cursor"]}).json()
        missing = server.get("/api/v1/search", params={"near": "Auguste Rodin"})

    assert [(row["path"], row["distance_m"], row["direction"]) for row in page["results"] + rest["results"]] == [
        ("Rodin_Museum", 1594, "E"),
        ("Louvre", 3037, "E"),
    ]
    assert page["results"][0]["url"].startswith(f"{server.root}/read/paris/")
    assert (page["near"]["title"], page["complete"], page["total"]) == ("Eiffel Tower", True, 2)
    assert (missing.status_code, missing.json()["operation"]) == (404, "place_not_found")

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp.app.near import format_distance
from openzim_mcp.app.query.places import parse_distance
from support.archives import FIJI, ISLES, PARIS, scan_all_pages, write_zim
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]


@pytest.fixture
def server(tmp_path: Path, open_server: OpenServer) -> StdioServer:
    for name, pages in {"paris": PARIS, "fiji": FIJI, "isles": ISLES}.items():
        scan_all_pages(write_zim(tmp_path / f"{name}.zim", pages))
    return open_server(tmp_path)


def ask(server: StdioServer, query: str, **arguments: object) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query, **arguments}})
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    ("text", "metres"),
    [
        ("5 km", 5000),
        ("2,5 km", 2500),
        ("300m", 300),
        ("3 miles", 4828.032),
        ("10 километров", 10_000),
        ("5公里", 5000),
    ],
)
def test_distance_is_read_in_metres(text: str, metres: float) -> None:
    assert parse_distance(text) == pytest.approx(metres)
    assert parse_distance(None) == 10_000


def test_distance_is_written_for_people() -> None:
    assert [format_distance(metres) for metres in (0, 529, 3037, 10_000, 12_345)] == [
        "0 m",
        "529 m",
        "3 km",
        "10 km",
        "12 km",
    ]


def test_near_lists_places_by_distance(server: StdioServer) -> None:
    text = ask(server, "what is near the Eiffel Tower?")

    assert text.startswith(
        "3 places within 10 km of Eiffel Tower:\n- **Trocadéro** — 529 m NW (paris.zim: Trocadéro)\n"
    )
    assert text.endswith("Source: Eiffel Tower — paris.zim — zim://paris/entry/Eiffel_Tower")


def test_near_continues_at_an_offset(server: StdioServer) -> None:
    first = ask(server, "near Eiffel Tower within 20 km", limit=3)
    second = ask(server, "near Eiffel Tower within 20 km", limit=3, offset=3)

    assert "[offset=3 continues]" in first
    assert "- **Versailles** — 14 km SW" in second
    assert "continues" not in second


def test_words_near_a_place_leave_only_what_has_them(server: StdioServer) -> None:
    text = ask(server, "museums near Eiffel Tower within 2 km")

    assert text.startswith("1 place with 'museums' within 2 km of Eiffel Tower:\n- **Rodin Museum** — 1.6 km E")


def test_coordinates_are_a_place(server: StdioServer) -> None:
    assert "**Rabi** — 34 km N" in ask(server, "what is near -16.8, 179.95 within 50 km")


def test_title_without_coordinates_says_so(server: StdioServer) -> None:
    result = server.call("zim_query", query="what is near Ravenport?")

    assert result["message"] == "The article 'Ravenport' has no coordinates."


def test_words_near_a_title_without_coordinates_are_a_question(server: StdioServer) -> None:
    assert "Ravenport is a harbour town" in ask(server, "harbour town near Ravenport")


def test_words_that_no_near_place_has_are_a_question(server: StdioServer) -> None:
    assert "Source: " in ask(server, "sculptor near Louvre")

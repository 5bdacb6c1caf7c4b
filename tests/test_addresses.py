from __future__ import annotations

from urllib.parse import unquote, urljoin, urlsplit

import pytest

from openzim_mcp import addresses


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("Dog", "/read/wiki/Dog"),
        ("A/Dog house", "/read/wiki/A/Dog%20house"),
        ("what?#100%", "/read/wiki/what%3F%23100%25"),
        ("a%2Fb", "/read/wiki/a%252Fb"),
        ("../../etc/passwd", "/read/wiki/..%2F..%2Fetc%2Fpasswd"),
        ("//host/x", "/read/wiki/%2F%2Fhost%2Fx"),
        ("Ça/ω", "/read/wiki/%C3%87a/%CF%89"),
    ],
)
def test_entry_path_survives_a_browser(path: str, address: str) -> None:
    made = addresses.reader_address("wiki", path)

    resolved = urlsplit(urljoin("http://host/elsewhere/page", made)).path
    assert made == address
    assert unquote(resolved).removeprefix("/read/wiki/") == path


def test_section_is_the_fragment() -> None:
    assert addresses.reader_address("wiki", "Dog", "Early life") == "/read/wiki/Dog#Early%20life"


def test_odd_archive_names_are_escaped() -> None:
    assert addresses.archive_address("a/b c?.zim") == "/archives/a%2Fb%20c%3F.zim.zim"
    assert addresses.raw_address("x", "-/s.css") == "/api/v1/raw/x/-/s.css"


def test_question_is_in_the_query() -> None:
    assert addresses.ask_address("why & how?", "wiki") == "/ask?q=why+%26+how%3F&archive=wiki"
    assert addresses.ask_address("why") == "/ask?q=why"


def test_api_paths_are_told_apart() -> None:
    assert [addresses.is_api(path) for path in ("/api/v1/ask", "/api/v1", "/api/v10", "/mcp")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://host:1/read/wiki/A/Dog%20house#Early%20life", ("wiki", "A/Dog house", "Early life")),
        ("https://host/read/wiki/what%3F%23100%25", ("wiki", "what?#100%", "")),
        ("https://host/wiki/Dog", None),
        ("https://host/read/wiki", None),
    ],
)
def test_reader_url_is_parsed(url: str, place: tuple[str, str, str] | None) -> None:
    assert addresses.parse_reader_url(url) == place

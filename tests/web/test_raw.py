from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import addresses
from openzim_mcp.web.raw import SANDBOX, response_headers
from support.archives import write_zim
from support.http_server import HttpServer
from support.stdio_server import wait_until

VIDEO = b"0123456789abcdef" * 192_000  # three worker calls


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    target = tmp_path_factory.mktemp("raw") / "mixed_en_2026-01.zim"
    pages = {"Home": "<script>alert(1)</script>", "what?#100%": "odd", "a/../b": "dots", "video.webm": VIDEO.decode()}
    write_zim(target, pages, redirects={"Start": "Home"})
    with HttpServer((target,)) as server:
        yield server


def raw(path: str) -> str:
    return addresses.raw_address("mixed_en", path)


def test_bytes_come_in_their_own_type(server: HttpServer) -> None:
    response = server.get(raw("video.webm"))

    assert response.content == VIDEO
    assert response.headers["content-type"] == "video/webm"
    assert response.headers["accept-ranges"] == "bytes"
    assert "content-security-policy" not in response.headers


def test_page_is_sandboxed(server: HttpServer) -> None:
    response = server.get(raw("Home"))

    assert "<script>" in response.text
    assert response.headers["content-security-policy"] == SANDBOX
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("path", ["what?#100%", "a/../b"])
def test_odd_paths_are_read(server: HttpServer, path: str) -> None:
    assert server.get(raw(path)).status_code == 200


def test_redirect_names_its_target(server: HttpServer) -> None:
    response = server.get(raw("Start"))

    assert response.headers["content-location"] == addresses.raw_address("mixed_en_2026-01", "Home")


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ("bytes=0-9", slice(0, 10)),
        ("bytes=3071000-", slice(3_071_000, None)),
        ("bytes=-5", slice(-5, None)),
        ("bytes=1000-2000000", slice(1000, 2_000_001)),
        ("bytes=10-99999999", slice(10, None)),
    ],
)
def test_range_is_sent(server: HttpServer, requested: str, expected: slice) -> None:
    response = server.get(raw("video.webm"), headers={"Range": requested})

    start, stop, _ = expected.indices(len(VIDEO))
    assert response.status_code == 206
    assert response.content == VIDEO[expected]
    assert response.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(VIDEO)}"


@pytest.mark.parametrize("requested", ["bytes=9-2", "bytes=0-1,5-6", "lines=1-2", "bytes=x-"])
def test_other_ranges_are_ignored(server: HttpServer, requested: str) -> None:
    response = server.get(raw("Home"), headers={"Range": requested})

    assert response.status_code == 200


def test_range_beyond_the_end_is_refused(server: HttpServer) -> None:
    response = server.get(raw("video.webm"), headers={"Range": "bytes=99999999-"})

    assert (response.status_code, response.headers["content-range"]) == (416, f"bytes */{len(VIDEO)}")
    assert response.json()["operation"] == "range_not_satisfiable"


def test_range_of_another_state_is_everything(server: HttpServer) -> None:
    headers = {"Range": "bytes=0-9", "If-Range": '"other"'}

    assert server.get(raw("video.webm"), headers=headers).content == VIDEO


def test_head_has_the_headers_only(server: HttpServer) -> None:
    response = server.request("HEAD", raw("video.webm"))

    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(VIDEO))


def test_unknown_entry_is_a_problem(server: HttpServer) -> None:
    response = server.get(raw("nothing"))

    assert (response.status_code, response.json()["operation"]) == (404, "entry_not_found")


@pytest.mark.parametrize(
    "mime_type",
    [
        "text/html",
        "application/xhtml+xml",
        "image/svg+xml",
        "text/xml",
        "application/xml",
        "",
        "x/y\r\nA: b",
        "made-up",
    ],
)
def test_types_that_may_run_are_sandboxed(mime_type: str) -> None:
    headers = response_headers(mime_type)

    assert headers["Content-Security-Policy"] == SANDBOX
    assert "\n" not in headers["Content-Type"]


@pytest.mark.parametrize("mime_type", ["image/png", "video/mp4", "application/pdf", "text/css", "font/woff2"])
def test_inert_types_need_no_sandbox(mime_type: str) -> None:
    assert "Content-Security-Policy" not in response_headers(mime_type)


def test_entry_of_a_replaced_archive_is_cut_off(tmp_path: Path) -> None:
    """Otherwise the rest would be of another file, or be waited for without end."""
    target = write_zim(tmp_path / "films.zim", {"film.webm": "0123456789" * 2_000_000})
    with HttpServer((target,)) as server, server.connect(receive_buffer=4096) as connection:
        connection.sendall(
            f"GET {addresses.raw_address('films', 'film.webm')} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        assert connection.recv(15) == b"HTTP/1.1 200 OK"
        write_zim(tmp_path / "new", {"film.webm": "short"}).replace(target)
        received = sum(map(len, iter(lambda: connection.recv(1 << 20), b"")))
        server.wait_for_line("was replaced while an entry of it was sent")
        wait_until(lambda: "openzim_mcp_in_flight 0.0" in server.get("/metrics").text)

    assert received < 20_000_000
    assert "Traceback" not in server.log

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.catalog.client import Client, Timeouts, display_host, file_name_from_url, is_safe_file_name, safe_url
from support.mirror import Fault, Mirror, serve_mirror

SHORT_TIMEOUTS = Timeouts(connect_seconds=1, read_seconds=0.3)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serve_mirror(Mirror()) as mirror:
        mirror.add("/page", b"x" * 2000)
        yield mirror


def test_document_is_downloaded(mirror: Mirror) -> None:
    with Client(SHORT_TIMEOUTS) as client:
        assert client.get_document(f"{mirror.url}/page", 2000) == b"x" * 2000


def test_404_returns_none(mirror: Mirror) -> None:
    with Client(SHORT_TIMEOUTS) as client:
        assert client.get_document(f"{mirror.url}/other", 2000) is None


def test_too_large_document_is_an_error(mirror: Mirror) -> None:
    with Client(SHORT_TIMEOUTS) as client, pytest.raises(errors.NetworkError, match="larger than 0 MiB"):
        client.get_document(f"{mirror.url}/page", 1000)


FAULTS = {
    "redirects in a loop": Fault(redirect="/page"),
    "cannot be used: it redirects from http to ftp": Fault(redirect="ftp://example.org/page"),
    "has stopped sending": Fault(stalls=True),
    "was lost": Fault(cut_after=100),
    "responded 503 Service Unavailable": Fault(status=503),
}


@pytest.mark.parametrize(("message", "fault"), FAULTS.items())
def test_server_failure_has_a_readable_message(mirror: Mirror, message: str, fault: Fault) -> None:
    mirror.faults["/page"] = fault

    with Client(SHORT_TIMEOUTS) as client, pytest.raises(errors.NetworkError) as caught:
        client.get_document(f"{mirror.url}/page", 2000)

    assert message in caught.value.message
    assert f"127.0.0.1:{mirror.port}" in caught.value.message


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://name.invalid/", "The host name name.invalid cannot be resolved; this machine seems to be offline."),
        ("http://127.0.0.1:1/", "127.0.0.1:1 refuses the connection."),
    ],
)
def test_unreachable_server_has_a_readable_message(url: str, message: str) -> None:
    with Client(SHORT_TIMEOUTS) as client, pytest.raises(errors.NetworkError) as caught:
        client.get_document(url, 10)

    assert caught.value.message.startswith(message)
    assert "HTTPS_PROXY" in str(caught.value.hint)


def test_silent_server_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, Client(SHORT_TIMEOUTS) as client:
        with pytest.raises(errors.NetworkError, match="has stopped sending"):
            client.get_document(f"http://127.0.0.1:{server.getsockname()[1]}/", 10)
        with pytest.raises(errors.NetworkError, match="does not respond"):
            client.get_document(f"https://127.0.0.1:{server.getsockname()[1]}/", 10)


@contextlib.contextmanager
def dripping_server(data: bytes) -> Iterator[str]:
    """A server that sends these bytes at once, and then one after the other."""
    is_over = threading.Event()

    def serve() -> None:
        with server.accept()[0] as connection, contextlib.suppress(OSError):
            connection.sendall(data)
            while not is_over.wait(0.02):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        is_over.set()
        thread.join()


@pytest.mark.parametrize(
    "data",
    [b"HTTP/1.1 200 OK\r\nX-Endless: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"],
    ids=["headers", "body"],
)
def test_server_that_drips_is_left(data: bytes) -> None:
    timeouts = Timeouts(slow_seconds=0.5, response_seconds=0.5, min_document_bytes_per_second=10_000)
    with dripping_server(data) as url, Client(timeouts) as client, pytest.raises(errors.NetworkError) as caught:
        client.get_document(url, 2_000_000)

    assert caught.value.message.endswith("sends too slowly.")


def test_proxy_of_the_environment_is_used(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", mirror.url)
    mirror.files["/page"] = b"by proxy"

    with Client(SHORT_TIMEOUTS) as client:
        assert client.get_document("http://library.invalid/page", 100) == b"by proxy"


def test_failing_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:1")

    with Client(SHORT_TIMEOUTS) as client, pytest.raises(errors.NetworkError) as caught:
        client.get_document("http://library.invalid/page", 100)

    assert "proxy (HTTP_PROXY)" in str(caught.value.hint)
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_invalid_proxy_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "carrier-pigeon://me:secret@loft")

    with pytest.raises(errors.NetworkError, match="proxy in the environment") as caught:
        Client()

    assert "secret" not in caught.value.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("openssl is not installed")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names], check=True, capture_output=True)
    with path.open("a") as file:
        file.write(Path(f"{path}.crt").read_text())
    return path


@pytest.fixture
def tls_mirror(certificate: Path) -> Iterator[Mirror]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serve_mirror(Mirror(), context) as mirror:
        mirror.add("/page", b"safe")
        yield mirror


def test_untrusted_certificate_is_refused(tls_mirror: Mirror) -> None:
    with (
        Client(SHORT_TIMEOUTS) as client,
        pytest.raises(errors.NetworkError, match=r"certificate of .* is not trusted"),
    ):
        client.get_document(f"https://127.0.0.1:{tls_mirror.port}/page", 100)


def test_redirect_from_https_to_http_is_refused(
    tls_mirror: Mirror, mirror: Mirror, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    tls_mirror.faults["/down"] = Fault(redirect=f"{mirror.url}/page")
    tls_mirror.faults["/near"] = Fault(redirect="/page")

    with Client(SHORT_TIMEOUTS) as client:
        assert client.get_document(f"https://127.0.0.1:{tls_mirror.port}/near", 100) == b"safe"
        with pytest.raises(errors.NetworkError, match="redirects from https to http"):
            client.get_document(f"https://127.0.0.1:{tls_mirror.port}/down", 100)
    assert mirror.requests == []


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://me:secret@kiwix.example/zim", "kiwix.example"),
        ("library.xml", "the server"),
        ("http://[", "the server"),
    ],
)
def test_display_host_has_no_credentials(url: str, host: str) -> None:
    assert display_host(url) == host


URLS_AND_FILE_NAMES = [
    ("https://x.example/zim/wiki_en_all_2026-01.zim.meta4", "wiki_en_all_2026-01.zim"),
    ("https://x.example/zim/wiki_en_all_2026-01.zim?a=b#c", "wiki_en_all_2026-01.zim"),
    ("https://x.example/a.b.c%2B%2B_en_all.zim", "a.b.c++_en_all.zim"),
]


@pytest.mark.parametrize(("url", "name"), URLS_AND_FILE_NAMES)
def test_file_name_is_the_end_of_the_url(url: str, name: str) -> None:
    assert file_name_from_url(url) == name


UNSAFE_URL_ENDS = [
    "..%2f..%2fetc%2fpasswd.zim",
    "%2Fetc%2Fx.zim",
    "..zim",
    "...zim",
    "a..zim",
    ".hidden.zim",
    "x.zim.sh",
    "x.exe",
    "C:%5Cx.zim",
    "x%00.zim",
    "x%0a.zim",
    "CON.zim",
    "lpt1.2026.zim",
    "-rf.zim",
    "x y.zim",
    "",
    "a" * 300 + ".zim",
    "x\u202ezim.zim",
]


@pytest.mark.parametrize("end", UNSAFE_URL_ENDS)
def test_unsafe_file_name_in_a_url_is_refused(end: str) -> None:
    assert file_name_from_url(f"https://x.example/zim/{end}") is None


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://x.example/a", "javascript:1", "//x", "http://", "http://[", "http://x y/", "x"]
)
def test_only_http_urls_are_safe(url: str) -> None:
    assert safe_url(url) is None


def test_url_may_be_relative_to_the_catalog() -> None:
    assert safe_url("/zim/a.zim", "http://ship.example/catalog/v2/entries") == "http://ship.example/zim/a.zim"
    assert safe_url("file:///a.zim", "http://ship.example/") is None


def test_safe_file_name_has_no_directory() -> None:
    assert is_safe_file_name("a.zim")
    assert not is_safe_file_name("b/a.zim")

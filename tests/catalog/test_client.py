from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.catalog.client import Network, Patience, host
from support.mirror import Fault, Mirror, serving

HASTY = Patience(connect=1, silence=0.3)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving(Mirror()) as mirror:
        mirror.add("/page", b"x" * 2000)
        yield mirror


def test_a_document_is_read(mirror: Mirror) -> None:
    with Network(HASTY) as network:
        assert network.read(f"{mirror.url}/page", 2000) == b"x" * 2000


def test_what_is_not_there_is_none(mirror: Mirror) -> None:
    with Network(HASTY) as network:
        assert network.read(f"{mirror.url}/other", 2000) is None


def test_a_document_without_end_is_left(mirror: Mirror) -> None:
    with Network(HASTY) as network, pytest.raises(errors.NetworkError, match="cannot be right"):
        network.read(f"{mirror.url}/page", 1000)


FAULTS = {
    "redirects in circles": Fault(redirect="/page"),
    "cannot be used: it redirects from http to ftp": Fault(redirect="ftp://example.org/page"),
    "has stopped sending": Fault(silent=True),
    "broke off": Fault(cut_after=100),
    "answers 503 Service Unavailable": Fault(status=503),
}


@pytest.mark.parametrize(("sentence", "fault"), FAULTS.items())
def test_what_goes_wrong_is_a_sentence(mirror: Mirror, sentence: str, fault: Fault) -> None:
    mirror.faults["/page"] = fault

    with Network(HASTY) as network, pytest.raises(errors.NetworkError) as caught:
        network.read(f"{mirror.url}/page", 2000)

    assert sentence in caught.value.message
    assert f"127.0.0.1:{mirror.port}" in caught.value.message


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://name.invalid/", "The name name.invalid cannot be looked up; this machine seems to be offline."),
        ("http://127.0.0.1:1/", "127.0.0.1:1 refuses the connection."),
    ],
)
def test_a_server_that_cannot_be_reached_is_a_sentence(url: str, sentence: str) -> None:
    with Network(HASTY) as network, pytest.raises(errors.NetworkError) as caught:
        network.read(url, 10)

    assert caught.value.message.startswith(sentence)
    assert "HTTPS_PROXY" in str(caught.value.hint)


def test_something_that_speaks_no_http_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as odd, Network(HASTY) as network:
        with pytest.raises(errors.NetworkError, match="has stopped sending"):
            network.read(f"http://127.0.0.1:{odd.getsockname()[1]}/", 10)
        with pytest.raises(errors.NetworkError, match="does not answer"):
            network.read(f"https://127.0.0.1:{odd.getsockname()[1]}/", 10)


def test_requests_go_through_the_proxy_of_the_environment(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", mirror.url)
    mirror.files["/page"] = b"by proxy"

    with Network(HASTY) as network:
        assert network.read("http://library.invalid/page", 100) == b"by proxy"


def test_a_proxy_that_does_not_run_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:1")

    with Network(HASTY) as network, pytest.raises(errors.NetworkError) as caught:
        network.read("http://library.invalid/page", 100)

    assert "proxy (HTTP_PROXY)" in str(caught.value.hint)
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"


def test_a_proxy_that_cannot_be_understood_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "carrier-pigeon://me:secret@loft")

    with pytest.raises(errors.NetworkError, match="proxy of the environment") as caught:
        Network()

    assert "secret" not in caught.value.message


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("openssl is not here to make a certificate")
    made = tmp_path_factory.mktemp("tls") / "both.pem"
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(made), "-out", f"{made}.crt"]
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", *names], check=True, capture_output=True)
    with made.open("a") as file:
        file.write(Path(f"{made}.crt").read_text())
    return made


@pytest.fixture
def safe(certificate: Path) -> Iterator[Mirror]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(Mirror(), context) as mirror:
        mirror.add("/page", b"safe")
        yield mirror


def test_a_certificate_that_nobody_vouches_for_is_refused(safe: Mirror) -> None:
    with Network(HASTY) as network, pytest.raises(errors.NetworkError, match="certificate that is not trusted"):
        network.read(f"https://127.0.0.1:{safe.port}/page", 100)


def test_a_redirect_from_https_to_http_is_refused(
    safe: Mirror, mirror: Mirror, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}.crt")
    safe.faults["/down"] = Fault(redirect=f"{mirror.url}/page")
    safe.faults["/near"] = Fault(redirect="/page")

    with Network(HASTY) as network:
        assert network.read(f"https://127.0.0.1:{safe.port}/near", 100) == b"safe"
        with pytest.raises(errors.NetworkError, match="redirects from https to http"):
            network.read(f"https://127.0.0.1:{safe.port}/down", 100)
    assert mirror.asked == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://me:secret@kiwix.example/zim", "kiwix.example"),
        ("library.xml", "the server"),
        ("http://[", "the server"),
    ],
)
def test_a_host_is_shown_without_passwords(url: str, shown: str) -> None:
    assert host(url) == shown

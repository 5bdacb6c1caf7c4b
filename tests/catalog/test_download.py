from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.catalog import metalink
from openzim_mcp.catalog.client import USER_AGENT, Client, Timeouts
from openzim_mcp.catalog.download import download_file
from openzim_mcp.catalog.metalink import Source
from openzim_mcp.text import format_size
from support.mirror import Fault, Mirror, metalink_xml, serve_mirror

NAME = "wiki_en_all_nopic_2026-01.zim"
CONTENT = random.Random(5).randbytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SHORT_TIMEOUTS = Timeouts(
    connect_seconds=2, read_seconds=0.5, min_bytes_per_second=100_000, slow_seconds=0.3, retry_seconds=0.01
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serve_mirror(Mirror(required_user_agent="openzim-mcp/")) as mirror:
        for path in ("/a/", "/b/"):
            mirror.add(path + NAME, CONTENT)
        yield mirror


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(SHORT_TIMEOUTS) as client:
        yield client


def make_source(mirror: Mirror, *folders: str, **fields: object) -> Source:
    urls = tuple(f"{mirror.url}/{folder}/{NAME}" for folder in folders or ("a", "b"))
    return replace(Source(NAME, urls, len(CONTENT), SHA256), **fields)


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_download_is_complete_and_leaves_no_other_file(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    download = download_file(client, make_source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert (download.checked_by, download.received, download.hosts) == (
        "sha256",
        len(CONTENT),
        (f"127.0.0.1:{mirror.port}",),
    )
    assert file_names(tmp_path) == [NAME]
    assert mirror.requests[0].headers["user-agent"] == USER_AGENT


FAULTS = {
    "connection lost": Fault(cut_after=1_000_000),
    "connection lost at once, once": Fault(cut_after=0, times=1),
    "file too short": Fault(missing_bytes=100),
    "wrong byte": Fault(flip_at=2_000_000),
    "404": Fault(status=404),
    "403": Fault(status=403),
    "503, twice": Fault(status=503, times=2),
    "no data": Fault(stalls=True),
    "slow": Fault(bytes_per_second=20_000),
    "no ranges": Fault(no_range=True),
    "no length, connection lost": Fault(no_length=True, cut_after=2_000_000),
    "redirect loop": Fault(redirect=f"/a/{NAME}"),
    "redirect to another protocol": Fault(redirect="ftp://example.org/x.zim"),
    "compressed": Fault(compressed=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_other_mirror_replaces_a_failing_one(mirror: Mirror, client: Client, tmp_path: Path, fault: Fault) -> None:
    mirror.faults[f"/a/{NAME}"] = fault

    download = download_file(client, make_source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert download.checked_by == "sha256"
    assert file_names(tmp_path) == [NAME]


@pytest.mark.parametrize("fault", [Fault(cut_after=400_000), Fault(cut_after=400_000, no_range=True, times=3)])
def test_single_mirror_is_retried_for_missing_bytes(
    mirror: Mirror, client: Client, tmp_path: Path, fault: Fault
) -> None:
    mirror.faults[f"/a/{NAME}"] = fault

    download = download_file(client, make_source(mirror, "a"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert download.received == len(CONTENT)


def test_valid_mirror_is_kept_after_a_mixed_download(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(cut_after=1_000_000, times=1)
    mirror.faults[f"/b/{NAME}"] = Fault(flip_at=2_000_000)

    download_file(client, make_source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_redirect_is_followed(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.faults[f"/near/{NAME}"] = Fault(redirect=f"/a/{NAME}")

    download_file(client, make_source(mirror, "near"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def write_partial(folder: Path, content: bytes, resume_info: str | None = None) -> None:
    (folder / f"{NAME}.part").write_bytes(content)
    if resume_info:
        (folder / f"{NAME}.part.json").write_text(resume_info)


def test_partial_file_is_resumed(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    write_partial(tmp_path, CONTENT[:1_234_567])

    download = download_file(client, make_source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert download.received == len(CONTENT) - 1_234_567
    assert [request.headers["range"] for request in mirror.requests] == ["bytes=1234567-"]


def test_complete_partial_file_is_only_checked(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    write_partial(tmp_path, CONTENT)

    assert download_file(client, make_source(mirror), str(tmp_path / NAME)).received == 0
    assert mirror.requests == []


WRONG_PARTIALS = {
    "wrong bytes": (b"x" * 1_000_000, None),
    "longer than the file": (CONTENT + b"more", None),
    "from a file with another checksum": (b"x" * 1000, '{"sha256": "0000", "url": "", "validator": ""}'),
    "with invalid resume info": (CONTENT[:10], "["),
}


@pytest.mark.parametrize(("content", "resume_info"), WRONG_PARTIALS.values(), ids=WRONG_PARTIALS)
def test_wrong_partial_file_is_replaced(
    mirror: Mirror, client: Client, tmp_path: Path, content: bytes, resume_info: str | None
) -> None:
    write_partial(tmp_path, content, resume_info)

    download_file(client, make_source(mirror, "a"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_only_wrong_pieces_are_downloaded_again(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    write_partial(tmp_path, CONTENT[:100_000] + b"\0" * 10 + CONTENT[100_010:2_000_000])
    published = metalink.parse_metalink(metalink_xml(NAME, CONTENT, piece=65_536).decode(), NAME)
    assert published

    download = download_file(client, make_source(mirror, pieces=published.pieces), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert download.received == 1_000_000 + 65_536


def test_wrong_checksum_keeps_the_old_file(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"old")

    with pytest.raises(errors.DownloadFailed, match="SHA-256"):
        download_file(client, make_source(mirror, sha256="0" * 64), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == b"old"


def test_wrong_checksum_is_named_though_other_mirrors_do_not_respond(
    mirror: Mirror, client: Client, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    source = make_source(mirror, "a", sha256="0" * 64)
    source = replace(source, urls=(*source.urls, f"http://127.0.0.1:{port}/{NAME}"))

    with pytest.raises(errors.DownloadFailed, match="The SHA-256 does not match the published one"):
        download_file(client, source, str(tmp_path / NAME))


def test_partial_file_is_kept_when_no_mirror_is_left(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(cut_after=300_000, times=1)

    def remove(*_: object) -> None:
        mirror.files.pop(f"/a/{NAME}", None)

    with pytest.raises(errors.DownloadFailed, match="kept") as caught:
        download_file(client, make_source(mirror, "a", "none"), str(tmp_path / NAME), remove)

    assert "404" in caught.value.message
    assert (tmp_path / f"{NAME}.part").read_bytes() == CONTENT[:300_000]


def test_too_large_file_is_not_started(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    with pytest.raises(errors.NotEnoughSpace) as caught:
        download_file(client, make_source(mirror, size=10**17), str(tmp_path / NAME))

    assert f"{format_size(caught.value.details['free'])} are free" in caught.value.message
    assert mirror.requests == []
    assert file_names(tmp_path) == []


def test_stopped_download_keeps_the_partial_file(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(bytes_per_second=2_000_000)
    stop = threading.Event()

    def stop_later(_phase: str, done: int, _total: int | None) -> None:
        if done > 500_000:
            stop.set()

    with pytest.raises(errors.DownloadStopped):
        download_file(client, make_source(mirror, "a"), str(tmp_path / NAME), stop_later, stop)

    content = (tmp_path / f"{NAME}.part").read_bytes()
    assert len(content) > 500_000
    assert CONTENT.startswith(content)


def test_partial_file_is_locked(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    from openzim_mcp.catalog.partial_file import PartialFile

    with PartialFile(str(tmp_path / NAME)), pytest.raises(errors.DownloadFailed, match="Another process"):
        download_file(client, make_source(mirror), str(tmp_path / NAME))


def test_missing_directory_is_an_error(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    with pytest.raises(errors.FileNotWritable, match="No such file"):
        download_file(client, make_source(mirror), str(tmp_path / "none" / NAME))


# Without a Metalink, only the validator of the server and the checksum inside the archive identify the file.


@pytest.fixture
def zim(mirror: Mirror, town_zim: Path) -> bytes:
    content = town_zim.read_bytes()
    mirror.add("/plain.zim", content)
    return content


def plain_source(mirror: Mirror) -> Source:
    return Source("plain.zim", (f"{mirror.url}/plain.zim",))


def test_file_without_sha256_is_checked_by_its_own_checksum(
    mirror: Mirror, client: Client, zim: bytes, tmp_path: Path
) -> None:
    download = download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert (download.checked_by, download.size) == ("checksum inside", len(zim))


@pytest.mark.parametrize("fault", [Fault(flip_at=30_000), Fault(missing_bytes=20)])
@pytest.mark.usefixtures("zim")
def test_damaged_archive_without_sha256_is_refused(
    mirror: Mirror, client: Client, tmp_path: Path, fault: Fault
) -> None:
    mirror.faults["/plain.zim"] = fault

    with pytest.raises(errors.DownloadFailed, match="not a valid ZIM"):
        download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert file_names(tmp_path) == []


def test_html_page_is_refused(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.add("/plain.zim", b"<html>Please log in to the wireless network of this hotel</html>")

    with pytest.raises(errors.DownloadFailed, match="not a valid ZIM"):
        download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))


def test_file_without_length_is_refused(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.add("/plain.zim", CONTENT)
    mirror.faults["/plain.zim"] = Fault(no_length=True)

    with pytest.raises(errors.DownloadFailed, match="length of the file"):
        download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert file_names(tmp_path) == []


def test_empty_file_is_refused(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    mirror.add("/plain.zim", b"")

    with pytest.raises(errors.DownloadFailed, match="empty"):
        download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))


def test_changed_file_is_downloaded_from_the_start(mirror: Mirror, client: Client, zim: bytes, tmp_path: Path) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, etag='"one"', times=1)
    mirror.files["/plain.zim"] = b"a" * 40_000
    with pytest.raises(errors.DownloadStopped):
        download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"), stop=_stop_at_size(20_000, tmp_path))
    mirror.files["/plain.zim"] = zim

    download = download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert (tmp_path / "plain.zim").read_bytes() == zim
    assert download.received == len(zim)
    assert mirror.requests[-1].headers["if-range"] == '"one"'


def _stop_at_size(size: int, folder: Path) -> threading.Event:
    """Return an event that is set when the partial file has this size."""

    class SizeReached(threading.Event):
        def is_set(self) -> bool:
            return (folder / "plain.zim.part").stat().st_size >= size

    return SizeReached()


def test_file_with_the_same_validator_is_resumed(mirror: Mirror, client: Client, zim: bytes, tmp_path: Path) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, times=1)

    download = download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert download.received == len(zim)
    assert [request.headers.get("range") for request in mirror.requests] == [None, "bytes=20000-"]


def test_file_without_validator_is_downloaded_from_the_start(
    mirror: Mirror, client: Client, zim: bytes, tmp_path: Path
) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, no_etag=True, times=1)

    download_file(client, plain_source(mirror), str(tmp_path / "plain.zim"))

    assert (tmp_path / "plain.zim").read_bytes() == zim
    assert [request.headers.get("range") for request in mirror.requests] == [None, None]


def test_complete_partial_file_is_recognized_by_416(mirror: Mirror, client: Client, zim: bytes, tmp_path: Path) -> None:
    etag = f'"{hashlib.md5(zim).hexdigest()}"'.replace('"', '\\"')
    (tmp_path / "plain.zim.part").write_bytes(zim)
    (tmp_path / "plain.zim.part.json").write_text(
        f'{{"sha256": null, "url": "{mirror.url}/plain.zim", "validator": "{etag}"}}'
    )

    assert download_file(client, plain_source(mirror), str(tmp_path / "plain.zim")).received == 0


DOWNLOAD_SCRIPT = """
import sys
from openzim_mcp.catalog.download import download_file
from openzim_mcp.catalog.client import Client
from openzim_mcp.catalog.metalink import Source
print("ready", flush=True)
url, size, sha256, target = sys.argv[1:]
with Client() as client:
    download_file(client, Source("x.zim", (url,), int(size), sha256), target)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_download_resumes_after_twenty_random_kills(mirror: Mirror, tmp_path: Path) -> None:
    content = CONTENT * 4
    mirror.add("/x.zim", content)
    mirror.faults["/x.zim"] = Fault(bytes_per_second=12_000_000)
    target, partial = tmp_path / "x.zim", tmp_path / "x.zim.part"
    arguments = [f"{mirror.url}/x.zim", str(len(content)), hashlib.sha256(content).hexdigest(), str(target)]
    generator = random.Random(20)
    kills = 0

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", DOWNLOAD_SCRIPT, *arguments], stdout=subprocess.PIPE)
        assert process.stdout
        process.stdout.readline()
        return process

    while kills < 20:
        size_before = partial.stat().st_size if partial.exists() else 0
        process = start()
        time.sleep(generator.uniform(0, 0.35))
        os.kill(process.pid, signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert process.stdout
        process.stdout.close()
        if target.exists():
            assert target.read_bytes() == content
            target.unlink()
        else:
            downloaded = partial.read_bytes() if partial.exists() else b""
            assert len(downloaded) >= size_before
            assert content.startswith(downloaded)

    process = start()
    assert process.wait(30) == 0
    assert process.stdout
    process.stdout.close()
    assert target.read_bytes() == content
    assert file_names(tmp_path) == ["x.zim"]

from __future__ import annotations

import hashlib
import os
import random
import signal
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
from openzim_mcp.catalog.client import USER_AGENT, Network, Patience
from openzim_mcp.catalog.download import download
from openzim_mcp.catalog.metalink import Source
from openzim_mcp.text import format_size
from support.mirror import Fault, Mirror, meta4, serving

NAME = "wiki_en_all_nopic_2026-01.zim"
CONTENT = random.Random(5).randbytes(3_000_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HASTY = Patience(connect=2, silence=0.5, slow_rate=100_000, slow_seconds=0.3, pause=0.01)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving(Mirror(known_agents="openzim-mcp/")) as mirror:
        for path in ("/a/", "/b/"):
            mirror.add(path + NAME, CONTENT)
        yield mirror


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(HASTY) as network:
        yield network


def source(mirror: Mirror, *folders: str, **known: object) -> Source:
    urls = tuple(f"{mirror.url}/{folder}/{NAME}" for folder in folders or ("a", "b"))
    return replace(Source(NAME, urls, len(CONTENT), SHA256), **known)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_and_leaves_nothing_beside_it(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    done = download(network, source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert (done.checked_by, done.received, done.hosts) == ("sha256", len(CONTENT), (f"127.0.0.1:{mirror.port}",))
    assert left(tmp_path) == [NAME]
    assert mirror.asked[0].headers["user-agent"] == USER_AGENT


FAULTS = {
    "the connection is cut": Fault(cut_after=1_000_000),
    "the connection is cut at once, once": Fault(cut_after=0, times=1),
    "it has a shorter file": Fault(shorter_by=100),
    "one byte is wrong": Fault(flip_at=2_000_000),
    "it says 404": Fault(status=404),
    "it says 403": Fault(status=403),
    "it says 503 for a while": Fault(status=503, times=2),
    "it sends nothing": Fault(silent=True),
    "it crawls": Fault(bytes_a_second=20_000),
    "it does not know ranges": Fault(no_range=True),
    "it gives no length and is cut": Fault(no_length=True, cut_after=2_000_000),
    "it redirects in circles": Fault(redirect=f"/a/{NAME}"),
    "it redirects to another protocol": Fault(redirect="ftp://example.org/x.zim"),
    "it compresses": Fault(compressed=True),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_when_a_mirror_fails_the_other_one_finishes(
    mirror: Mirror, network: Network, tmp_path: Path, fault: Fault
) -> None:
    mirror.faults[f"/a/{NAME}"] = fault

    done = download(network, source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert done.checked_by == "sha256"
    assert left(tmp_path) == [NAME]


@pytest.mark.parametrize("fault", [Fault(cut_after=400_000), Fault(cut_after=400_000, no_range=True, times=3)])
def test_the_only_mirror_is_asked_again_for_what_is_missing(
    mirror: Mirror, network: Network, tmp_path: Path, fault: Fault
) -> None:
    mirror.faults[f"/a/{NAME}"] = fault

    done = download(network, source(mirror, "a"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert done.received == len(CONTENT)


def test_a_wrong_byte_of_one_mirror_does_not_rule_out_another_that_gave_some(
    mirror: Mirror, network: Network, tmp_path: Path
) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(cut_after=1_000_000, times=1)
    mirror.faults[f"/b/{NAME}"] = Fault(flip_at=2_000_000)

    download(network, source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_a_redirect_is_followed(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.faults[f"/near/{NAME}"] = Fault(redirect=f"/a/{NAME}")

    download(network, source(mirror, "near"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def begun(folder: Path, content: bytes, note: str | None = None) -> None:
    (folder / f"{NAME}.part").write_bytes(content)
    if note:
        (folder / f"{NAME}.part.json").write_text(note)


def test_what_an_earlier_run_got_is_not_got_again(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    begun(tmp_path, CONTENT[:1_234_567])

    done = download(network, source(mirror), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert done.received == len(CONTENT) - 1_234_567
    assert [asked.headers["range"] for asked in mirror.asked] == ["bytes=1234567-"]


def test_a_complete_part_is_only_checked(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    begun(tmp_path, CONTENT)

    assert download(network, source(mirror), str(tmp_path / NAME)).received == 0
    assert mirror.asked == []


WRONG_PARTS = {
    "wrong bytes": (b"x" * 1_000_000, None),
    "longer than the file": (CONTENT + b"more", None),
    "of a file with another checksum": (b"x" * 1000, '{"sha256": "0000", "url": "", "mark": ""}'),
    "with a note that is no note": (CONTENT[:10], "["),
}


@pytest.mark.parametrize(("content", "note"), WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_a_wrong_part_does_not_stay(
    mirror: Mirror, network: Network, tmp_path: Path, content: bytes, note: str | None
) -> None:
    begun(tmp_path, content, note)

    download(network, source(mirror, "a"), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT


def test_of_a_damaged_part_only_the_wrong_pieces_come_again(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    begun(tmp_path, CONTENT[:100_000] + b"\0" * 10 + CONTENT[100_010:2_000_000])
    known = metalink.parse(meta4(NAME, CONTENT, piece=65_536).decode(), NAME)
    assert known

    done = download(network, source(mirror, pieces=known.pieces), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == CONTENT
    assert done.received == 1_000_000 + 65_536


def test_a_file_that_is_wrong_everywhere_is_refused_and_the_old_one_stays(
    mirror: Mirror, network: Network, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(b"old")

    with pytest.raises(errors.DownloadFailed, match="SHA-256"):
        download(network, source(mirror, sha256="0" * 64), str(tmp_path / NAME))

    assert (tmp_path / NAME).read_bytes() == b"old"


def test_what_came_is_kept_when_no_mirror_is_left(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(cut_after=300_000, times=1)

    def remove(*_: object) -> None:
        mirror.files.pop(f"/a/{NAME}", None)

    with pytest.raises(errors.DownloadFailed, match="kept") as caught:
        download(network, source(mirror, "a", "none"), str(tmp_path / NAME), remove)

    assert "404" in caught.value.message
    assert (tmp_path / f"{NAME}.part").read_bytes() == CONTENT[:300_000]


def test_a_file_that_does_not_fit_is_not_begun(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    with pytest.raises(errors.NotEnoughSpace) as caught:
        download(network, source(mirror, size=10**17), str(tmp_path / NAME))

    assert f"{format_size(caught.value.details['free'])} are free" in caught.value.message
    assert mirror.asked == []
    assert left(tmp_path) == []


def test_it_stops_when_told_and_keeps_what_came(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.faults[f"/a/{NAME}"] = Fault(bytes_a_second=2_000_000)
    stop = threading.Event()

    def watch(_doing: str, done: int, _total: int | None) -> None:
        if done > 500_000:
            stop.set()

    with pytest.raises(errors.DownloadStopped):
        download(network, source(mirror, "a"), str(tmp_path / NAME), watch, stop)

    kept = (tmp_path / f"{NAME}.part").read_bytes()
    assert len(kept) > 500_000
    assert CONTENT.startswith(kept)


def test_the_same_file_is_not_written_by_two_at_once(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    from openzim_mcp.catalog.partial_file import Part

    with Part(str(tmp_path / NAME)), pytest.raises(errors.DownloadFailed, match="another process"):
        download(network, source(mirror), str(tmp_path / NAME))


def test_a_directory_that_cannot_be_written_is_said(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    with pytest.raises(errors.FileNotWritable, match="No such file"):
        download(network, source(mirror), str(tmp_path / "none" / NAME))


# Without a Metalink only the server's mark of the file and the checksum inside of it can tell.


@pytest.fixture
def zim(mirror: Mirror, town_zim: Path) -> bytes:
    content = town_zim.read_bytes()
    mirror.add("/plain.zim", content)
    return content


def plain(mirror: Mirror) -> Source:
    return Source("plain.zim", (f"{mirror.url}/plain.zim",))


def test_without_a_checksum_the_one_inside_the_archive_counts(
    mirror: Mirror, network: Network, zim: bytes, tmp_path: Path
) -> None:
    done = download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert (done.checked_by, done.size) == ("checksum inside", len(zim))


@pytest.mark.parametrize("fault", [Fault(flip_at=30_000), Fault(shorter_by=20)])
@pytest.mark.usefixtures("zim")
def test_without_a_checksum_a_damaged_archive_is_still_refused(
    mirror: Mirror, network: Network, tmp_path: Path, fault: Fault
) -> None:
    mirror.faults["/plain.zim"] = fault

    with pytest.raises(errors.DownloadFailed, match="no sound ZIM"):
        download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert left(tmp_path) == []


def test_a_page_that_is_no_archive_is_refused(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.add("/plain.zim", b"<html>Please log in to the wireless network of this hotel</html>")

    with pytest.raises(errors.DownloadFailed, match="no sound ZIM"):
        download(network, plain(mirror), str(tmp_path / "plain.zim"))


def test_a_file_that_may_never_end_is_refused(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.add("/plain.zim", CONTENT)
    mirror.faults["/plain.zim"] = Fault(no_length=True)

    with pytest.raises(errors.DownloadFailed, match="how long"):
        download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert left(tmp_path) == []


def test_an_empty_file_is_refused(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    mirror.add("/plain.zim", b"")

    with pytest.raises(errors.DownloadFailed, match="empty"):
        download(network, plain(mirror), str(tmp_path / "plain.zim"))


def test_without_a_checksum_it_goes_on_only_if_the_file_is_still_the_same(
    mirror: Mirror, network: Network, zim: bytes, tmp_path: Path
) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, etag='"one"', times=1)
    mirror.files["/plain.zim"] = b"a" * 40_000
    with pytest.raises(errors.DownloadStopped):
        download(network, plain(mirror), str(tmp_path / "plain.zim"), stop=_after(20_000, tmp_path))
    mirror.files["/plain.zim"] = zim

    done = download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert (tmp_path / "plain.zim").read_bytes() == zim
    assert done.received == len(zim)
    assert mirror.asked[-1].headers["if-range"] == '"one"'


def _after(size: int, folder: Path) -> threading.Event:
    """An event that is set once a part has grown to a size."""

    class Grown(threading.Event):
        def is_set(self) -> bool:
            return (folder / "plain.zim.part").stat().st_size >= size

    return Grown()


def test_without_a_checksum_it_goes_on_where_the_mark_is_the_same(
    mirror: Mirror, network: Network, zim: bytes, tmp_path: Path
) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, times=1)

    done = download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert done.received == len(zim)
    assert [asked.headers.get("range") for asked in mirror.asked] == [None, "bytes=20000-"]


def test_without_a_mark_it_starts_over(mirror: Mirror, network: Network, zim: bytes, tmp_path: Path) -> None:
    mirror.faults["/plain.zim"] = Fault(cut_after=20_000, no_mark=True, times=1)

    download(network, plain(mirror), str(tmp_path / "plain.zim"))

    assert (tmp_path / "plain.zim").read_bytes() == zim
    assert [asked.headers.get("range") for asked in mirror.asked] == [None, None]


def test_a_complete_part_without_a_checksum_is_known_by_416(
    mirror: Mirror, network: Network, zim: bytes, tmp_path: Path
) -> None:
    mark = f'"{hashlib.md5(zim).hexdigest()}"'.replace('"', '\\"')
    (tmp_path / "plain.zim.part").write_bytes(zim)
    (tmp_path / "plain.zim.part.json").write_text(
        f'{{"sha256": null, "url": "{mirror.url}/plain.zim", "mark": "{mark}"}}'
    )

    assert download(network, plain(mirror), str(tmp_path / "plain.zim")).received == 0


KILLED = """
import sys
from openzim_mcp.catalog.download import download
from openzim_mcp.catalog.client import Network
from openzim_mcp.catalog.metalink import Source
from openzim_mcp.text import format_size
print("ready", flush=True)
url, size, sha256, target = sys.argv[1:]
with Network() as network:
    download(network, Source("x.zim", (url,), int(size), sha256), target)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
def test_killed_at_twenty_random_moments_it_goes_on_and_the_file_is_right(mirror: Mirror, tmp_path: Path) -> None:
    content = CONTENT * 4
    mirror.add("/x.zim", content)
    mirror.faults["/x.zim"] = Fault(bytes_a_second=12_000_000)
    target, part = tmp_path / "x.zim", tmp_path / "x.zim.part"
    arguments = [f"{mirror.url}/x.zim", str(len(content)), hashlib.sha256(content).hexdigest(), str(target)]
    chance = random.Random(20)
    kills = 0

    def start() -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", KILLED, *arguments], stdout=subprocess.PIPE)
        assert process.stdout
        process.stdout.readline()
        return process

    while kills < 20:
        before = part.stat().st_size if part.exists() else 0
        process = start()
        time.sleep(chance.uniform(0, 0.35))
        os.kill(process.pid, signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert process.stdout
        process.stdout.close()
        if target.exists():
            assert target.read_bytes() == content
            target.unlink()
        else:
            kept = part.read_bytes() if part.exists() else b""
            assert len(kept) >= before
            assert content.startswith(kept)

    process = start()
    assert process.wait(30) == 0
    assert process.stdout
    process.stdout.close()
    assert target.read_bytes() == content
    assert left(tmp_path) == ["x.zim"]

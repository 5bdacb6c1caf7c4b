"""`catalog`, `download` and `update` as a person runs them, on a library of this machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.zimfile import RawFile
from support.archives import write_zim
from support.command_line import CommandResult, clean_environment, run, run_on_terminal
from support.kiwix import kiwix_serve, write_library_xml
from support.mirror import Fault, Mirror, metalink_xml, serve_mirror
from support.stdio_server import COMMAND, StdioServer


@dataclass
class Shop:
    """A mirror with archives, its library.xml, and a customer with a directory."""

    mirror: Mirror
    zims: Path
    customer: dict[str, str]

    def put(self, archive: Path, name: str | None = None, **attributes: Any) -> str:
        """Offer an archive; the name of its file says most of what the catalogue tells."""
        name = name or archive.name
        content = archive.read_bytes()
        url = self.mirror.add(f"/zim/{name}", content)
        self.mirror.add(f"/zim/{name}.meta4", metalink_xml(name, content, url))
        found = re.fullmatch(r"(?P<name>.+?_.+?_.+?)(?:_(?P<flavour>mini|nopic|maxi))?_(?P<date>.{7})\.zim", name)
        assert found
        told = {
            "id": RawFile([str(archive)]).header().uuid,
            "name": found["name"],
            "flavour": found["flavour"] or "",
            "title": found["name"].title(),
            "language": "eng",
            "date": f"{found['date']}-01",
            "size": str(len(content) // 1024),
            "url": f"{url}.meta4",
        }
        book = "".join(f' {key}="{value}"' for key, value in (told | attributes).items())
        library = bytes(self.mirror.files.get("/library.xml", b"<library></library>")).decode()
        self.mirror.add("/library.xml", library.replace("</library>", f"<book{book} />\n</library>").encode())
        return url

    def words(self, command: str, *words: object) -> list[object]:
        return [command, *words, "--library", f"{self.mirror.url}/library.xml", "--refresh"]

    def run(self, command: str, *words: object) -> CommandResult:
        return run(*self.words(command, *words), **self.customer)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "zims").mkdir()
    with serve_mirror(Mirror(required_user_agent="openzim-mcp/")) as mirror:
        customer = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NO_PROXY": "*"}
        yield Shop(mirror, tmp_path / "zims", customer)


@pytest.fixture(scope="session")
def newer_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("newer") / "towns_en_all_2026-03.zim"
    return write_zim(made, {"New": "<p>Newport is new.</p>"})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_catalogue_says_what_there_is_and_what_is_here(shop: Shop, town_zim: Path, isles_zim: Path) -> None:
    shop.put(town_zim, "towns_en_all_nopic_2026-02.zim", id="0", title="Towns\u202e\x9b31m of the &lt;coast&gt;")
    shop.put(isles_zim, "isles_en_all_2026-01.zim", language="fra,eng")
    shop.put(isles_zim, "lakes_en_all_maxi_2026-01.zim", id="1")
    shutil.copy(isles_zim, shop.zims)
    shutil.copy(town_zim, shop.zims / "towns_en_all_nopic_2025-01.zim")

    ended = shop.run("catalog", "--dir", shop.zims)

    assert ended.code == 0
    rows = [re.split(r" *\| *", line)[1:-1] for line in ended.out.splitlines()[2:]]
    assert [row[:2] + row[3:6] for row in rows] == [
        ["isles_en_all", "2026-01", "everything", "fra +1", "yes"],
        ["lakes_en_all_maxi", "2026-01", "text and pictures", "eng", ""],
        ["towns_en_all_nopic", "2026-02", "text, no pictures", "eng", "older"],
    ]
    assert rows[2][6] == "Towns31m of the <coast>"


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_names_can_be_copied_whatever_the_width(shop: Shop, town_zim: Path, columns: int) -> None:
    name = "towns.of.the.eastern.coast_en_all_nopic"
    shop.put(town_zim, f"{name}_2026-01.zim", title="All towns of the eastern coast, with their harbours")

    assert name in run_on_terminal(*shop.words("catalog"), columns=columns, **shop.customer).out


def test_the_catalogue_for_scripts(shop: Shop, town_zim: Path) -> None:
    shop.put(town_zim)

    found = shop.run("catalog", "towns", "--lang", "en", "--max-size", "10MB", "--json").json

    assert found["total"] == 1
    assert found["archives"][0]["name"] == "towns_en_all"
    assert found["archives"][0]["file"] == "towns_en_all_2026-01.zim"
    assert found["archives"][0]["state"] == "absent"


@pytest.mark.parametrize("words", [["nothing"], ["--lang", "de"], ["--max-size", "1KB"], ["--flavour", "mini"]])
def test_nothing_found_is_said(shop: Shop, town_zim: Path, words: list[str]) -> None:
    shop.put(town_zim)

    ended = shop.run("catalog", *words)

    assert (ended.code, ended.out) == (1, "Nothing was found.\n")


def test_a_size_that_is_none_is_refused(shop: Shop) -> None:
    assert shop.run("catalog", "--max-size", "huge").code == 2


def test_long_lists_are_cut_for_people(shop: Shop, town_zim: Path) -> None:
    for number in range(3):
        shop.put(town_zim, f"towns{number}_en_all_2026-01.zim", id=str(number))

    ended = shop.run("catalog", "--limit", 2)

    assert len(ended.out.splitlines()) == 4
    assert ended.err.startswith("1 more;")


def test_a_download_comes_whole(shop: Shop, town_zim: Path) -> None:
    shop.put(town_zim)

    ended = shop.run("download", "towns_en_all", "--dir", shop.zims / "new")

    assert ended.code == 0, ended.err
    assert (shop.zims / "new" / "towns_en_all_2026-01.zim").read_bytes() == town_zim.read_bytes()
    assert "SHA-256 of the library" in ended.out
    assert f"openzim-mcp {shop.zims / 'new'}" in ended.err


def test_downloads_go_where_archives_are_served(shop: Shop, town_zim: Path) -> None:
    shop.put(town_zim)
    shop.customer["OPENZIM_MCP_ALLOWED_DIRECTORIES"] = str(shop.zims)

    assert shop.run("download", "towns_en_all").code == 0
    assert names(shop.zims) == ["towns_en_all_2026-01.zim"]


def test_what_is_here_is_not_downloaded_again(shop: Shop, town_zim: Path) -> None:
    url = shop.put(town_zim)
    shutil.copy(town_zim, shop.zims)

    ended = shop.run("download", "towns_en_all", "--dir", shop.zims)

    assert "was here" in ended.out
    assert shop.mirror.requests_for(url.removeprefix(shop.mirror.url)) == []


def test_several_downloads_come_at_once_and_one_that_fails_keeps_none_from_coming(
    shop: Shop, town_zim: Path, isles_zim: Path
) -> None:
    shop.put(town_zim)
    shop.put(isles_zim)
    shop.put(isles_zim, "lakes_en_all_2026-01.zim", id="1")
    shop.mirror.faults["/zim/isles_en_all_2026-01.zim"] = Fault(status=404)

    ended = shop.run("download", "isles_en_all", "towns_en_all", "lakes_en_all", "--dir", shop.zims, "--json")

    assert ended.code == 4
    assert names(shop.zims) == ["lakes_en_all_2026-01.zim", "towns_en_all_2026-01.zim"]
    assert [row["status"] for row in ended.json["files"]] == ["error", "ok", "ok"]
    assert "404 Not Found" in ended.json["files"][0]["message"]


def test_a_name_that_is_none_is_explained(shop: Shop, town_zim: Path) -> None:
    shop.put(town_zim)

    ended = shop.run("download", "town_en_all", "--dir", shop.zims)

    assert ended.code == 1
    assert "Did you mean towns_en_all?" in ended.err
    assert names(shop.zims) == []


@pytest.mark.parametrize("name", ["..%2f..%2fevil.zim", "%2ftmp%2fevil.zim", "evil.sh"])
def test_a_feed_cannot_write_elsewhere(shop: Shop, town_zim: Path, name: str) -> None:
    shop.put(town_zim, url=f"{shop.mirror.url}/zim/{name}")

    ended = shop.run("download", "towns_en_all", "--dir", shop.zims)

    assert ended.code == 1
    assert "without a usable URL for its file" in ended.err
    assert names(shop.zims) == []
    assert set(names(shop.zims.parent)) == {"cache", "zims"}


def test_an_offline_machine_gets_a_sentence(shop: Shop) -> None:
    ended = run("download", "towns_en_all", "--library", "http://library.invalid", **shop.customer)

    assert ended.code == 4
    assert "library.invalid cannot be resolved; this machine seems to be offline." in ended.err
    assert "Traceback" not in ended.err


def test_a_disk_that_cannot_be_written_gets_a_sentence(shop: Shop, town_zim: Path) -> None:
    shop.put(town_zim)
    (shop.zims / "file").write_text("")

    ended = shop.run("download", "towns_en_all", "--dir", shop.zims / "file")

    assert ended.code == 5


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_an_interrupted_download_says_so_and_goes_on_later(shop: Shop, town_zim: Path) -> None:
    path = shop.put(town_zim).removeprefix(shop.mirror.url)
    shop.mirror.faults[path] = Fault(bytes_per_second=20_000, times=1)
    process = subprocess.Popen(
        [*COMMAND, *map(str, shop.words("download", "towns_en_all", "--dir", shop.zims))],
        stderr=subprocess.PIPE,
        env=clean_environment(**shop.customer),
    )
    part = shop.zims / "towns_en_all_2026-01.zim.part"
    for _ in range(200):
        if part.exists() and part.stat().st_size > 1000:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)

    assert process.returncode == 130
    assert b"goes on from there" in said
    assert part.stat().st_size > 1000
    assert shop.run("download", "towns_en_all", "--dir", shop.zims).code == 0
    assert shop.mirror.requests[-1].headers["range"].startswith("bytes=")
    assert names(shop.zims) == ["towns_en_all_2026-01.zim"]


def test_progress_is_shown_on_a_terminal(shop: Shop, town_zim: Path) -> None:
    path = shop.put(town_zim).removeprefix(shop.mirror.url)
    shop.mirror.faults[path] = Fault(bytes_per_second=100_000)

    ended = run_on_terminal(*shop.words("download", "towns_en_all", "--dir", shop.zims), **shop.customer)

    assert ended.code == 0
    assert "%" in ended.out
    assert "SHA-256" in ended.out


def test_an_update_replaces_the_old_file_and_a_running_server_notices(
    shop: Shop, town_zim: Path, newer_zim: Path
) -> None:
    shop.put(newer_zim)
    shutil.copy(town_zim, shop.zims)
    with StdioServer("--mode", "advanced", shop.zims) as server:
        asked = {"name": "zim_get", "arguments": {"zim_file_path": "towns_en_all", "entry_path": "New"}}
        assert server.request("tools/call", asked)["isError"]

        ended = shop.run("update", shop.zims, "--yes")

        assert ended.code == 0, ended.err
        assert "| towns_en_all | 2026-01 | 2026-03 |" in ended.out
        assert names(shop.zims) == ["towns_en_all_2026-03.zim"]
        time.sleep(1.1)
        assert "Newport" in str(server.request("tools/call", asked))


def test_an_update_that_fails_leaves_the_old_file(shop: Shop, town_zim: Path, newer_zim: Path) -> None:
    shop.put(newer_zim)
    shop.mirror.faults[f"/zim/{newer_zim.name}"] = Fault(flip_at=9000)
    shutil.copy(town_zim, shop.zims)

    ended = shop.run("update", shop.zims, "--yes")

    assert ended.code == 4
    assert names(shop.zims) == [town_zim.name]


def test_nothing_is_replaced_where_nobody_can_be_asked(shop: Shop, town_zim: Path, newer_zim: Path) -> None:
    shop.put(newer_zim)
    shutil.copy(town_zim, shop.zims)

    ended = shop.run("update", shop.zims)

    assert ended.code == 1
    assert "--yes" in ended.err
    assert shop.run("update", shop.zims, "--json").json["updates"][0]["newer"] == "2026-03"
    assert names(shop.zims) == [town_zim.name]


@pytest.mark.parametrize(
    ("answer", "left"), [(b"n\n", "towns_en_all_2026-01.zim"), (b"y\n", "towns_en_all_2026-03.zim")]
)
def test_a_person_is_asked(shop: Shop, town_zim: Path, newer_zim: Path, answer: bytes, left: str) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    shop.put(newer_zim)
    shutil.copy(town_zim, shop.zims)
    master, slave = pty.openpty()
    words = [*COMMAND, *map(str, shop.words("update", shop.zims))]
    process = subprocess.Popen(
        words, stdin=slave, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment(**shop.customer)
    )
    os.write(master, answer)
    _, said = process.communicate(timeout=30)
    os.close(slave)
    os.close(master)

    assert b"Replace them?" in said
    assert names(shop.zims) == [left]


def test_a_file_without_a_date_keeps_its_name(shop: Shop, town_zim: Path, newer_zim: Path) -> None:
    shop.put(newer_zim)
    shutil.copy(town_zim, shop.zims / "towns_en_all.zim")

    assert shop.run("update", shop.zims, "--yes").code == 0
    assert names(shop.zims) == ["towns_en_all.zim"]
    assert (shop.zims / "towns_en_all.zim").read_bytes() == newer_zim.read_bytes()
    assert "Nothing newer" in shop.run("update", shop.zims).out


def test_of_a_link_only_the_link_is_removed(shop: Shop, town_zim: Path, newer_zim: Path) -> None:
    shop.put(newer_zim)
    (shop.zims / "deep").mkdir()
    shutil.copy(town_zim, shop.zims / "deep" / "kept_elsewhere.zim")
    (shop.zims / town_zim.name).symlink_to(shop.zims / "deep" / "kept_elsewhere.zim")

    assert shop.run("update", shop.zims, "--yes").code == 0
    assert names(shop.zims) == ["deep", "towns_en_all_2026-03.zim"]
    assert names(shop.zims / "deep") == ["kept_elsewhere.zim"]


def test_from_a_kiwix_serve_to_an_archive_that_is_here(shop: Shop, tmp_path: Path) -> None:
    archive = write_zim(
        tmp_path / "towns_en_all_2026-01.zim",
        {"A": "<p>Town</p>"},
        metadata={"Name": "towns_en_all", "Title": "Towns", "Date": "2026-01-04"},
    )
    shop.put(archive)
    (tmp_path / "served").mkdir()
    library = write_library_xml(tmp_path / "served", [archive], f"{shop.mirror.url}/zim")

    with kiwix_serve(library) as url:
        before = run("catalog", "towns", "--library", url, "--dir", shop.zims, "--json", **shop.customer)
        ended = run("download", "towns_en_all", "--library", url, "--dir", shop.zims, **shop.customer)
        after = run("catalog", "towns", "--library", url, "--dir", shop.zims, "--json", **shop.customer)

    assert ended.code == 0, ended.err
    assert [found.json["archives"][0]["state"] for found in (before, after)] == ["absent", "installed"]
    assert (shop.zims / archive.name).read_bytes() == archive.read_bytes()

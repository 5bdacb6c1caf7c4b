"""`catalog`, `download` and `update`, run against a library on this machine."""

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

from openzim_mcp.zimfile import ZimFile
from support.archives import write_zim
from support.command_line import CommandResult, clean_environment, run, run_on_terminal
from support.kiwix import kiwix_serve, write_library_xml
from support.mirror import Fault, Mirror, metalink_xml, serve_mirror
from support.stdio_server import COMMAND, StdioServer


@dataclass
class LocalLibrary:
    """A mirror with archives and a library.xml, and a directory to download to."""

    mirror: Mirror
    zims: Path
    environment: dict[str, str]

    def add(self, archive: Path, name: str | None = None, **attributes: Any) -> str:
        """Add an archive to the library; most attributes of its book come from the file name."""
        name = name or archive.name
        content = archive.read_bytes()
        url = self.mirror.add(f"/zim/{name}", content)
        self.mirror.add(f"/zim/{name}.meta4", metalink_xml(name, content, url))
        parts = re.fullmatch(r"(?P<name>.+?_.+?_.+?)(?:_(?P<flavour>mini|nopic|maxi))?_(?P<date>.{7})\.zim", name)
        assert parts
        defaults = {
            "id": ZimFile([str(archive)]).header().uuid,
            "name": parts["name"],
            "flavour": parts["flavour"] or "",
            "title": parts["name"].title(),
            "language": "eng",
            "date": f"{parts['date']}-01",
            "size": str(len(content) // 1024),
            "url": f"{url}.meta4",
        }
        book = "".join(f' {key}="{value}"' for key, value in (defaults | attributes).items())
        library_xml = bytes(self.mirror.files.get("/library.xml", b"<library></library>")).decode()
        self.mirror.add("/library.xml", library_xml.replace("</library>", f"<book{book} />\n</library>").encode())
        return url

    def arguments(self, command: str, *arguments: object) -> list[object]:
        return [command, *arguments, "--library", f"{self.mirror.url}/library.xml", "--refresh"]

    def run(self, command: str, *arguments: object) -> CommandResult:
        return run(*self.arguments(command, *arguments), **self.environment)


@pytest.fixture
def library(tmp_path: Path) -> Iterator[LocalLibrary]:
    (tmp_path / "zims").mkdir()
    with serve_mirror(Mirror(required_user_agent="openzim-mcp/")) as mirror:
        environment = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "NO_PROXY": "*"}
        yield LocalLibrary(mirror, tmp_path / "zims", environment)


@pytest.fixture(scope="session")
def newer_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("newer") / "towns_en_all_2026-03.zim"
    return write_zim(path, {"New": "<p>Newport is new.</p>"})


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_catalog_lists_archives_and_install_state(library: LocalLibrary, town_zim: Path, isles_zim: Path) -> None:
    library.add(town_zim, "towns_en_all_nopic_2026-02.zim", id="0", title="Towns\u202e\x9b31m of the &lt;coast&gt;")
    library.add(isles_zim, "isles_en_all_2026-01.zim", language="fra,eng")
    library.add(isles_zim, "lakes_en_all_maxi_2026-01.zim", id="1")
    shutil.copy(isles_zim, library.zims)
    shutil.copy(town_zim, library.zims / "towns_en_all_nopic_2025-01.zim")

    result = library.run("catalog", "--dir", library.zims)

    assert result.code == 0
    rows = [re.split(r" *\| *", line)[1:-1] for line in result.out.splitlines()[2:]]
    assert [row[:2] + row[3:6] for row in rows] == [
        ["isles_en_all", "2026-01", "everything", "fra +1", "yes"],
        ["lakes_en_all_maxi", "2026-01", "text and pictures", "eng", ""],
        ["towns_en_all_nopic", "2026-02", "text, no pictures", "eng", "older"],
    ]
    assert rows[2][6] == "Towns31m of the <coast>"


@pytest.mark.parametrize("columns", [120, 80, 60])
def test_catalog_names_are_never_wrapped(library: LocalLibrary, town_zim: Path, columns: int) -> None:
    name = "towns.of.the.eastern.coast_en_all_nopic"
    library.add(town_zim, f"{name}_2026-01.zim", title="All towns of the eastern coast, with their harbours")

    assert name in run_on_terminal(*library.arguments("catalog"), columns=columns, **library.environment).out


def test_catalog_json_has_names_files_and_state(library: LocalLibrary, town_zim: Path) -> None:
    library.add(town_zim)

    listing = library.run("catalog", "towns", "--lang", "en", "--max-size", "10MB", "--json").json

    assert listing["total"] == 1
    assert listing["archives"][0]["name"] == "towns_en_all"
    assert listing["archives"][0]["file"] == "towns_en_all_2026-01.zim"
    assert listing["archives"][0]["state"] == "absent"


@pytest.mark.parametrize("words", [["nothing"], ["--lang", "de"], ["--max-size", "1KB"], ["--flavour", "mini"]])
def test_catalog_without_matches_exits_with_1(library: LocalLibrary, town_zim: Path, words: list[str]) -> None:
    library.add(town_zim)

    result = library.run("catalog", *words)

    assert (result.code, result.out) == (1, "No archive matches.\n")


def test_invalid_size_is_refused(library: LocalLibrary) -> None:
    assert library.run("catalog", "--max-size", "huge").code == 2


def test_catalog_limits_rows(library: LocalLibrary, town_zim: Path) -> None:
    for number in range(3):
        library.add(town_zim, f"towns{number}_en_all_2026-01.zim", id=str(number))

    result = library.run("catalog", "--limit", 2)

    assert len(result.out.splitlines()) == 4
    assert result.err.startswith("1 more:")


def test_download_is_complete_and_checked(library: LocalLibrary, town_zim: Path) -> None:
    library.add(town_zim)

    result = library.run("download", "towns_en_all", "--dir", library.zims / "new")

    assert result.code == 0, result.err
    assert (library.zims / "new" / "towns_en_all_2026-01.zim").read_bytes() == town_zim.read_bytes()
    assert "published SHA-256" in result.out
    assert f"To ask: openzim-mcp ask YOUR QUESTION {library.zims / 'new'}\n" in result.err


def test_download_goes_to_the_served_directory(library: LocalLibrary, town_zim: Path) -> None:
    library.add(town_zim)
    library.environment["OPENZIM_MCP_ALLOWED_DIRECTORIES"] = str(library.zims)

    assert library.run("download", "towns_en_all").code == 0
    assert file_names(library.zims) == ["towns_en_all_2026-01.zim"]


def test_existing_archive_is_not_downloaded_again(library: LocalLibrary, town_zim: Path) -> None:
    url = library.add(town_zim)
    shutil.copy(town_zim, library.zims)

    result = library.run("download", "towns_en_all", "--dir", library.zims)

    assert "already there" in result.out
    assert library.mirror.requests_for(url.removeprefix(library.mirror.url)) == []


def test_failed_download_does_not_stop_the_others(library: LocalLibrary, town_zim: Path, isles_zim: Path) -> None:
    library.add(town_zim)
    library.add(isles_zim)
    library.add(isles_zim, "lakes_en_all_2026-01.zim", id="1")
    library.mirror.faults["/zim/isles_en_all_2026-01.zim"] = Fault(status=404)

    result = library.run("download", "isles_en_all", "towns_en_all", "lakes_en_all", "--dir", library.zims, "--json")

    assert result.code == 4
    assert file_names(library.zims) == ["lakes_en_all_2026-01.zim", "towns_en_all_2026-01.zim"]
    assert [row["status"] for row in result.json["files"]] == ["error", "ok", "ok"]
    assert "404 Not Found" in result.json["files"][0]["message"]


def test_unknown_name_gets_a_suggestion(library: LocalLibrary, town_zim: Path) -> None:
    library.add(town_zim)

    result = library.run("download", "town_en_all", "--dir", library.zims)

    assert result.code == 1
    assert "Did you mean towns_en_all?" in result.err
    assert file_names(library.zims) == []


@pytest.mark.parametrize("name", ["..%2f..%2fevil.zim", "%2ftmp%2fevil.zim", "evil.sh"])
def test_catalog_cannot_write_to_another_directory(library: LocalLibrary, town_zim: Path, name: str) -> None:
    library.add(town_zim, url=f"{library.mirror.url}/zim/{name}")

    result = library.run("download", "towns_en_all", "--dir", library.zims)

    assert result.code == 1
    assert "without a usable URL for its file" in result.err
    assert file_names(library.zims) == []
    assert set(file_names(library.zims.parent)) == {"cache", "zims"}


def test_offline_machine_gets_a_readable_message(library: LocalLibrary) -> None:
    result = run("download", "towns_en_all", "--library", "http://library.invalid", **library.environment)

    assert result.code == 4
    assert "library.invalid cannot be resolved; this machine seems to be offline." in result.err
    assert "Traceback" not in result.err


def test_unwritable_directory_exits_with_5(library: LocalLibrary, town_zim: Path) -> None:
    library.add(town_zim)
    (library.zims / "file").write_text("")

    result = library.run("download", "towns_en_all", "--dir", library.zims / "file")

    assert result.code == 5


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_interrupted_download_is_resumed(library: LocalLibrary, town_zim: Path) -> None:
    path = library.add(town_zim).removeprefix(library.mirror.url)
    library.mirror.faults[path] = Fault(bytes_per_second=20_000, times=1)
    process = subprocess.Popen(
        [*COMMAND, *map(str, library.arguments("download", "towns_en_all", "--dir", library.zims))],
        stderr=subprocess.PIPE,
        env=clean_environment(**library.environment),
    )
    part = library.zims / "towns_en_all_2026-01.zim.part"
    for _ in range(200):
        if part.exists() and part.stat().st_size > 1000:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error_output = process.communicate(timeout=20)

    assert process.returncode == 130
    assert f"to go on:\n  openzim-mcp download {part.stem} --dir {library.zims}\n" in error_output.decode()
    assert part.stat().st_size > 1000
    assert library.run("download", "towns_en_all", "--dir", library.zims).code == 0
    assert library.mirror.requests[-1].headers["range"].startswith("bytes=")
    assert file_names(library.zims) == ["towns_en_all_2026-01.zim"]


def test_progress_is_shown_on_a_terminal(library: LocalLibrary, town_zim: Path) -> None:
    path = library.add(town_zim).removeprefix(library.mirror.url)
    library.mirror.faults[path] = Fault(bytes_per_second=100_000)

    result = run_on_terminal(
        *library.arguments("download", "towns_en_all", "--dir", library.zims), **library.environment
    )

    assert result.code == 0
    assert "%" in result.out
    assert "SHA-256" in result.out


def test_running_server_sees_an_update(library: LocalLibrary, town_zim: Path, newer_zim: Path) -> None:
    library.add(newer_zim)
    shutil.copy(town_zim, library.zims)
    with StdioServer("--mode", "advanced", library.zims) as server:
        call = {"name": "zim_get", "arguments": {"zim_file_path": "towns_en_all", "entry_path": "New"}}
        assert server.request("tools/call", call)["isError"]

        result = library.run("update", library.zims, "--yes")

        assert result.code == 0, result.err
        assert "| towns_en_all | 2026-01 | 2026-03 |" in result.out
        assert file_names(library.zims) == ["towns_en_all_2026-03.zim"]
        time.sleep(1.1)
        assert "Newport" in str(server.request("tools/call", call))


def test_failed_update_keeps_the_old_file(library: LocalLibrary, town_zim: Path, newer_zim: Path) -> None:
    library.add(newer_zim)
    library.mirror.faults[f"/zim/{newer_zim.name}"] = Fault(flip_at=9000)
    shutil.copy(town_zim, library.zims)

    result = library.run("update", library.zims, "--yes")

    assert result.code == 4
    assert file_names(library.zims) == [town_zim.name]


def test_update_without_terminal_needs_yes(library: LocalLibrary, town_zim: Path, newer_zim: Path) -> None:
    library.add(newer_zim)
    shutil.copy(town_zim, library.zims)

    result = library.run("update", library.zims)

    assert result.code == 1
    assert "--yes" in result.err
    assert library.run("update", library.zims, "--json").json["updates"][0]["newer"] == "2026-03"
    assert file_names(library.zims) == [town_zim.name]


@pytest.mark.parametrize(
    ("answer", "installed"), [(b"n\n", "towns_en_all_2026-01.zim"), (b"y\n", "towns_en_all_2026-03.zim")]
)
def test_update_asks_on_a_terminal(
    library: LocalLibrary, town_zim: Path, newer_zim: Path, answer: bytes, installed: str
) -> None:
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    library.add(newer_zim)
    shutil.copy(town_zim, library.zims)
    master, slave = pty.openpty()
    command = [*COMMAND, *map(str, library.arguments("update", library.zims))]
    process = subprocess.Popen(
        command,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(**library.environment),
    )
    os.write(master, answer)
    _, error_output = process.communicate(timeout=30)
    os.close(slave)
    os.close(master)

    assert b"Replace them?" in error_output
    assert file_names(library.zims) == [installed]


def test_update_keeps_an_undated_file_name(library: LocalLibrary, town_zim: Path, newer_zim: Path) -> None:
    library.add(newer_zim)
    shutil.copy(town_zim, library.zims / "towns_en_all.zim")

    assert library.run("update", library.zims, "--yes").code == 0
    assert file_names(library.zims) == ["towns_en_all.zim"]
    assert (library.zims / "towns_en_all.zim").read_bytes() == newer_zim.read_bytes()
    assert "has a newer edition" in library.run("update", library.zims).out


def test_update_removes_only_a_symbolic_link(library: LocalLibrary, town_zim: Path, newer_zim: Path) -> None:
    library.add(newer_zim)
    (library.zims / "deep").mkdir()
    shutil.copy(town_zim, library.zims / "deep" / "linked.zim")
    (library.zims / town_zim.name).symlink_to(library.zims / "deep" / "linked.zim")

    assert library.run("update", library.zims, "--yes").code == 0
    assert file_names(library.zims) == ["deep", "towns_en_all_2026-03.zim"]
    assert file_names(library.zims / "deep") == ["linked.zim"]


def test_archive_of_a_kiwix_serve_is_installed(library: LocalLibrary, tmp_path: Path) -> None:
    archive = write_zim(
        tmp_path / "towns_en_all_2026-01.zim",
        {"A": "<p>Town</p>"},
        metadata={"Name": "towns_en_all", "Title": "Towns", "Date": "2026-01-04"},
    )
    library.add(archive)
    (tmp_path / "served").mkdir()
    library_file = write_library_xml(tmp_path / "served", [archive], f"{library.mirror.url}/zim")

    with kiwix_serve(library_file) as url:
        options = ("--library", url, "--dir", library.zims)
        catalog_before = run("catalog", "towns", *options, "--json", **library.environment)
        result = run("download", "towns_en_all", *options, **library.environment)
        catalog_after = run("catalog", "towns", *options, "--json", **library.environment)

    assert result.code == 0, result.err
    states = [listing.json["archives"][0]["state"] for listing in (catalog_before, catalog_after)]
    assert states == ["absent", "installed"]
    assert (library.zims / archive.name).read_bytes() == archive.read_bytes()


def test_download_makes_the_library_and_says_how_to_ask(library: LocalLibrary, town_zim: Path, tmp_path: Path) -> None:
    library.add(town_zim)
    home = {"OPENZIM_MCP_LIBRARY": str(tmp_path / "mine")}

    result = run(*library.arguments("download", "towns_en_all"), **library.environment, **home)

    assert result.code == 0, result.err
    assert (tmp_path / "mine" / "towns_en_all_2026-01.zim").exists()
    assert "To ask: openzim-mcp ask YOUR QUESTION\n" in result.err
    assert "| towns_en_all_2026-01 |" in run("list", **home).out


def test_catalog_without_sizes_has_no_column_for_them(library: LocalLibrary, tmp_path: Path) -> None:
    file = tmp_path / "library.xml"
    file.write_text('<library><book id="1" name="wiki_en" title="Wiki" url="http://127.0.0.1/wiki_en.zim" /></library>')

    result = run("catalog", "--library", file, **library.environment)

    assert result.code == 0
    assert result.out.startswith("| name | date | contents | lang | installed | title |")

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.cli.command import Exit
from support.command_line import CommandResult, run, run_on_terminal


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A person without any configuration."""
    place = tmp_path / "home"
    place.mkdir()
    return {"HOME": str(place), "XDG_CONFIG_HOME": str(place / ".config")}


def findings(ended: CommandResult) -> dict[str, dict[str, Any]]:
    """What was found, by what it is about."""
    return {finding["what"]: finding for finding in ended.json["findings"]}


def test_all_is_well_where_all_is_well(home: dict[str, str], town_zim: Path) -> None:
    ended = run("doctor", town_zim, "--json", **home)
    found = findings(ended)

    assert ended.code == 0
    assert {what: finding["state"] for what, finding in found.items()} == {
        "Python": "good",
        "libraries": "good",
        "settings": "good",
        "directories": "good",
        "cache": "good",
        "archives": "good",
        "clients": "warn",
    }
    assert found["clients"]["fix"] == "openzim-mcp connect"


def test_archives_that_cannot_be_read_are_named_with_the_command_that_mends_them(
    home: dict[str, str], tmp_path: Path, town_zim: Path, zims: Path
) -> None:
    shutil.copy(town_zim, tmp_path)
    (tmp_path / "cut_en_all_2026-01.zim").write_bytes(town_zim.read_bytes()[:100])
    shutil.copy(zims / "built/noindex.zim", tmp_path)
    ended = run("doctor", tmp_path, "--json", **home)
    found = findings(ended)

    assert ended.code == Exit.NEGATIVE
    assert "of" in found["archive cut_en_all_2026-01"]["text"]
    assert found["archive cut_en_all_2026-01"]["fix"] == "openzim-mcp download cut_en_all"
    assert found["archive noindex"]["state"] == "warn"
    assert found["archives"]["text"] == "2 of 3 can be read"


def test_a_damaged_archive_is_known_after_verify(home: dict[str, str], zims: Path) -> None:
    damaged = zims / "damaged/bad_checksum.zim"
    run("verify", damaged, **home)

    found = findings(run("doctor", damaged, "--json", **home))

    assert found["archive bad_checksum"]["text"] == "the checksum does not match: the file is damaged"


@pytest.mark.parametrize(
    ("variable", "value", "state", "text"),
    [
        ("OPENZIM_MCP_TOOL_MODE", "wild", "bad", "'wild' is not accepted"),
        ("OPENZIM_MCP_ALLOWED_DIRECTORIES", "/no/such/place", "bad", "does not exist"),
        ("OPENZIM_MCP_TOOLMODE", "simple", "warn", "did you mean OPENZIM_MCP_TOOL_MODE?"),
    ],
)
def test_wrong_settings_are_found(home: dict[str, str], variable: str, value: str, state: str, text: str) -> None:
    ended = run("doctor", "--json", **{variable: value}, **home)
    found = findings(ended)["settings"]

    assert found["state"] == state
    assert text in found["text"]
    assert ended.code == (Exit.NEGATIVE if state == "bad" else 0)


def test_a_connected_client_is_started_and_greeted(home: dict[str, str], town_zim: Path) -> None:
    run("connect", "cursor", town_zim, "--write", **home)
    run("connect", "goose", town_zim, "--write", **home)

    found = findings(run("doctor", town_zim, "--json", **home))

    assert found["Cursor"]["state"] == found["Goose"]["state"] == "good"
    assert "answers in" in found["Cursor"]["text"]


def test_a_client_that_points_to_nothing_is_found(home: dict[str, str], town_zim: Path) -> None:
    file = Path(home["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    command = {"command": "/gone/openzim-mcp", "args": [str(town_zim), "/gone/zims"]}
    file.write_text(json.dumps({"mcpServers": {"wiki": command, "other": {"command": "/gone/too"}}}))

    ended = run("doctor", town_zim, "--json", **home)
    found = findings(ended)["Cursor"]

    assert ended.code == Exit.NEGATIVE
    assert "wiki: '/gone/openzim-mcp' cannot be started" in found["text"]
    assert found["fix"] == f"openzim-mcp connect cursor {town_zim} --write"


def test_a_configuration_that_no_client_can_read_is_found(home: dict[str, str], town_zim: Path) -> None:
    file = Path(home["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {')

    assert findings(run("doctor", town_zim, "--json", **home))["Cursor"]["state"] == "bad"


def test_a_cache_that_cannot_be_written_is_only_a_note(home: dict[str, str], town_zim: Path) -> None:
    ended = run("doctor", town_zim, "--json", **home, XDG_CACHE_HOME="/proc/nowhere")

    assert (ended.code, findings(ended)["cache"]["state"]) == (0, "warn")


def test_a_person_reads_a_table(home: dict[str, str], town_zim: Path) -> None:
    assert "All is well." in run_on_terminal("doctor", town_zim, **home).out

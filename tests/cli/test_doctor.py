from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.cli import program
from openzim_mcp.cli.command import Exit
from support.command_line import CommandResult, run, run_on_terminal


@pytest.fixture
def home_variables(tmp_path: Path) -> dict[str, str]:
    """Variables of a user without any configuration."""
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def checks_by_subject(result: CommandResult) -> dict[str, dict[str, Any]]:
    """The check results, by what was checked."""
    return {check["what"]: check for check in result.json["findings"]}


def test_doctor_finds_no_problem_in_a_valid_setup(home_variables: dict[str, str], town_zim: Path) -> None:
    result = run("doctor", town_zim, "--json", **home_variables)
    checks = checks_by_subject(result)

    assert result.code == 0
    assert {subject: check["state"] for subject, check in checks.items()} == {
        "Python": "good",
        "libraries": "good",
        "meaning": "good",
        "settings": "good",
        "directories": "good",
        "cache": "good",
        "archives": "good",
        "clients": "warn",
    }
    assert checks["clients"]["fix"] == "openzim-mcp connect"


def test_unreadable_archives_are_listed_with_a_fix(
    home_variables: dict[str, str], tmp_path: Path, town_zim: Path, zims: Path
) -> None:
    shutil.copy(town_zim, tmp_path)
    (tmp_path / "cut_en_all_2026-01.zim").write_bytes(town_zim.read_bytes()[:100])
    shutil.copy(zims / "built/noindex.zim", tmp_path)
    result = run("doctor", tmp_path, "--json", **home_variables)
    checks = checks_by_subject(result)

    assert result.code == Exit.NEGATIVE
    assert "of" in checks["archive cut_en_all_2026-01"]["text"]
    assert checks["archive cut_en_all_2026-01"]["fix"] == "openzim-mcp download cut_en_all"
    assert checks["archive noindex"]["state"] == "warn"
    assert (checks["archives"]["text"], checks["archives"]["state"]) == ("2 of 3 can be read", "bad")


def test_alike_findings_are_one_line(home_variables: dict[str, str], tmp_path: Path, zims: Path) -> None:
    for number in range(9):
        shutil.copy(zims / "built/noindex.zim", tmp_path / f"noindex_{number}.zim")
    for number in range(2):
        (tmp_path / f"link_{number}.zim").symlink_to(zims / "built/bare.zim")
    (tmp_path / "wiki_en_all_2026-01.zim.part").write_bytes(b"x" * 1000)

    checks = checks_by_subject(run("doctor", tmp_path, "--json", **home_variables))

    assert checks["9 archives"]["text"].startswith("no full-text index: search scans the articles (noindex_0, ")
    assert checks["9 archives"]["text"].endswith("and 3 more)")
    assert checks["not served"]["text"] == ("link_0.zim, link_1.zim: symbolic link that leaves the allowed directories")
    assert checks["not served"]["fix"].startswith("add --follow-links")
    assert checks["download"]["fix"] == f"openzim-mcp download wiki_en_all_2026-01.zim --dir {tmp_path}"


def test_library_is_named(home_variables: dict[str, str], tmp_path: Path) -> None:
    checks = checks_by_subject(run("doctor", "--json", **home_variables, OPENZIM_MCP_LIBRARY=str(tmp_path / "mine")))

    assert checks["library"]["text"] == f"{tmp_path / 'mine'} does not exist yet: the handbook is used"
    assert checks["library"]["fix"] == "openzim-mcp download NAME"


def test_missing_directory_is_a_warning(home_variables: dict[str, str], town_zim: Path) -> None:
    result = run("doctor", town_zim, "/no/such/disk", "--json", **home_variables)
    rows = [row for row in result.json["findings"] if row["what"] == "directories"]

    assert [row["state"] for row in rows] == ["good", "warn"]
    assert rows[1]["fix"] == "connect the disk, or correct the path"


def test_reinstalling_does_not_ask_pypi() -> None:
    assert "install" in program.reinstall_command()
    assert not program.reinstall_command().endswith("openzim-mcp")


def test_damage_found_by_verify_is_reported(home_variables: dict[str, str], zims: Path) -> None:
    damaged = zims / "damaged/bad_checksum.zim"
    run("verify", damaged, **home_variables)

    checks = checks_by_subject(run("doctor", damaged, "--json", **home_variables))

    assert checks["archive bad_checksum"]["text"] == "damaged: the checksum does not match"


@pytest.mark.parametrize(
    ("variable", "value", "state", "text"),
    [
        ("OPENZIM_MCP_TOOL_MODE", "wild", "bad", "'wild' is not accepted"),
        ("OPENZIM_MCP_ALLOWED_DIRECTORIES", "/no/such/place", "bad", "does not exist"),
        ("OPENZIM_MCP_TOOLMODE", "simple", "warn", "did you mean OPENZIM_MCP_TOOL_MODE?"),
    ],
)
def test_invalid_settings_are_reported(
    home_variables: dict[str, str], variable: str, value: str, state: str, text: str
) -> None:
    result = run("doctor", "--json", **{variable: value}, **home_variables)
    check = checks_by_subject(result)["settings"]

    assert check["state"] == state
    assert text in check["text"]
    assert result.code == (Exit.NEGATIVE if state == "bad" else 0)


def test_server_of_each_client_is_started(home_variables: dict[str, str], town_zim: Path) -> None:
    run("connect", "cursor", town_zim, "--write", **home_variables)
    run("connect", "goose", town_zim, "--write", **home_variables)

    checks = checks_by_subject(run("doctor", town_zim, "--json", **home_variables))

    assert checks["Cursor"]["state"] == checks["Goose"]["state"] == "good"
    assert checks["Cursor"]["text"].endswith(f" s, serves 1 archive of {town_zim}")


def test_client_that_gets_the_handbook_only_is_a_warning(home_variables: dict[str, str], town_zim: Path) -> None:
    run("connect", "cursor", "--write", **home_variables)

    check = checks_by_subject(run("doctor", town_zim, "--json", **home_variables))["Cursor"]

    assert check["state"] == "warn"
    assert check["text"].endswith("but serves the handbook only")
    assert check["fix"] == "openzim-mcp download NAME, or openzim-mcp connect cursor DIRECTORY --write"


@pytest.mark.parametrize("command", [["uvx", "openzim-mcp", "/zims"], ["pipx", "run", "openzim-mcp"]])
def test_client_that_would_start_the_other_project_is_reported(
    home_variables: dict[str, str], town_zim: Path, command: list[str]
) -> None:
    file = Path(home_variables["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"mcpServers": {"zim": {"command": command[0], "args": command[1:]}}}))

    check = checks_by_subject(run("doctor", town_zim, "--json", **home_variables))["Cursor"]

    assert check["text"].endswith("its command installs another project of this name from PyPI")
    assert check["fix"] == "openzim-mcp connect cursor --write"


def test_client_with_a_url_is_probed(home_variables: dict[str, str], town_zim: Path) -> None:
    run("connect", "cursor", "--url", "http://127.0.0.1:1/mcp", "--write", **home_variables)

    check = checks_by_subject(run("doctor", town_zim, "--json", **home_variables))["Cursor"]

    assert check["state"] == "bad"
    assert "http://127.0.0.1:1/mcp does not respond" in check["text"]


def test_client_with_missing_command_is_reported(home_variables: dict[str, str], town_zim: Path) -> None:
    file = Path(home_variables["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    command = {"command": "/gone/openzim-mcp", "args": [str(town_zim), "/gone/zims"]}
    file.write_text(json.dumps({"mcpServers": {"wiki": command, "other": {"command": "/gone/too"}}}))

    result = run("doctor", town_zim, "--json", **home_variables)
    check = checks_by_subject(result)["Cursor"]

    assert result.code == Exit.NEGATIVE
    assert "wiki: '/gone/openzim-mcp' cannot be started" in check["text"]
    assert check["fix"] == f"openzim-mcp connect cursor {town_zim} --write"


def test_invalid_client_configuration_is_reported(home_variables: dict[str, str], town_zim: Path) -> None:
    file = Path(home_variables["HOME"]) / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {')

    assert checks_by_subject(run("doctor", town_zim, "--json", **home_variables))["Cursor"]["state"] == "bad"


def test_unwritable_cache_is_only_a_warning(home_variables: dict[str, str], town_zim: Path) -> None:
    result = run("doctor", town_zim, "--json", **home_variables, XDG_CACHE_HOME="/proc/nowhere")

    assert (result.code, checks_by_subject(result)["cache"]["state"]) == (0, "warn")


def test_terminal_gets_a_summary(home_variables: dict[str, str], town_zim: Path) -> None:
    assert "No problems found." in run_on_terminal("doctor", town_zim, **home_variables).out
